//! How far one switch is, and what comes next.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use p4runtime::p4::v1::{
    CloneSessionEntry, Entity, MulticastGroupEntry, PacketReplicationEngineEntry, Update, entity,
    packet_replication_engine_entry, update,
};

use super::failure::{self, Failure, Remains};
use crate::client::{Reply, Request, RequestError, RequestId};
use crate::desired::Desired;
use crate::diff::{self, Change};
use crate::pipeline::Pipeline;

/// How far a switch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has been asked yet.
    Idle,
    /// Asking to become primary.
    Arbitrating,
    /// Another controller is primary.
    Backup,
    /// Asking which program runs.
    AskingProgram,
    /// Reading the clone sessions and multicast groups of the program that goes.
    ReadingCopies,
    /// Deleting them: BMv2 keeps them over a push, and every copy would come twice.
    DeletingCopies,
    /// Knows what to change, and waits until the other switches do too.
    Waiting,
    /// Pushing the program.
    PushingProgram,
    /// Reading what it holds.
    Reading,
    /// Writing what differs.
    Writing,
    /// Some changes were refused: reading what has been made of the others.
    ReadingBack,
    /// Taking them back.
    RollingBack,
    /// It holds what it should.
    Ready,
    /// Something failed.
    Failed,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "not started",
            Self::Arbitrating => "asking to become primary",
            Self::Backup => "backup",
            Self::AskingProgram => "asking which program runs",
            Self::ReadingCopies => "reading clone sessions and multicast groups",
            Self::DeletingCopies => "deleting clone sessions and multicast groups",
            Self::Waiting => "waiting for the other switches",
            Self::PushingProgram => "pushing the program",
            Self::Reading => "reading the entries",
            Self::Writing => "writing the entries",
            Self::ReadingBack => "reading what was written",
            Self::RollingBack => "rolling back",
            Self::Ready => "ready",
            Self::Failed => "failed",
        })
    }
}

/// What comes after a reply.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The next request, and the state it belongs to.
    Ask(State, Request),
    /// Read the entries.
    Read,
    /// It holds what it should.
    Ready,
    /// Another controller is primary.
    Backup,
    /// The failure that was being cleaned up after is final now.
    Failed(Failure),
    /// The reply is of another kind than the request.
    Unexpected,
}

/// What a read is for that moves no state on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// [`super::Controller::read_counters`].
    Counters,
    /// [`super::Controller::read_cells`].
    Cells,
}

/// One switch.
#[derive(Debug)]
pub(super) struct SwitchMachine {
    pub state: State,
    pub desired: Desired,
    /// The program that it should run.
    pub pipeline: Arc<Pipeline>,
    /// The request whose reply moves the state on.
    pub awaiting: Option<RequestId>,
    /// Reads beside that, and what they are for.
    pub beside: BTreeMap<RequestId, Beside>,
    /// The program was pushed since the start.
    pub pushed: bool,
    /// Changes written since the start.
    pub written: usize,
    /// What the switch held before it was written to.
    pub before: Vec<Entity>,
    /// The changes that are being written.
    pub changes: Vec<Change>,
    /// What is being cleaned up after, or has come to an end.
    pub failure: Option<Failure>,
    /// The topology changed meanwhile: look again before being ready.
    pub stale: bool,
    /// Whether to remember what it held, so that it can be taken back when it has become ready.
    pub keep: bool,
    /// What it held before the first change, and whether the program was pushed.
    pub undo: Option<(Vec<Entity>, bool)>,
    /// Clone sessions and multicast groups of another program that are being or have been deleted since the start.
    pub deleting: usize,
    /// What attempts since it was last ready have left in it.
    pub earlier: Option<Remains>,
}

impl SwitchMachine {
    pub fn new(desired: Desired, pipeline: Arc<Pipeline>) -> Self {
        Self {
            state: State::Idle,
            desired,
            pipeline,
            awaiting: None,
            beside: BTreeMap::new(),
            pushed: false,
            written: 0,
            before: Vec::new(),
            changes: Vec::new(),
            failure: None,
            stale: false,
            keep: false,
            undo: None,
            deleting: 0,
            earlier: None,
        }
    }

