//! One shaper an interface: a file in `/run`, locked for as long as the shaper lives.
//!
//! The kernel lets go of the lock with the process, however that ends; the file stays, for one that is taken away could be
//! locked by two. Interfaces of different network namespaces may have the same name and number, so its name has both.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};

use nix::net::if_::if_nametoindex;

use super::ShaperError;

/// An interface that nobody else shapes.
#[derive(Debug)]
pub(super) struct Claim {
    _locked: File,
}

impl Claim {
    /// Locks the interface.
    pub fn take(interface: &str) -> Result<Self, ShaperError> {
        let index = if_nametoindex(interface).map_err(|_| ShaperError::NoInterface(interface.to_owned()))?;
        // A namespace belongs to a thread.
        let namespace = fs::metadata("/proc/thread-self/ns/net").map_or(0, |namespace| namespace.ino());
        let path = format!("/run/crn-limit-{namespace}-{index}.lock");
        let failed = |reason: io::Error| {
            let (path, interface) = (path.clone(), interface.to_owned());
            ShaperError::Lock { path, interface, reason }
        };
        let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o644).open(&path);
        let mut file = open.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let process = fs::read_to_string(&path).unwrap_or_default().trim().to_owned();
                return Err(ShaperError::Held { interface: interface.to_owned(), process });
            }
            Err(TryLockError::Error(reason)) => return Err(failed(reason)),
        }
        let named = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        named.map_err(failed)?;
        Ok(Self { _locked: file })
    }
}
