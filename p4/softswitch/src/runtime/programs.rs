//! Programs that several switches of one process run: each is compiled once.

use std::sync::{Arc, Mutex, PoisonError};

use p4runtime::google::rpc::Status;
use p4runtime::p4::v1::ForwardingPipelineConfig;

use super::{Compiled, Runtime};

/// Programs that have been compiled. Copies share them.
#[derive(Clone, Debug, Default)]
pub struct Programs(Arc<Mutex<Vec<Compiled>>>);

impl Programs {
    /// As [`Runtime::compile`], unless the very same program, P4Info and cookie has been compiled before. Whoever asks
    /// meanwhile waits.
    ///
    /// # Errors
    /// As [`Runtime::compile`].
    pub fn compile(&self, config: ForwardingPipelineConfig) -> Result<Compiled, Status> {
        // A panic elsewhere can't leave the list half changed.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What no switch runs any more is forgotten.
        known.retain(|compiled| Arc::strong_count(&compiled.0) > 1 || compiled.0.config == config);
        if let Some(compiled) = known.iter().find(|compiled| compiled.0.config == config) {
            return Ok(compiled.clone());
        }
        let compiled = Runtime::compile(config)?;
        known.push(compiled.clone());
        Ok(compiled)
    }
}

#[cfg(test)]
mod tests {
    use p4runtime::p4::v1::forwarding_pipeline_config::Cookie;

    use super::*;

    fn config(cookie: u64) -> ForwardingPipelineConfig {
        ForwardingPipelineConfig {
            p4info: p4runtime::p4info::parse_text(include_str!("../../../bmv2/build/crn.p4info.txtpb")).ok(),
            p4_device_config: include_bytes!("../../../bmv2/build/crn.json").to_vec(),
            cookie: Some(Cookie { cookie }),
        }
    }

    #[test]
    fn the_same_program_is_compiled_once_and_forgotten_with_its_last_switch() {
        let programs = Programs::default();
        let first = programs.compile(config(1)).unwrap();
        let same = programs.clone().compile(config(1)).unwrap();
        assert!(Arc::ptr_eq(&first.0, &same.0));
        let other = programs.compile(config(2)).unwrap();
        assert!(!Arc::ptr_eq(&first.0, &other.0), "another cookie is another answer to who asks for it");
        drop((first, same));
        let again = programs.compile(config(2)).unwrap();
        assert!(Arc::ptr_eq(&other.0, &again.0));
        assert_eq!(programs.0.lock().unwrap().len(), 1);
        assert!(programs.compile(ForwardingPipelineConfig::default()).is_err());
    }
}
