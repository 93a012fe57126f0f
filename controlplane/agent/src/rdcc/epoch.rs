//! The Epoch of a receiver that starts: another one than that of the run before (RDCC, Association Establishment).

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wire::rdcc::Epoch;

/// An Epoch that can't be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum EpochError {
    /// The file can't be read or written.
    #[error("{}: the Epoch can't be {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Read or kept.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Something else stands in the file.
    #[error("{}: there should be one number from 1 to 65535, the Epoch of the last run; remove the file to begin anew", path.display())]
    Content {
        /// The file.
        path: PathBuf,
    },
}

//= RDCC, Association Establishment: d40442a1
/// The Epoch of the run before, if `file` tells it, and that of this one, which the file holds from now on.
///
/// Without a file, or with none there yet, the new Epoch is the time in seconds, in the sixteen bits that it has: two
/// runs within eighteen hours differ unless both start in one second.
///
/// # Errors
/// [`EpochError`]: a receiver that can't know that its Epoch is new had better not start.
pub fn next(file: Option<&Path>) -> Result<(Option<Epoch>, Epoch), EpochError> {
    let Some(path) = file else { return Ok((None, of_now())) };
    let failed = |what| move |source| EpochError::File { path: path.to_owned(), what, source };
    let previous = match std::fs::read_to_string(path) {
        Ok(text) => {
            let number = text.trim().parse().ok().filter(|&number| number > 0);
            Some(Epoch(number.ok_or_else(|| EpochError::Content { path: path.to_owned() })?))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("read")(error)),
    };
    let epoch = match previous {
        Some(Epoch(u16::MAX)) => Epoch(1),
        Some(Epoch(number)) => Epoch(number + 1),
        None => of_now(),
    };
    keep(path, epoch).map_err(failed("kept"))?;
    Ok((previous, epoch))
}

/// Whole or not at all, and there after a crash: a number that comes again is worse than none.
fn keep(path: &Path, epoch: Epoch) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut file = std::fs::File::create(&beside)?;
    writeln!(file, "{}", epoch.0)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

fn of_now() -> Epoch {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let number = since.as_secs() % u64::from(u16::MAX) + 1;
    Epoch(u16::try_from(number).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    //~ RDCC, Association Establishment: d40442a1
    #[test]
    fn every_run_has_another_epoch() {
        let folder = std::env::temp_dir().join(format!("crn-epoch-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("epoch");
        let (before, first) = next(Some(&path)).unwrap();
        assert_eq!(before, None);
        assert_ne!(first, Epoch(0));
        let (before, second) = next(Some(&path)).unwrap();
        assert_eq!(before, Some(first));
        assert_ne!(second, first);
        std::fs::write(&path, "65535\n").unwrap();
        assert_eq!(next(Some(&path)).unwrap(), (Some(Epoch(65_535)), Epoch(1)));
        for wrong in ["", "0", "65536", "-1", "first"] {
            std::fs::write(&path, wrong).unwrap();
            let error = next(Some(&path)).unwrap_err().to_string();
            assert!(error.contains("1 to 65535"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), wrong);
        }
        assert!(next(Some(&folder)).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
