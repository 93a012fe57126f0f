//! RoCEv2 packets as lists of fields, under the names of the InfiniBand Architecture Specification.

use super::{Description, Field, scone};
use crate::roce::{
    Aeth, BTH_OCTETS, Bth, CNP_RESERVED_OCTETS, DecodeError, Headers, HeadersError, ICRC_OCTETS, NakCode,
    Opcode, Reth, Syndrome,
};
use crate::scone::{RATE_SIGNAL_OCTETS, RateSignal, Unreadable, ack_code};

/// Decodes the payload of a datagram to port 4791, from the base transport header to the ICRC, and lists its fields. The ICRC
/// is shown, not checked: it covers the IP header.
///
/// # Errors
/// [`HeadersError`]: the packet ends before its headers, padding and ICRC do.
pub fn roce(octets: &[u8]) -> Result<Description, HeadersError> {
    let (headers, length) = Headers::decode(octets)?;
    let Headers { bth, rate_signal, unreadable: other, reth, aeth, immediate } = headers;
    let behind = octets.len() - length;
    let needed = usize::from(bth.pad_count) + ICRC_OCTETS;
    let too_short = DecodeError { offset: octets.len(), needed: length + needed, available: octets.len() };
    let payload_octets = behind.checked_sub(needed).ok_or(too_short)?;
    let (_, icrc) = octets.split_last_chunk::<ICRC_OCTETS>().ok_or(too_short)?;

    let mut fields = base(&bth);
    if let Some(signal) = rate_signal {
        fields.extend(prefixed(signal));
    }
    fields.extend(other.into_iter().flat_map(unreadable));
    if let Some(Reth { virtual_address, remote_key, dma_length }) = reth {
        fields.extend([
            Field::integer("virtual_address", virtual_address).meaning(format!("{virtual_address:#018x}")),
            Field::integer("remote_key", remote_key).meaning(format!("{remote_key:#010x}")),
            Field::integer("dma_length", dma_length).meaning("octets"),
        ]);
    }
    if let Some(Aeth { syndrome, msn }) = aeth {
        fields.extend([
            Field::integer("syndrome", syndrome.to_octet()).meaning(meaning(syndrome)),
            Field::integer("msn", msn),
        ]);
    }
    if let Some(immediate) = immediate {
        fields.push(Field::integer("immediate", immediate.0).meaning(format!("{:#010x}", immediate.0)));
    }
    let reserved = octets.get(BTH_OCTETS..).and_then(|rest| rest.first_chunk::<CNP_RESERVED_OCTETS>());
    match reserved.filter(|_| bth.opcode == Opcode::CNP).map(RateSignal::in_cnp) {
        Some(Ok(Some(signal))) => fields.extend(prefixed(signal)),
        Some(Err(other)) => fields.extend(unreadable(other)),
        None | Some(Ok(None)) => fields.push(Field::integer("payload_octets", payload_octets as u64)),
    }
    // The one field that goes out low octet first.
    let icrc = u32::from_le_bytes(*icrc);
    fields.push(Field::integer("icrc", icrc).meaning(format!("{icrc:#010x}, not checked")));
    Ok(Description { message: bth.opcode.name().unwrap_or("unknown opcode"), fields })
}

fn base(bth: &Bth) -> Vec<Field> {
    let reserved6 = Field::integer("reserved6", bth.reserved6);
    // SCONE, Feedback Loop: an acknowledgement's code.
    let rate = ack_code::decode(bth.reserved6).filter(|_| bth.opcode == Opcode::ACKNOWLEDGE);
    vec![
        Field::code("opcode", bth.opcode.0, bth.opcode.name()),
        Field::integer("solicited_event", bth.solicited_event),
        Field::integer("migration_request", bth.migration_request),
        Field::integer("pad_count", bth.pad_count),
        Field::integer("transport_version", bth.version),
        Field::integer("partition_key", bth.partition_key).meaning(format!("{:#06x}", bth.partition_key)),
        Field::integer("fecn", bth.fecn),
        Field::integer("becn", bth.becn),
        match rate {
            Some(rate) => reserved6.meaning(format!("advised rate {rate}")),
            None => reserved6,
        },
        Field::integer("destination_qp", bth.destination_qp).meaning(format!("{:#08x}", bth.destination_qp)),
        Field::integer("ack_request", bth.ack_request),
        Field::bits("reserved7", bth.reserved7.into(), &[(1, "extension follows")]),
        Field::integer("psn", bth.psn.value()),
    ]
}

fn prefixed(signal: RateSignal) -> impl Iterator<Item = Field> {
    let names = ["rate_signal_type", "rate_signal_length", "rate_signal_rate", "rate_signal_version"];
    names
        .into_iter()
        .zip(scone::rate_signal(signal, RATE_SIGNAL_OCTETS))
        .map(|(name, field)| Field { name, ..field })
}

