//! A Tofino's device configuration: the compiler's files in the one of two forms that the switch's server takes.

use p4runtime::stratum::{BfPipelineConfig, bf_pipeline_config};
use prost::Message as _;

/// The program's name toward the drivers.
pub const PROGRAM: &str = "crn";
/// The pipeline's name in the P4 program.
pub const PIPELINE: &str = "pipe";

/// To how many octets a copy that becomes a report is cut: `MIRROR_OCTETS` of the P4 program.
pub const MIRROR_OCTETS: i32 = 124;

/// What the compiler makes for a Tofino.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// `tofino.bin` or `tofino2.bin`.
    pub binary: Vec<u8>,
    /// `context.json`.
    pub context: Vec<u8>,
    /// The BF-RT schema, JSON.
    pub bfrt: Option<Vec<u8>>,
}

/// A file is too long for a length of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} octets don't fit into a chunk: at most 4294967295 do")]
pub struct TooLong(pub usize);

impl Compiled {
    /// As Stratum takes it: a serialised `BfPipelineConfig`, its one profile for all pipes of the chip.
    pub fn for_stratum(&self) -> Vec<u8> {
        let profile = bf_pipeline_config::Profile {
            profile_name: PIPELINE.to_owned(),
            context: self.context.clone(),
            binary: self.binary.clone(),
            pipe_scope: Vec::new(),
        };
        let config = BfPipelineConfig {
            p4_name: PROGRAM.to_owned(),
            bfruntime_info: self.bfrt.clone().unwrap_or_default(),
            profiles: vec![profile],
        };
        config.encode_to_vec()
    }

    /// As the server of P4 Studio takes it: chunks, each behind its length in four octets, the lowest first. They are the
    /// program's name, the binary, the context, and either the pipeline's name and the schema or, without schema, a
    /// chunk of nothing: the server reads that length in any case.
    ///
    /// # Errors
    /// A file is too long for its chunk.
    pub fn for_p4_studio(&self) -> Result<Vec<u8>, TooLong> {
        let mut octets = Vec::new();
        for chunk in [PROGRAM.as_bytes(), &self.binary, &self.context] {
            push(&mut octets, chunk)?;
        }
        match &self.bfrt {
            Some(schema) => {
                push(&mut octets, PIPELINE.as_bytes())?;
                push(&mut octets, schema)?;
            }
            None => push(&mut octets, &[])?,
        }
        Ok(octets)
    }
}

fn push(octets: &mut Vec<u8>, chunk: &[u8]) -> Result<(), TooLong> {
    let length = u32::try_from(chunk.len()).map_err(|_| TooLong(chunk.len()))?;
    octets.extend(length.to_le_bytes());
    octets.extend(chunk);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled() -> Compiled {
        Compiled { binary: vec![0xb1; 300], context: b"{}".to_vec(), bfrt: Some(b"[1]".to_vec()) }
    }

    /// Protobuf's wire format by hand: field 1 the name, 2 the schema, 3 the profile with its name (1), context (2) and
    /// binary (3, of 300 octets: a length of two octets).
    #[test]
    fn stratum_gets_its_message_octet_for_octet() {
        let mut wanted = b"\x0a\x03crn\x12\x03[1]\x1a".to_vec();
        let mut profile = b"\x0a\x04pipe\x12\x02{}\x1a\xac\x02".to_vec();
        profile.extend([0xb1; 300]);
        assert_eq!(profile.len(), 313);
        wanted.extend([0xb9, 0x02]);
        wanted.extend(profile);
        assert_eq!(compiled().for_stratum(), wanted);
    }

    #[test]
    fn p4_studio_gets_its_chunks_octet_for_octet() {
        let mut wanted = b"\x03\0\0\0crn\x2c\x01\0\0".to_vec();
        wanted.extend([0xb1; 300]);
        wanted.extend(b"\x02\0\0\0{}");
        let mut with_schema = wanted.clone();
        with_schema.extend(b"\x04\0\0\0pipe\x03\0\0\0[1]");
        assert_eq!(compiled().for_p4_studio(), Ok(with_schema));
        wanted.extend(b"\0\0\0\0");
        assert_eq!(Compiled { bfrt: None, ..compiled() }.for_p4_studio(), Ok(wanted));
    }
}