    /// Ends what is under way; replies to it will be ignored.
    pub fn abandon(&mut self, state: State) {
        self.state = state;
        self.awaiting = None;
        self.pushed = false;
        self.written = 0;
        self.before = Vec::new();
        self.changes = Vec::new();
        self.deleting = 0;
        self.stale = false;
        if state != State::Ready {
            self.beside.clear();
        }
    }

    /// What comes after the reply to the request of this state.
    pub fn next(&mut self, reply: Reply) -> Outcome {
        let look = || Outcome::Ask(State::AskingProgram, Request::GetCookie);
        match (self.state, reply) {
            (State::Arbitrating, Reply::Arbitration { primary: true }) => {
                Outcome::Ask(State::AskingProgram, Request::GetCookie)
            }
            (State::Arbitrating, Reply::Arbitration { primary: false }) => Outcome::Backup,
            (State::AskingProgram, Reply::Cookie(Some(cookie))) if cookie == self.pipeline.cookie => {
                // So the push that nothing was known of has been made.
                if let Some(Remains::Unknown { of: 0, pushed }) = &mut self.earlier {
                    *pushed = true;
                }
                Outcome::Read
            }
            (State::AskingProgram, Reply::Cookie(Some(_))) => {
                Outcome::Ask(State::ReadingCopies, Request::Read(all_copies()))
            }
            (State::ReadingCopies, Reply::Entities(copies)) => {
                let deletions = deletions(copies);
                self.deleting = deletions.len();
                if deletions.is_empty() {
                    self.push()
                } else {
                    Outcome::Ask(State::DeletingCopies, Request::Write(deletions))
                }
            }
            (State::AskingProgram, Reply::Cookie(None)) | (State::DeletingCopies, Reply::Done) => self.push(),
            (State::PushingProgram, Reply::Done) => {
                self.pushed = true;
                if std::mem::take(&mut self.stale) { look() } else { Outcome::Read }
            }
            (State::Reading, Reply::Entities(_)) | (State::Writing, Reply::Done)
                if std::mem::take(&mut self.stale) =>
            {
                look()
            }
            (State::Reading, Reply::Entities(held)) => {
                let changes = diff::changes(&self.desired, &held);
                if changes.is_empty() {
                    return Outcome::Ready;
                }
                if self.keep {
                    self.undo.get_or_insert_with(|| (held.clone(), false));
                }
                self.written += changes.len();
                let updates = changes.iter().map(|change| change.update.clone()).collect();
                (self.before, self.changes) = (held, changes);
                Outcome::Ask(State::Writing, Request::Write(updates))
            }
            (State::ReadingBack, Reply::Entities(held)) => {
                let changes = diff::back_to(&self.before, &held);
                let updates: Vec<_> = changes.into_iter().map(|change| change.update).collect();
                if updates.is_empty() {
                    return self.rolled_back();
                }
                Outcome::Ask(State::RollingBack, Request::Write(updates))
            }
            (State::RollingBack, Reply::Done) => self.rolled_back(),
            (State::Writing, Reply::Done) => Outcome::Ready,
            _ => Outcome::Unexpected,
        }
    }

    fn push(&mut self) -> Outcome {
        if self.keep {
            self.undo.get_or_insert_with(|| (Vec::new(), true));
        }
        Outcome::Ask(State::PushingProgram, Request::SetPipeline(Arc::clone(&self.pipeline)))
    }

    /// Reads what it holds, to take back what was made of it.
    fn read_back(&self) -> Outcome {
        Outcome::Ask(State::ReadingBack, Request::Read(diff::read_request(&self.pipeline.index)))
    }

