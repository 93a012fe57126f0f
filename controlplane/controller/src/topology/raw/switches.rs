//! Switches and their ports.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::topology::decode::{Int, Located, Named};
use crate::topology::model::{Chip, P4RuntimeServer, Target, Trust};
use crate::topology::quantity::PacketRate;
use crate::topology::shape::{choice, mapping};
use crate::topology::values::{FrontPanel, Prefix, QueueSize, ReportLimit};

mapping! {
    /// A switch.
    struct Switch = "a switch" {
        required {
            /// What it is.
            target: TargetName = "soft";
            /// P4Runtime device id.
            device_id: Located<Int<1, { u64::MAX }>> = "1";
            /// Reporter ID in its reports.
            reporter_id: Located<Int<1, 0xffff_ffff>> = "1";
            /// Source address of its reports.
            address: Located<Ipv4Addr> = "10.255.0.1";
        }
        optional {
            /// Where its P4Runtime server listens, as host:port.
            p4runtime: Located<String>;
            /// Port to which reports are cloned: one without an interface, by default 510; on a Tofino a recirculation port, by
            /// default its first pipe's.
            clone_port: Located<Int<0, 510>>;
            /// Source address of its reports about IPv6 packets; without it nothing is reported about those.
            ipv6: Located<Ipv6Addr>;
            /// Ports that differ from the rest, by number.
            ports: Named<Port>;
            /// Prefixes of the hosts that hang on it; each such host's address lies in one of them.
            subnets: Vec<Located<Prefix>>;
            /// How its P4Runtime server is recognised; default `defaults.tls`, else no TLS.
            tls: Tls;
            /// A program other than the one that `crn` carries; its tables must have the same names.
            pipeline: PipelineFiles;
            /// Where BMv2's Thrift server listens, as host:port: the only way to set the rate and depth of its queues.
            thrift: Located<String>;
            /// Its queues, where they are BMv2's; default `defaults.queues`.
            queues: Queues;
            /// Its chip and what serves P4Runtime on it, where it is a Tofino.
            tofino: Tofino;
        }
    }
}

mapping! {
    /// A Tofino's chip, what serves P4Runtime on it, and its chassis.
    struct Tofino = "tofino" {
        optional {
            /// Default `tofino`, the first generation.
            chip: Located<ChipName>;
            /// Default `stratum`.
            server: Located<ServerName>;
            /// Where each port's cable is plugged in, by port: as `5/0`, all lanes of front panel port 5, or `5/2`, its second
            /// lane. Only for `crn chassis`.
            front_panel: Named<Located<FrontPanel>>;
            /// The part of the packet buffer that the queues share; default what the driver gives them. Only for `crn chassis`.
            buffer: Located<QueueSize>;
        }
    }
}

choice! {
    /// A chip's name.
    enum ChipName = "a chip" {
        "tofino" => Chip::Tofino,
        "tofino2" => Chip::Tofino2,
    } -> Chip
}

choice! {
    /// The name of what serves P4Runtime on a Tofino.
    enum ServerName = "a server" {
        "stratum" => P4RuntimeServer::Stratum,
        "p4studio" => P4RuntimeServer::P4Studio,
    } -> P4RuntimeServer
}

mapping! {
    /// A port that differs from the rest.
    struct Port = "a port" {
        optional {
            /// Profile of its data queues; default `defaults.profile`.
            profile: Located<String>;
            /// `trusted` (the default): inside the domain. `boundary`: DSCPs lose their roles there, and control
            /// datagrams don't come in.
            trust: TrustName;
            /// What reports may take of this port's link, as a part of its rate or as a rate; default the profile's.
            report_limit: Located<ReportLimit>;
        }
    }
}

mapping! {
    /// TLS toward a P4Runtime server. Files are looked for beside the topology file.
    struct Tls = "tls" {
        required {
            /// Certificate authority that signed the switch's certificate, PEM.
            ca: Located<String> = "certs/ca.pem";
        }
        optional {
            /// Our certificate, where the switch asks for one, PEM.
            certificate: Located<String>;
            /// Our certificate's key, PEM.
            key: Located<String>;
            /// Name in the switch's certificate; default the host of its address.
            name: Located<String>;
        }
    }
}

mapping! {
    /// A compiled program. Files are looked for beside the topology file.
    struct PipelineFiles = "pipeline" {
        required {
            /// Its P4Info in text format.
            p4info: Located<String> = "crn.p4info.txtpb";
        }
        optional {
            /// What a switch of target `soft` or `bmv2` runs: BMv2's JSON.
            json: Located<String>;
            /// What a Tofino runs: the compiler's tofino.bin or tofino2.bin.
            binary: Located<String>;
            /// The compiler's context.json, for a Tofino.
            context: Located<String>;
            /// The compiler's BF-RT schema, for a Tofino; Stratum wants it.
            bfrt: Located<String>;
        }
    }
}

mapping! {
    /// Queues of a BMv2 switch.
    struct Queues = "queues" {
        optional {
            /// Packets that each queue holds; default what the largest `q_max` needs.
            depth: Located<Int<1, 1_000_000>>;
            /// Packets that each queue sends in a second, as in `5000pps`; without it BMv2's queues never stand.
            rate: Located<PacketRate>;
        }
    }
}

choice! {
    /// How far a port is believed.
    enum TrustName = "a trust" {
        "trusted" => Trust::Trusted,
        "boundary" => Trust::Boundary,
    } -> Trust
}

choice! {
    /// A target's name.
    enum TargetName = "a target" {
        "soft" => Target::Soft,
        "bmv2" => Target::Bmv2,
        "tofino" => Target::Tofino,
    } -> Target
}
