//! How senders follow rate advice.

/// How senders follow rate advice (SCONE, Sender-Side Rate Coordination); `None`: the sender's own default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SconeParams {
    /// Between two steps of a bound, in nanoseconds.
    pub step_interval_ns: Option<u64>,
    /// How much of the gap to the advised rate a step closes, in percent.
    pub step_percent: Option<u8>,
    /// How long advice holds, in nanoseconds.
    pub expiry_ns: Option<u64>,
    /// By how much of itself an expired bound rises a step, in percent.
    pub release_percent: Option<u8>,
}