    /// Takes back what was written to a switch that is ready; `None` if nothing was.
    pub fn take_back(&mut self, error: RequestError) -> Option<Outcome> {
        let (before, pushed) = self.undo.take()?;
        let changes = diff::changes(&self.desired, &before).len();
        let remains = if pushed { Remains::ProgramOnly } else { Remains::RolledBack { made: changes } };
        self.before = before;
        self.failure = Some(Failure { state: State::Waiting, error, refused: Vec::new(), remains });
        Some(self.read_back())
    }

    /// The failure is final: what was made has been taken back.
    fn rolled_back(&mut self) -> Outcome {
        match self.failure.take() {
            Some(failure) => Outcome::Failed(failure),
            None => Outcome::Unexpected,
        }
    }

    /// What comes after an error: the end, or cleaning up first.
    pub fn after(&mut self, error: RequestError) -> Outcome {
        match (self.state, error) {
            (State::Writing, RequestError::Updates { failed, of }) => {
                let refused: Vec<_> = failed
                    .iter()
                    .filter_map(|update| Some((self.changes.get(update.index)?.clone(), update.clone())))
                    .collect();
                let made = of.saturating_sub(failed.len());
                let remains = if self.pushed {
                    Remains::ProgramOnly
                } else if made == 0 {
                    Remains::Untouched
                } else {
                    Remains::RolledBack { made }
                };
                let error = RequestError::Updates { failed, of };
                let failure = Failure { state: State::Writing, error, refused, remains };
                if made == 0 {
                    return Outcome::Failed(failure);
                }
                self.failure = Some(failure);
                self.read_back()
            }
            (State::ReadingBack | State::RollingBack, reason) => match self.failure.take() {
                Some(failure) => {
                    let pushed = failure.remains == Remains::ProgramOnly;
                    Outcome::Failed(Failure { remains: Remains::Partly { pushed, reason }, ..failure })
                }
                None => Outcome::Unexpected,
            },
            (state, error) => {
                let remains = self.halfway(&error);
                Outcome::Failed(Failure { state, error, refused: Vec::new(), remains })
            }
        }
    }
}

impl SwitchMachine {
    /// Adds to what attempts have left in the switch; gives all that they have.
    pub fn remember(&mut self, remains: Remains) -> Remains {
        let all = remains.after(self.earlier.as_ref());
        self.earlier = Some(all.clone());
        all
    }

    /// What the switch holds when `error` ends what is under way.
    pub fn halfway(&self, error: &RequestError) -> Remains {
        let uncertain = failure::uncertain(error);
        let updates = matches!(error, RequestError::Updates { .. });
        let pushed = self.pushed;
        match self.state {
            State::Writing if uncertain => Remains::Unknown { pushed, of: self.changes.len() },
            State::DeletingCopies if uncertain || updates => Remains::Unknown { pushed, of: self.deleting },
            State::PushingProgram if uncertain => Remains::Unknown { pushed, of: 0 },
            State::PushingProgram if self.deleting > 0 => Remains::CopiesDeleted { deleted: self.deleting },
            State::ReadingBack | State::RollingBack => Remains::Partly { pushed, reason: error.clone() },
            _ if pushed => Remains::ProgramOnly,
            _ => Remains::Untouched,
        }
    }
}

/// Stands for all clone sessions and multicast groups in a read.
fn all_copies() -> Vec<Entity> {
    use packet_replication_engine_entry::Type;
    [
        Type::CloneSessionEntry(CloneSessionEntry::default()),
        Type::MulticastGroupEntry(MulticastGroupEntry::default()),
    ]
    .into_iter()
    .map(|kind| {
        let entry = PacketReplicationEngineEntry { r#type: Some(kind) };
        Entity { entity: Some(entity::Entity::PacketReplicationEngineEntry(entry)) }
    })
    .collect()
}

fn deletions(copies: Vec<Entity>) -> Vec<Update> {
    let delete = |entity| Update { r#type: update::Type::Delete.into(), entity: Some(entity) };
    copies.into_iter().map(delete).collect()
}
