//! The vectors in `golden/rdcc.json` were written from the document by somebody who hadn't seen this crate; those in
//! `golden/crem.json` likewise, and start with the document's own example. `golden/README.md` describes the files.

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
