//! DCQCN: congestion control of RoCEv2 by ECN marks (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
//! SIGCOMM 2015, section 3). Equation and section numbers here are that paper's.
//!
//! The receiver of data is the [`NotificationPoint`]: it answers marked packets with CNPs. The sender is the
//! [`ReactionPoint`]: it starts at the line rate, cuts its rate with every CNP, and raises it in three phases by a timer
//! and an octet counter.
//!
//! Neither needs to be woken. Both timers of a reaction point are settled when it is next asked or told something, with the
//! same result as if they had fired on time: [`ReactionPoint::rate`] is exact at every instant.

mod config;
mod notification;
mod reaction;
#[cfg(test)]
mod tests;

pub use config::{Config, ConfigError};
pub use notification::NotificationPoint;
pub use reaction::{Phase, ReactionPoint};
