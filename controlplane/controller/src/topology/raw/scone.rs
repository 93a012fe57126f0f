//! How senders follow rate advice.

use crate::topology::decode::{Int, Located};
use crate::topology::quantity::Time;
use crate::topology::shape::mapping;

mapping! {
    /// How senders follow rate advice (SCONE, Sender-Side Rate Coordination, which the document leaves open).
    struct Scone = "scone" {
        optional {
            /// Time between two steps of a bound, toward the advised rate and after the advice expired; default 50us.
            step_interval: Located<Time>;
            /// How much of the gap to the advised rate a step closes, in percent; default 50.
            step: Int<1, 100>;
            /// How long advice holds; default 1ms.
            expiry: Located<Time>;
            /// By how much of itself an expired bound rises a step, in percent; default 10.
            release: Int<1, 100>;
        }
    }
}
