//! What a controller asks of a switch and hears from it, without waiting: [`SwitchClient`].
//!
//! Two implementations: [`grpc`] talks P4Runtime to a server, [`in_process`] to a switch in the same process in
//! virtual time.

pub mod grpc;
pub mod in_process;
pub mod observe;
pub mod thrift;

use std::fmt;
use std::sync::Arc;

use p4runtime::client::ClientError;
use p4runtime::p4::v1::{DigestList, Entity, ForwardingPipelineConfig, PacketIn, PacketOut, Update};
use wire::units::Nanos;

use crate::pipeline::Pipeline;
use crate::text;

pub use grpc::GrpcClient;
pub use in_process::{InProcessClient, Programs, Target};
pub use observe::{Observer, Primaryship};
pub use thrift::{ThriftError, set_queues};

/// How many times the timeout of connecting a call may take: pushing a program takes a switch seconds.
const CALL_PATIENCE: u32 = 6;

/// Tells a reply's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// What a switch is asked.
#[derive(Clone, Debug)]
pub enum Request {
    /// Become primary with this election id. Must come first; answered by [`Reply::Arbitration`].
    Arbitrate {
        /// The highest of all controllers' is the primary's. Not 0.
        election_id: u128,
    },
    /// Which program runs; answered by [`Reply::Cookie`].
    GetCookie,
    /// Run this program; answered by [`Reply::Done`].
    SetPipeline(Arc<Pipeline>),
    /// Make these changes, in order; answered by [`Reply::Done`].
    Write(Vec<Update>),
    /// Read what matches these; answered by [`Reply::Entities`].
    Read(Vec<Entity>),
    /// Send a packet; answered by [`Reply::Done`] when it is on its way to the switch.
    PacketOut(PacketOut),
}

/// What a switch answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Whether this controller is primary now.
    Arbitration {
        /// It is.
        primary: bool,
    },
    /// The running program's cookie; none if there is no program.
    Cookie(Option<u64>),
    /// It is done.
    Done,
    /// What was read.
    Entities(Vec<Entity>),
}

/// Why a request wasn't done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The switch refused it.
    #[error("{}: {message}", p4runtime::status::code_name(*code))]
    Refused {
        /// gRPC code.
        code: i32,
        /// The switch's reason.
        message: String,
    },
    /// Some updates of a batch weren't made; the others were.
    #[error("{} of {of} updates failed; the first: {}", failed.len(), first(failed))]
    Updates {
        /// Those that weren't, in order.
        failed: Vec<FailedUpdate>,
        /// How many there were.
        of: usize,
    },
    /// The switch can't be reached.
    #[error("{0}")]
    Unreachable(String),
    /// The switch's answer would fill the memory: nothing was made of it.
    #[error("{0}")]
    TooMuch(String),
    /// It could have been done here, but not on another switch, and it is to be done on all or none.
    #[error("not all switches could be changed")]
    NotAll,
}

/// An update that wasn't made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedUpdate {
    /// Its place in the batch.
    pub index: usize,
    /// gRPC code.
    pub code: i32,
    /// The switch's reason.
    pub message: String,
}

impl fmt::Display for FailedUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", p4runtime::status::code_name(self.code), self.message)
    }
}

/// What a status says: the switch's refusal, or that there is no connection any more. `unknown`: nothing has come over
/// this connection yet, and it has no TLS.
fn of_status(status: &tonic::Status, unknown: bool) -> RequestError {
    // What the switch itself answers has no cause on this side.
    if std::error::Error::source(status).is_none() {
        return RequestError::Refused { code: status.code() as i32, message: words(status.message()) };
    }
    let hint = if unknown { "; if the switch wants TLS, give it a `tls` key" } else { "" };
    RequestError::Unreachable(format!("the connection broke: {}{hint}", words(status.message())))
}

/// Characters of a switch's text that are shown.
const WORDS: usize = 500;

