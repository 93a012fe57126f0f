//! What holds in the whole limited domain.

use crate::topology::decode::{Int, Located};
use crate::topology::model::Role;
use crate::topology::shape::{choice, mapping};

use super::Reports;

mapping! {
    /// What holds in the whole limited domain.
    struct Domain = "domain" {
        required {
            /// The UDP ports of the three protocols; none has a default.
            ports: DomainPorts = "{ rdcc: 52100, crem: 52101, scone: 52102 }";
            /// What DSCPs mean.
            dscp: Located<Vec<Dscp>> = "[{ dscp: 26, role: scheduled, class: 0, queue: 0 }]";
        }
        optional {
            /// Accept ports outside 49152..65535.
            allow_any_port: bool;
            /// Traffic classes that PFC keeps from losing packets.
            lossless_classes: Vec<Located<Int<0, 7>>>;
            /// Reports besides the congestion reports; what isn't given isn't sent.
            reports: Reports;
        }
    }
}

mapping! {
    /// The UDP ports of the three protocols, all different, 49152..65535 unless `allow_any_port` is set; never RoCEv2's, VXLAN's or
    /// Geneve's (4791, 4789, 6081).
    struct DomainPorts = "domain.ports" {
        required {
            /// RDCC's UDP port.
            rdcc: Located<Int<1, 65535>> = "52100";
            /// CREM's UDP port.
            crem: Located<Int<1, 65535>> = "52101";
            /// SCONE's UDP port.
            scone: Located<Int<1, 65535>> = "52102";
        }
    }
}

mapping! {
    #[expect(clippy::struct_field_names, reason = "the keys are the file's")]
    /// What packets with a DSCP are.
    struct Dscp = "a dscp entry" {
        required {
            /// The codepoint.
            dscp: Located<Int<0, 63>> = "26";
            /// What packets with it are.
            role: Located<RoleName> = "scheduled";
            /// Queue; 7 is served first.
            queue: Located<Int<0, 7>> = "0";
        }
        optional {
            /// Traffic class, default 0; lower is granted first.
            class: Int<0, 7>;
        }
    }
}

choice! {
    /// A role's name.
    enum RoleName = "a role" {
        "scheduled" => Role::Scheduled,
        "unscheduled" => Role::Unscheduled,
        "control" => Role::Control,
        "none" => Role::None,
    } -> Role
}
