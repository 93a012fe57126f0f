//! Which UDP ports a domain's control protocols may have.

use crate::pipeline::generated::constants::{GENEVE_UDP_PORT, ROCE_UDP_PORT, VXLAN_UDP_PORT};

/// The dynamic range: what a domain may choose without saying that it means it.
const DYNAMIC_PORTS: std::ops::RangeInclusive<u16> = 49_152..=65_535;

/// Ports by which the switches know what they carry data in: no control datagram may look like that.
const DATA_PORTS: [(u16, &str); 3] =
    [(ROCE_UDP_PORT, "RoCEv2"), (VXLAN_UDP_PORT, "VXLAN"), (GENEVE_UDP_PORT, "Geneve")];

/// Why a port can't be a control protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortFault {
    /// It is that of data: of this protocol.
    Data(&'static str),
    /// It is outside 49152 to 65535, and nobody said that others will do.
    OutsideRange,
}

/// What is wrong with a port for RDCC, CREM or SCONE; `any`: whether those outside the dynamic range will do.
pub fn port_fault(port: u16, any: bool) -> Option<PortFault> {
    match DATA_PORTS.iter().find(|(of_data, _)| *of_data == port) {
        Some((_, whose)) => Some(PortFault::Data(whose)),
        None => (!any && !DYNAMIC_PORTS.contains(&port)).then_some(PortFault::OutsideRange),
    }
}

/// Whether an address is `host:port`, an IPv6 address in brackets.
pub fn is_host_port(address: &str) -> bool {
    address.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty()
            && !host.contains(['/', ' '])
            && (!host.contains(':') || host.starts_with('['))
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_data_are_never_a_control_protocols_and_others_outside_the_range_only_when_meant() {
        for any in [false, true] {
            let of_data = [4791, 4789, 6081].map(|port| port_fault(port, any));
            assert_eq!(of_data, ["RoCEv2", "VXLAN", "Geneve"].map(|whose| Some(PortFault::Data(whose))));
        }
        let outside = Some(PortFault::OutsideRange);
        assert_eq!([49_151, 49_152, 65_535].map(|port| port_fault(port, false)), [outside, None, None]);
        assert_eq!(port_fault(49_151, true), None);
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for good in ["127.0.0.1:9559", "leaf1:1", "[::1]:65535"] {
            assert!(is_host_port(good), "{good}");
        }
        for bad in
            ["", "leaf1", ":9559", "leaf1:0", "leaf1:65536", "::1:9559", "http://leaf1:9559", "leaf 1:9559"]
        {
            assert!(!is_host_port(bad), "{bad}");
        }
    }
}
