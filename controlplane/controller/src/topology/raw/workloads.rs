//! Traffic.

use crate::topology::decode::{Int, Located};
use crate::topology::model::Mode;
use crate::topology::quantity::{Fraction, Size, Time};
use crate::topology::scheme::Scheme;
use crate::topology::shape::{choice, mapping};
use crate::topology::values::Endpoint;

mapping! {
    /// Traffic: in each batch every sender sends each of the messages to its receiver.
    struct Workload = "a workload" {
        required {
            /// Its name.
            name: Located<String> = "incast";
            /// Hosts that send.
            senders: Located<Vec<Located<String>>> = "[h1, h2]";
            /// One host that all send to, or as many as there are senders, pairwise; or several hosts that one sender sends to.
            receivers: Located<Vec<Located<String>>> = "[h3]";
            /// The messages of each sender in each batch.
            messages: Located<Vec<Message>> = "[{ size: 1MiB, mode: scheduled }]";
            /// The switch port whose queue the figures are about.
            bottleneck: Located<Endpoint> = "\"s1:1\"";
        }
        optional {
            /// How many batches; default 1.
            batches: Int<1, 1_000_000>;
            /// Pause between batches; default 0ns.
            gap: Time;
            /// RDMA payload of a full packet; default 4096B.
            payload: Located<Size>;
            /// In `crn sim` and `crn up`, the part of the packets that the bottleneck's link loses in the direction of its queue,
            /// independently, besides the link's own `loss`; default 0%.
            loss: Fraction;
            /// What a simulation compares; default [none, rdcc, rdcc+crn].
            schemes: Located<Vec<Located<SchemeName>>>;
        }
    }
}

mapping! {
    /// One message of a batch.
    struct Message = "a message" {
        required {
            /// Its length.
            size: Located<Size> = "1MiB";
            /// Against credit, or ahead of it.
            mode: Located<ModeName> = "scheduled";
        }
    }
}

choice! {
    /// A mode's name.
    enum ModeName = "a mode" {
        "scheduled" => Mode::Scheduled,
        "unscheduled" => Mode::Unscheduled,
    } -> Mode
}

choice! {
    /// What endpoints do about congestion.
    enum SchemeName = "a scheme" {
        "none" => Scheme::None,
        "rdcc" => Scheme::Rdcc,
        "rdcc+crn" => Scheme::RdccCrn,
        "dcqcn" => Scheme::Dcqcn,
        "dcqcn+advice" => Scheme::DcqcnAdvice,
        "dcqcn+signal" => Scheme::DcqcnSignal,
        "admission" => Scheme::Admission,
        "dcqcn+admission" => Scheme::DcqcnAdmission,
        "rdcc+crn+admission" => Scheme::RdccAdmission,
        "crem" => Scheme::Crem,
        "crem+pass" => Scheme::CremPass,
    } -> Scheme
}