fn unreadable(extension: Unreadable) -> [Field; 2] {
    let Unreadable { extension_type, length, error } = extension;
    [
        Field::integer("extension_type", extension_type).meaning(format!("{extension_type:#04x}")),
        Field::integer("extension_length", length).meaning(format!("octets; no Rate Signal, its {error}")),
    ]
}

fn meaning(syndrome: Syndrome) -> String {
    match syndrome {
        Syndrome::Ack { credit: Syndrome::NO_CREDIT_LIMIT } => "ACK, no credit limit".to_owned(),
        Syndrome::Ack { credit } => format!("ACK, credit code {credit}"),
        Syndrome::RnrNak { timer } => format!("RNR NAK, wait {}", Syndrome::rnr_wait(timer)),
        Syndrome::Nak(code) => format!("NAK, {}", nak_name(code)),
        Syndrome::Reserved(_) => "reserved".to_owned(),
    }
}

fn nak_name(code: NakCode) -> &'static str {
    match code {
        NakCode::PSN_SEQUENCE_ERROR => "PSN sequence error",
        NakCode::INVALID_REQUEST => "invalid request",
        NakCode::REMOTE_ACCESS_ERROR => "remote access error",
        NakCode::REMOTE_OPERATIONAL_ERROR => "remote operational error",
        NakCode::INVALID_RD_REQUEST => "invalid RD request",
        _ => "unknown code",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::describe::Value;
    use crate::roce::{HeadersOctets, Psn};
    use crate::scone::Feedback;
    use crate::units::MbitPerSec;

    const SIGNAL: RateSignal = RateSignal { extension_type: 0xe5, rate: MbitPerSec(25_000) };

    #[test]
    fn rates_are_shown_wherever_they_travel() {
        let bth = Bth::new(Opcode::WRITE_ONLY, 0x12, Psn::new(7));
        let data = Headers { rate_signal: Some(SIGNAL), reth: Some(Reth::default()), ..Headers::new(bth) };
        let octets = [&data.to_octets()[..], &[0; 100], &[1, 2, 3, 4]].concat();
        let shown = roce(&octets).unwrap();
        assert_eq!(shown.message, "RC RDMA WRITE Only");
        assert_eq!(shown.get("rate_signal_rate"), Some(Value::Integer(25_000)));
        assert_eq!(shown.get("payload_octets"), Some(Value::Integer(100)));
        assert_eq!(shown.get("icrc"), Some(Value::Integer(0x0403_0201)));

        let mut cnp = HeadersOctets::cnp(&bth);
        let plain = roce(&[&cnp[..], &[0; 4]].concat()).unwrap();
        assert_eq!((plain.message, plain.get("rate_signal_rate")), ("Congestion Notification Packet", None));
        cnp[BTH_OCTETS..].copy_from_slice(&SIGNAL.to_cnp());
        let advised = roce(&[&cnp[..], &[0; 4]].concat()).unwrap();
        assert_eq!(advised.get("rate_signal_rate"), Some(Value::Integer(25_000)));

        // Of another version, in either place, it is shown with what is wrong.
        let mut later = [&data.to_octets()[..], &[0; 4]].concat();
        later[BTH_OCTETS + 9] = 2;
        cnp[BTH_OCTETS + 9] = 2;
        for packet in [later, [&cnp[..], &[0; 4]].concat()] {
            let text = roce(&packet).unwrap().to_string();
            assert!(text.contains("229 (0xe5)"), "{text}");
            assert!(text.contains("octets; no Rate Signal, its octet 6: version 2 is unknown"), "{text}");
        }

        let aeth = Some(Aeth { syndrome: Syndrome::RnrNak { timer: 12 }, msn: 1 });
        let ack = Bth { reserved6: 36, ..Bth::new(Opcode::ACKNOWLEDGE, 1, Psn::new(0)) };
        let text = roce(&[&Headers { aeth, ..Headers::new(ack) }.to_octets()[..], &[0; 4]].concat());
        let text = text.unwrap().to_string();
        assert!(text.contains("advised rate 21544 Mbit/s"), "{text}");
        assert!(text.contains("RNR NAK, wait 640 us"), "{text}");

        let feedback = Feedback { signal: SIGNAL, destination_qp: 0x12 }.to_octets();
        assert_eq!(scone(&feedback).unwrap().get("destination_qp"), Some(Value::Integer(0x12)));
        assert_eq!(scone(&SIGNAL.to_octets()).unwrap().message, "RATE_SIGNAL");
    }

    proptest! {
        #[test]
        fn no_octets_panic(octets in prop::collection::vec(any::<u8>(), 0..80), opcode in any::<u8>()) {
            let _ = roce(&octets);
            let _ = scone(&octets);
            let octets = [&[opcode][..], &octets].concat();
            if let Ok(description) = roce(&octets) {
                prop_assert!(!description.to_string().is_empty());
            }
        }
    }
}
