//! Receiver-Driven Credit Control's parameters.

use crate::topology::decode::{Int, Located};
use crate::topology::quantity::{Fraction, Rate, Size, SizeOrZero, Time};
use crate::topology::shape::mapping;

mapping! {
    /// Receiver-Driven Credit Control's parameters; what isn't given follows the document's guidance.
    struct Rdcc = "rdcc" {
        optional {
            /// Base round-trip time; default: twice the delay of the longest path between two hosts.
            base_rtt: Located<Time>;
            /// G, what all senders together may have in flight to one receiver; default: 2 BDP.
            budget: Located<Size>;
            /// `G_u`, the part of G for unscheduled messages; default: G / 4. 0B: none are sent.
            unscheduled_budget: Located<SizeOrZero>;
            /// U, what one sender may send unscheduled; default: `G_u` / senders of a receiver, at most one BDP. 0B:
            /// nothing.
            unscheduled_limit: Located<SizeOrZero>;
            /// J, the longest random delay before unscheduled sending; default: the base round-trip time.
            start_jitter: Located<Time>;
            /// Credit Unit, the payload of a full packet; default: the workloads' payload, else 4096B.
            credit_unit: Located<Size>;
            /// Octets that a Credit Unit takes on a link beside its payload; default: those of one packet's headers,
            /// preamble and gap.
            unit_overhead: Located<SizeOrZero>;
            /// Grant Lifetime; default: 4 base round-trip times, at least 100us.
            grant_lifetime: Located<Time>;
            /// `N_cu`, unused credit above which a sender sends its status; default: 2 BDP.
            backlog_threshold: Located<Size>;
            /// `D_max`, the longest one-way delay; default: half the base round-trip time and the queues' drain time.
            max_delay: Located<Time>;
            /// `T_upd`, between two changes of the rates; default: the base round-trip time.
            update_interval: Located<Time>;
            /// Round-trip time above which a path counts as congested, where delay is heard; default: 2 base
            /// round-trip times.
            delay_target: Located<Time>;
            /// alpha, what a rate rises by in an update interval; default: 1 % of the receiver's link.
            alpha: Located<Rate>;
            /// beta, the part that a rate falls by at congestion; default: 50%.
            beta: Located<Fraction>;
            /// The most credit that one sender may hold; default: 3/4 of G - `G_u`.
            association_credit: Located<Size>;
            /// Senders that a receiver admits; default: 4096.
            max_associations: Located<Int<1, 1_000_000>>;
            /// Messages of one sender that may wait; default: 1024 at a receiver, 4096 at a sender.
            max_pending_messages: Located<Int<1, 1_000_000>>;
            /// After this time without traffic an association is removed; default: 10s.
            idle_timeout: Located<Time>;
            /// Loss of unscheduled data above which nobody may send any; default: 1%.
            loss_threshold: Located<Fraction>;
            /// Over what time that loss is counted; default: 1s.
            loss_interval: Located<Time>;
            /// The data transport carries Binding Values of kind 2; default: false.
            opaque_bindings: bool;
            /// Receivers give senders that take them a grant for all their messages of a Traffic Class, instead of one for each
            /// message; default: false.
            pool_grants: bool;
            /// Unused credit, of all receivers together, above which a sender tells of its backlog, if that is less than the
            /// smallest `backlog_threshold` that its receivers advertise; default: that one.
            sender_backlog_threshold: Located<Size>;
            /// Which signs of congestion receivers act on; default: all of them. In `crn sim` the schemes say whether
            /// reports are heard, and the other signs are heard only if they are named here.
            hear: Hear;
        }
    }
}

mapping! {
    /// Which signs of congestion receivers act on.
    struct Hear = "rdcc.hear" {
        optional {
            /// Reports of the switches; default: true.
            reports: bool;
            /// Congestion Experienced marks; default: true.
            ecn: bool;
            /// Round-trip times above `delay_target`; default: true.
            delay: bool;
        }
    }
}
