//! The vectors in `golden/rdcc.json` were written from the document by somebody who hadn't seen this crate; those in
//! `golden/crem.json` likewise, and start with the document's own example; so were those in `golden/scone.json`.
//! `golden/README.md` describes the files.

use serde_json::Value;
use wire::rdcc::DecodeError;

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn octets(hex: &str) -> Vec<u8> {
    hex.split_whitespace().map(|octet| u8::from_str_radix(octet, 16).unwrap()).collect()
}

/// The class of error in the words of the vectors.
fn class(error: DecodeError) -> &'static str {
    match error {
        DecodeError::TooShort { .. } => "datagram shorter than the header",
        DecodeError::UnknownVersion { .. } => "unknown version",
        DecodeError::UnknownType { .. } => "unknown type",
        DecodeError::LengthTooSmall { .. } | DecodeError::LengthNotOfFamily { .. } => {
            "length smaller than the size of the type"
        }
        DecodeError::LengthBeyondDatagram { .. } => "length larger than the udp payload",
        DecodeError::UnknownAddressFamily { .. } => "address family neither 4 nor 6",
    }
}

#[test]
fn rdcc_vectors_decode_to_their_fields_and_encode_to_their_octets() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("golden/rdcc.json")).unwrap();
    assert!(vectors.len() > 100);
    for vector in vectors {
        let name = vector["name"].as_str().unwrap();
        let octets = octets(vector["hex"].as_str().unwrap());
        match (wire::describe::rdcc(&octets), vector.get("error")) {
            (Ok(description), None) => {
                assert_eq!(description.message, vector["message"], "{name}");
                let json = description.to_json();
                assert_eq!(json, vector["fields"], "{name}");
                let shown: Vec<_> = description.fields.iter().map(|field| field.name).collect();
                let in_vector: Vec<_> = vector["fields"].as_object().unwrap().keys().collect();
                assert_eq!(shown, in_vector, "{name}: in the order of the figures");

                let (header, message) = wire::rdcc::decode(&octets).unwrap();
                let again = message.to_octets(&header);
                // Vectors with reserved bits, undefined flags or surplus octets say that they don't come back.
                if vector["reencodes"] != false {
                    assert_eq!(again, octets, "{name}");
                }
                assert_eq!(wire::rdcc::decode(&again), Ok((header, message)), "{name}");
            }
            (Err(error), Some(expected)) => {
                assert_eq!(class(error), expected, "{name}");
                assert_eq!(Some(error.offset() as u64), vector["octet"].as_u64(), "{name}");
                assert!(error.to_string().starts_with(&format!("octet {}: ", error.offset())), "{name}");
            }
            (result, _) => panic!("{name}: {result:?}"),
        }
    }
}

/// The class of error of CREM's codec in the words of the vectors.
fn crem_class(error: wire::crem::DecodeError) -> &'static str {
    use wire::crem::DecodeError as E;
    match error {
        E::TooShort { .. } => "datagram shorter than the header",
        E::UnknownVersion { .. } => "unknown version",
        E::UnknownType { .. } => "unknown type",
        E::LengthTooSmall { .. } => "length smaller than the size of the type",
        E::LengthBeyondDatagram { .. } => "length larger than the udp payload",
        E::LengthMismatch { .. } => "length not that of the fields",
        E::ZeroK { .. } => "k is zero",
        E::SymbolAndInfo { .. } => "symbol length and the flag INFO contradict each other",
        E::UnknownAddressFamily { .. } => "address family neither 4 nor 6",
        E::TooManyEntries { .. } => "more than sixteen hop entries",
    }
}

