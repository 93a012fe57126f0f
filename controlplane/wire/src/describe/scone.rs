//! SCONE's messages as lists of fields.

use super::{Description, Field};
use crate::scone::{
    DecodeError, FEEDBACK_OCTETS, Feedback, RATE_SIGNAL_OCTETS, RateAdvice, RateSignal, SconeDatagram,
    VERSION, decode,
};
use crate::units::MbitPerSec;

/// Decodes the payload of a datagram to the SCONE port, or a Rate Signal extension alone (ten octets), and lists its fields.
///
/// # Errors
/// As [`decode`] and [`RateSignal::decode`].
pub fn scone(octets: &[u8]) -> Result<Description, DecodeError> {
    if octets.len() == RATE_SIGNAL_OCTETS {
        let signal = RateSignal::decode(octets)?;
        return Ok(Description { message: "RATE_SIGNAL", fields: rate_signal(signal, RATE_SIGNAL_OCTETS) });
    }
    Ok(match decode(octets)? {
        SconeDatagram::RateAdvice(RateAdvice { rate, source }) => Description {
            message: "RATE_ADVICE",
            fields: vec![
                Field::integer("version", VERSION),
                mbit("rate", rate),
                Field::address("source_ip", source),
            ],
        },
        SconeDatagram::Feedback(Feedback { signal, destination_qp }) => {
            let mut fields = rate_signal(signal, FEEDBACK_OCTETS);
            let meaning = format!("{destination_qp:#08x}");
            fields.push(Field::integer("destination_qp", destination_qp).meaning(meaning));
            Description { message: "FEEDBACK", fields }
        }
    })
}

/// The fields of the extension.
pub(super) fn rate_signal(signal: RateSignal, octets: usize) -> Vec<Field> {
    vec![
        Field::integer("type", signal.extension_type).meaning(format!("{:#04x}", signal.extension_type)),
        Field::integer("length", octets as u64).meaning("octets"),
        match signal.rate {
            MbitPerSec(0) => Field::integer("rate", 0u32).meaning("no advice"),
            rate => mbit("rate", rate),
        },
        Field::integer("version", VERSION),
    ]
}

fn mbit(name: &'static str, rate: MbitPerSec) -> Field {
    Field::integer(name, rate.0).meaning("Mbit/s")
}
