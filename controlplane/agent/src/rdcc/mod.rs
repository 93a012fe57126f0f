//! The agent of RDCC: a host that sends, receives or does both.
//!
//! [`Host`] joins the machines of the crate `rdcc` with a data [`transport`]: permits of the sender become posts there,
//! data that arrives there is told to the receiver. [`run`] binds the sockets and drives it.
//!
//! | module | what it is |
//! |---|---|
//! | [`settings`] | what a host is told: from a topology, from values given one by one, or both |
//! | [`transport`] | software `RoCEv2` (Binding Kind 1) and a simple message transport over UDP (Binding Kind 2) |
//! | [`admission`] | byte windows in front of posts, and the reports that move them |
//! | [`workload`] | batches of messages, and how long each took |
//! | [`event`] | what happens, as it happens |
//! | [`summary`] | the figures at the end |

pub mod admission;
mod epoch;
pub mod event;
mod host;
mod run;
pub mod settings;
pub mod summary;
pub mod transport;
pub mod workload;

pub use epoch::EpochError;
pub use event::{Event, Observer};
pub use host::Host;
pub use run::{RunError, Shared, run};
pub use settings::{Given, Role, Settings, SettingsError};
pub use summary::Summary;
pub use workload::{MessageShape, Workload};

/// Number of the socket of RDCC's control datagrams, in both directions.
const CONTROL: usize = 0;
/// Number of the socket that data comes to.
const DATA: usize = 1;
/// Number of the first socket that data leaves by, that of scheduled data; the next is that of unscheduled data.
const SOURCES: usize = 2;
/// Number of the first socket that reports for admission come to.
const REPORTS: usize = 4;