#[test]
fn crem_vectors_decode_to_their_fields_and_encode_to_their_octets() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("golden/crem.json")).unwrap();
    for vector in vectors {
        let name = vector["name"].as_str().unwrap();
        let octets = octets(vector["hex"].as_str().unwrap());
        match (wire::describe::crem(&octets), vector.get("error")) {
            (Ok(description), None) => {
                assert_eq!(description.message, vector["message"], "{name}");
                assert_eq!(description.to_json(), vector["fields"], "{name}");
                let shown: Vec<_> = description.fields.iter().map(|field| field.name).collect();
                let in_vector: Vec<_> = vector["fields"].as_object().unwrap().keys().collect();
                assert_eq!(shown, in_vector, "{name}: in the order of the figures");

                let (header, message) = wire::crem::decode(&octets).unwrap();
                let again = message.to_octets(&header);
                if vector["reencodes"] != false {
                    assert_eq!(again, octets, "{name}");
                }
                assert_eq!(wire::crem::decode(&again).unwrap().1, message, "{name}");
            }
            (Err(error), Some(expected)) => {
                assert_eq!(crem_class(error), expected, "{name}");
                assert_eq!(Some(error.offset() as u64), vector["octet"].as_u64(), "{name}");
                assert!(error.to_string().starts_with(&format!("octet {}: ", error.offset())), "{name}");
            }
            (result, _) => panic!("{name}: {result:?}"),
        }
    }
}

/// The class of error of SCONE's codec in the words of the vectors.
fn scone_class(error: wire::scone::DecodeError) -> &'static str {
    use wire::scone::DecodeError as E;
    match error {
        E::TooShort { .. } | E::DatagramLength { .. } => "length of no message",
        E::ExtensionLength { .. } => "length not that of the extension",
        E::UnknownVersion { .. } => "unknown version",
    }
}

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
/// What the octets are, by the name that a vector gives them, and how they are encoded again.
fn scone_of(message: &str, octets: &[u8]) -> (Value, Vec<u8>) {
    use wire::scone::{RateSignal, SconeDatagram};
    let json = |octets: &[u8]| wire::describe::scone(octets).unwrap().to_json();
    match message {
        "RATE_SIGNAL" => (json(octets), RateSignal::decode(octets).unwrap().to_octets().to_vec()),
        "CNP" => {
            let signal = RateSignal::in_cnp(octets.first_chunk().unwrap()).unwrap().unwrap();
            (json(&signal.to_octets()), signal.to_cnp().to_vec())
        }
        "CNP_WITHOUT_ADVICE" => {
            assert_eq!(RateSignal::in_cnp(octets.first_chunk().unwrap()), Ok(None));
            (serde_json::json!({}), octets.to_vec())
        }
        "ACK_CODES" => {
            let rates: Vec<_> = (1..64).map(|code| wire::scone::ack_code::decode(code).unwrap().0).collect();
            (serde_json::json!({ "rates": rates }), Vec::new())
        }
        _ => {
            assert_eq!(wire::describe::scone(octets).unwrap().message, message);
            let again = match wire::scone::decode(octets).unwrap() {
                SconeDatagram::RateAdvice(advice) => advice.to_octets(),
                SconeDatagram::Feedback(feedback) => feedback.to_octets().to_vec(),
            };
            (json(octets), again)
        }
    }
}

#[test]
fn scone_vectors_decode_to_their_fields_and_encode_to_their_octets() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("golden/scone.json")).unwrap();
    assert!(vectors.len() > 30);
    for vector in vectors {
        let name = vector["name"].as_str().unwrap();
        let octets = octets(vector["hex"].as_str().unwrap());
        if let Some(expected) = vector.get("error") {
            let error = wire::scone::decode(&octets).unwrap_err();
            assert_eq!(scone_class(error), expected, "{name}");
            if let Some(octet) = vector["octet"].as_u64() {
                assert_eq!(error.offset() as u64, octet, "{name}");
            }
            continue;
        }
        let (fields, again) = scone_of(vector["message"].as_str().unwrap(), &octets);
        assert_eq!(fields, vector["fields"], "{name}");
        if vector["reencodes"] != false {
            assert_eq!(again, octets, "{name}");
        }
    }
}
