//! `PATH_REPORT`, Type 8.

use super::codes::{Cause, Method};
use super::decode_error::DecodeError;
use super::{HEADER_OCTETS, MessageType};
use crate::addresses::FlowAddresses;
use crate::octets::Reader;
use crate::roce::{MASK_24, Psn};

/// The most Hop Entries of a report.
pub const MAX_ENTRIES: usize = 16;

/// The most PSNs that a Hop Entry can name.
pub const MAX_PSNS: usize = u8::MAX as usize;

const HOP_FIXED_OCTETS: usize = 20;

/// Loss and delay change of a flow, by hop (CREM, Path Reports). The Flow ID in the header is zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathReport {
    /// How it was measured.
    pub method: Method,
    /// The flow's addresses.
    pub flow: FlowAddresses,
    /// The flow's label, as in `HELLO`.
    pub flow_label: u32,
    /// One entry per measurement point, at most [`MAX_ENTRIES`]; further ones are not encoded.
    pub entries: Vec<HopEntry>,
}

/// What one measurement point saw.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HopEntry {
    /// The node, unique in the domain.
    pub node_id: u32,
    /// The marking period; zero for node-local accounting.
    pub period: u32,
    /// Packets of the flow that were lost.
    pub lost: u32,
    /// Change of the queueing delay, in microseconds.
    pub delay_change: i32,
    /// Why they were lost.
    pub cause: Cause,
    /// PSNs known to be lost, at most [`MAX_PSNS`]; further ones are not encoded.
    pub psns: Vec<Psn>,
}

impl HopEntry {
    fn len(&self) -> usize {
        HOP_FIXED_OCTETS + 4 * self.psns.len().min(MAX_PSNS)
    }
}

impl PathReport {
    /// Length of the message in octets, header included; at most 16,724.
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub fn len(&self) -> usize {
        let entries: usize = self.entries.iter().take(MAX_ENTRIES).map(HopEntry::len).sum();
        HEADER_OCTETS + 8 + self.flow.octets() + entries
    }

    /// The destination queue pair of a RoCEv2 flow.
    pub const fn destination_qp(&self) -> u32 {
        self.flow_label & MASK_24
    }

    //= CREM, Path Reports: 399a6ac8
    /// Cuts the lists of dropped PSNs, the longest first, until the message has at most `octets`; says whether
    /// anything was cut, which is the flag Truncated. Counts of lost packets stay. A size that even empty lists exceed
    /// leaves them empty.
    pub fn truncate(&mut self, octets: usize) -> bool {
        let mut cut = false;
        while self.len() > octets {
            let Some(longest) = self.entries.iter_mut().max_by_key(|entry| entry.psns.len()) else { break };
            if longest.psns.pop().is_none() {
                break;
            }
            cut = true;
        }
        cut
    }

    pub(super) fn decode(body: &mut Reader<'_>, length: u16) -> Result<Self, DecodeError> {
        let [method, count, af, _] = body.array()?;
        if usize::from(count) > MAX_ENTRIES {
            return Err(DecodeError::TooManyEntries { count });
        }
        let flow =
            FlowAddresses::decode(body, af)?.ok_or(DecodeError::UnknownAddressFamily { offset: 10, af })?;
        let flow_label = body.u32()?;
        let mut entries = Vec::with_capacity(count.into());
        for _ in 0..count {
            let (node_id, period, lost) = (body.u32()?, body.u32()?, body.u32()?);
            let delay_change = i32::from_be_bytes(body.array()?);
            let [cause, psn_count, _, _] = body.array()?;
            let mut psns = Vec::with_capacity(psn_count.into());
            for _ in 0..psn_count {
                psns.push(Psn::new(body.u32()?));
            }
            entries.push(HopEntry { node_id, period, lost, delay_change, cause: Cause(cause), psns });
        }
        let report = Self { method: Method(method), flow, flow_label, entries };
        if report.len() != usize::from(length) {
            return Err(DecodeError::LengthMismatch {
                message_type: MessageType::PATH_REPORT,
                length,
                expected: report.len(),
            });
        }
        Ok(report)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        // Both counts are capped by the take() beside them.
        let count = u8::try_from(self.entries.len().min(MAX_ENTRIES)).unwrap_or(0);
        out.extend_from_slice(&[self.method.0, count, self.flow.af(), 0]);
        self.flow.encode(out);
        out.extend_from_slice(&self.flow_label.to_be_bytes());
        for entry in self.entries.iter().take(MAX_ENTRIES) {
            out.extend_from_slice(&entry.node_id.to_be_bytes());
            out.extend_from_slice(&entry.period.to_be_bytes());
            out.extend_from_slice(&entry.lost.to_be_bytes());
            out.extend_from_slice(&entry.delay_change.to_be_bytes());
            let psn_count = u8::try_from(entry.psns.len()).unwrap_or(u8::MAX);
            out.extend_from_slice(&[entry.cause.0, psn_count, 0, 0]);
            for psn in entry.psns.iter().take(MAX_PSNS) {
                out.extend_from_slice(&psn.value().to_be_bytes());
            }
        }
    }
}
