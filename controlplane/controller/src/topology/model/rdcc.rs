//! RDCC's parameters.

/// RDCC's parameters (RDCC, Default Parameters), with that section's guidance where the file says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdccParams {
    /// Base round-trip time in nanoseconds. Default: twice the delay of the longest path between two hosts.
    pub base_rtt_ns: u64,
    /// G in octets. Default: 2 BDP of the fastest access link.
    pub budget: u64,
    /// `G_u` in octets. Default: G / 4.
    pub unscheduled_budget: u64,
    /// U in octets. Default: `G_u` divided by the most senders that share a receiver, at most one BDP.
    pub unscheduled_limit: u64,
    /// J in nanoseconds. Default: the base round-trip time.
    pub start_jitter_ns: u64,
    /// Credit Unit in octets. Default: the largest payload of the workloads, else 4096.
    pub credit_unit: u64,
    /// Grant Lifetime in nanoseconds. Default: 4 base round-trip times, at least 100 us.
    pub grant_lifetime_ns: u64,
    /// `N_cu` in octets. Default: 2 BDP of the fastest access link.
    pub backlog_threshold: u64,
    /// `D_max`, the longest one-way delay of the domain, in nanoseconds. Default: half the base round-trip
    /// time plus what the largest queue on the way takes to drain at the slowest link's rate.
    pub max_delay_ns: u64,
    /// What the file says beyond these; what it doesn't is the endpoint's own default.
    pub options: RdccOptions,
}

/// Parameters that have a default of their own at the endpoint (RDCC, Default Parameters); `None`: that one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdccOptions {
    /// Octets that a Credit Unit takes on a link beside its payload.
    pub unit_overhead: Option<u64>,
    /// `T_upd` in nanoseconds.
    pub update_interval_ns: Option<u64>,
    /// Round-trip time in nanoseconds above which a path counts as congested.
    pub delay_target_ns: Option<u64>,
    /// alpha in bit/s.
    pub alpha_bps: Option<u64>,
    /// beta in thousandths.
    pub beta_permille: Option<u32>,
    /// The most credit in octets that one sender may hold.
    pub association_credit: Option<u64>,
    /// Senders that a receiver admits.
    pub max_associations: Option<usize>,
    /// Messages of one association that may wait, at either end.
    pub max_pending_messages: Option<usize>,
    /// After how many nanoseconds without traffic an association is removed.
    pub idle_timeout_ns: Option<u64>,
    /// Loss of unscheduled data in millionths above which nobody may send any.
    pub loss_threshold_ppm: Option<u32>,
    /// Over how many nanoseconds that loss is counted.
    pub loss_interval_ns: Option<u64>,
    /// Whether the data transport carries Binding Values of kind 2.
    pub opaque_bindings: Option<bool>,
    /// Whether senders that take pool grants get them instead of a grant for each message.
    pub pool_grants: Option<bool>,
    /// A Backlog Threshold of senders, in octets, smaller than what receivers advertise.
    pub sender_backlog_threshold: Option<u64>,
    /// Which signs of congestion receivers act on.
    pub hear: RdccHear,
}

/// Which signs of congestion receivers act on; `None`: where nothing else is said, they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdccHear {
    /// Reports of the switches.
    pub reports: Option<bool>,
    /// Congestion Experienced marks.
    pub ecn: Option<bool>,
    /// Round-trip times above the target.
    pub delay: Option<bool>,
}