/// What a switch says, as it can be shown on a terminal and in a log: not more than somebody reads, and without what isn't text.
fn words(said: &str) -> String {
    let mut shown = String::new();
    for (count, c) in said.chars().enumerate() {
        if count == WORDS {
            shown.push_str("...");
            break;
        }
        if text::disturbs(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// What a client's error says; `unknown` as in [`of_status`].
fn of_client(error: ClientError, unknown: bool) -> RequestError {
    match error {
        ClientError::Status(status) => of_status(&status, unknown),
        ClientError::TooMuch { .. } => RequestError::TooMuch(error.to_string()),
        other => RequestError::Unreachable(words(&other.to_string())),
    }
}

/// What an answer tells about the running program's cookie.
enum CookieOf {
    /// The cookie; none if there is no program.
    Known(Option<u64>),
    /// There is a program without a cookie, somebody else's, or none: whether its P4Info is there tells.
    AskForP4Info,
}

fn cookie_of(config: Option<&ForwardingPipelineConfig>) -> CookieOf {
    match config.map(|config| config.cookie.as_ref()) {
        None => CookieOf::Known(None),
        Some(Some(cookie)) => CookieOf::Known(Some(cookie.cookie)),
        Some(None) => CookieOf::AskForP4Info,
    }
}

/// Of an answer with P4Info. BMv2 has an empty program after it has refused one, and a question about its entries ends it
/// (PI, `pi_assign_device` without `pi_update_device_start`).
fn cookie_beside_p4info(config: Option<&ForwardingPipelineConfig>) -> Option<u64> {
    let config = config.filter(|config| config.p4info.is_some())?;
    Some(config.cookie.as_ref().map_or(0, |cookie| cookie.cookie))
}

/// The election id with which to become primary where nobody is, and `seen` is the highest id there ever was. Of
/// several controllers that claim the same vacancy each has its own, and the order among them stays.
pub(crate) fn claim(seen: u128, own: u128) -> u128 {
    seen.saturating_add(own.max(1))
}

fn first(failed: &[FailedUpdate]) -> String {
    failed.first().map(ToString::to_string).unwrap_or_default()
}

/// What a controller hears from a switch.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The outcome of a request.
    Reply {
        /// Of which.
        id: RequestId,
        /// What it came to.
        result: Result<Reply, RequestError>,
    },
    /// Primaryship changed without being asked for.
    Primary(bool),
    /// Nobody is primary any more; the highest election id that the switch has seen.
    Vacant {
        /// A new primary's must be at least this.
        election_id: u128,
    },
    /// A packet for the controller.
    PacketIn(PacketIn),
    /// A digest list.
    Digest(DigestList),
    /// The connection is gone, with the reason. Requests without a reply will get none.
    Closed(String),
}

/// A connection to one switch. Nothing waits: requests are submitted, events polled.
pub trait SwitchClient {
    /// Asks the switch. Requests are served in the order in which they are submitted.
    fn submit(&mut self, id: RequestId, request: Request, now: Nanos);

    /// The next event that is due, in the order (time, sequence of the requests).
    fn poll(&mut self, now: Nanos) -> Option<Event>;

    /// When to call [`SwitchClient::poll`] again; `None`: not known, or never.
    fn poll_timeout(&self) -> Option<Nanos>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_that_says_what_disturbs_a_terminal_is_quoted() {
        assert_eq!(words("no room for that"), "no room for that");
        assert_eq!(words("\u{1b}[31mred\u{202e}\n"), "\\u{1b}[31mred\\u{202e}\\n");
        let long = words(&"x".repeat(1_000_000));
        assert_eq!((long.len(), &long[WORDS..]), (WORDS + 3, "..."));
        let status = tonic::Status::internal("\u{7}");
        let said = RequestError::Refused { code: 13, message: "\\u{7}".to_owned() };
        assert_eq!(of_status(&status, false), said);
    }
}
