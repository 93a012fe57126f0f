//! The receiver of data.

use wire::units::Nanos;

/// The notification point of a queue pair (section 3.1, "NP Algorithm").
#[derive(Clone, Copy, Debug, Default)]
pub struct NotificationPoint {
    last_cnp: Option<Nanos>,
}

impl NotificationPoint {
    /// One that has sent no CNP yet.
    pub const fn new() -> Self {
        Self { last_cnp: None }
    }

    /// A marked packet came at `now`. Gives whether to send a CNP, at once: when none went within `cnp_interval`.
    #[must_use = "the CNP counts as sent"]
    pub fn marked(&mut self, cnp_interval: Nanos, now: Nanos) -> bool {
        let due = self.last_cnp.is_none_or(|last| now.saturating_sub(last) >= cnp_interval);
        if due {
            self.last_cnp = Some(now);
        }
        due
    }
}
