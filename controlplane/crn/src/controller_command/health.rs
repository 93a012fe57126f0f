//! How the switches and the file are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use controller::machine::State;

use super::refusal::Refusal;

/// How every switch is, for /healthz.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// State of each switch, and what is wrong with it.
    pub switches: BTreeMap<String, (String, Option<String>)>,
    /// Why the file that is there now isn't in force.
    pub refused: Option<Refusal>,
}

impl Health {
    /// Whether all is well: every switch is ready, or another controller's, and the file is in force.
    pub fn good(&self) -> bool {
        self.refused.is_none()
            && self
                .switches
                .values()
                .all(|(state, _)| *state == State::Ready.to_string() || *state == State::Backup.to_string())
    }

    /// What /healthz answers.
    pub fn json(&self) -> String {
        let switches: serde_json::Map<String, serde_json::Value> = self
            .switches
            .iter()
            .map(|(name, (state, problem))| {
                (name.clone(), serde_json::json!({ "state": state, "problem": problem }))
            })
            .collect();
        serde_json::json!({
            "ok": self.good(), "switches": switches,
            "file_refused": self.refused.as_ref().map(|refusal| &refusal.reason),
            "file_problems": self.refused.iter().flat_map(|refusal| &refusal.problems).collect::<Vec<_>>(),
        })
        .to_string()
    }
}

/// What the HTTP side reads.
pub type SharedHealth = Arc<Mutex<Health>>;
