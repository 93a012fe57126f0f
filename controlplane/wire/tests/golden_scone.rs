//! The vectors in `golden/scone.json` were written from the document by somebody who hadn't seen this crate; `golden/README.md`
//! describes the files.

use std::net::IpAddr;

use serde_json::Value;
use wire::scone::{DecodeError, Feedback, RateAdvice, RateSignal, SconeDatagram, ack_code};
use wire::units::MbitPerSec;

fn number<T: TryFrom<u64>>(fields: &Value, name: &str) -> T {
    let number = fields[name].as_u64().and_then(|number| T::try_from(number).ok());
    number.unwrap_or_else(|| panic!("{name} in {fields}"))
}

fn signal(fields: &Value) -> RateSignal {
    assert_eq!(fields["version"], 1);
    RateSignal { extension_type: number(fields, "type"), rate: MbitPerSec(number(fields, "rate")) }
}

fn class(error: DecodeError) -> &'static str {
    match error {
        DecodeError::TooShort { .. } | DecodeError::DatagramLength { .. } => "length of no message",
        DecodeError::ExtensionLength { .. } => "length not that of the extension",
        DecodeError::UnknownVersion { .. } => "unknown version",
    }
}

fn check(name: &str, octets: &[u8], message: &str, fields: &Value, reencodes: bool) {
    let again = match message {
        "RATE_ADVICE" => {
            let source = fields["source_ip"].as_str().and_then(|text| text.parse::<IpAddr>().ok());
            let source = source.unwrap_or_else(|| panic!("{name}: source_ip"));
            let advice = RateAdvice { rate: MbitPerSec(number(fields, "rate")), source };
            assert_eq!(wire::scone::decode(octets), Ok(SconeDatagram::RateAdvice(advice)), "{name}");
            advice.to_octets()
        }
        "FEEDBACK" => {
            let feedback =
                Feedback { signal: signal(fields), destination_qp: number(fields, "destination_qp") };
            assert_eq!(wire::scone::decode(octets), Ok(SconeDatagram::Feedback(feedback)), "{name}");
            feedback.to_octets().to_vec()
        }
        "RATE_SIGNAL" => {
            assert_eq!(RateSignal::decode(octets), Ok(signal(fields)), "{name}");
            signal(fields).to_octets().to_vec()
        }
        "CNP" | "CNP_WITHOUT_ADVICE" => {
            let reserved = octets.try_into().unwrap_or_else(|_| panic!("{name}: sixteen octets"));
            let expected = (message == "CNP").then(|| signal(fields));
            assert_eq!(RateSignal::in_cnp(reserved), Ok(expected), "{name}");
            expected.map_or_else(|| octets.to_vec(), |signal| signal.to_cnp().to_vec())
        }
        "ACK_CODES" => {
            for (code, rate) in (1u8..).zip(fields["rates"].as_array().into_iter().flatten()) {
                let rate = MbitPerSec(rate.as_u64().and_then(|rate| u32::try_from(rate).ok()).unwrap_or(0));
                assert_eq!(ack_code::decode(code), Some(rate), "code {code}");
                assert_eq!(ack_code::encode(rate), code, "{rate:?}");
                assert_eq!(ack_code::encode(MbitPerSec(rate.0 - 1)), (code - 1).max(1), "below {rate:?}");
            }
            octets.to_vec()
        }
        other => panic!("{name}: message {other}"),
    };
    assert_eq!(again == octets, reencodes, "{name}");
}

#[test]
fn scone_vectors_decode_to_their_fields_and_encode_to_their_octets() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("golden/scone.json")).unwrap_or_default();
    assert!(vectors.len() > 30);
    for vector in vectors {
        let text = |key: &str| vector[key].as_str().unwrap_or_else(|| panic!("{key} in {vector}"));
        let name = text("name");
        let octets: Vec<u8> =
            text("hex").split_whitespace().filter_map(|octet| u8::from_str_radix(octet, 16).ok()).collect();
        if vector.get("error").is_none() {
            check(name, &octets, text("message"), &vector["fields"], vector["reencodes"] != false);
            continue;
        }
        match wire::scone::decode(&octets) {
            Err(error) => {
                assert_eq!(class(error), text("error"), "{name}");
                if let Some(octet) = vector["octet"].as_u64() {
                    assert_eq!(error.offset() as u64, octet, "{name}");
                }
                assert!(error.to_string().starts_with(&format!("octet {}: ", error.offset())), "{name}");
            }
            Ok(message) => panic!("{name}: {message:?}"),
        }
    }
}
