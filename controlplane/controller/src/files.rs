//! Files that a topology names: read only when they are files, and only as much as they can sensibly be.

use std::fs::{self, File, FileType};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// The largest certificate, key or list of certificates, in octets.
pub const CERTIFICATE_LIMIT: u64 = 1 << 20;
/// The largest program, in octets: what one message to a switch can hold.
pub const PROGRAM_LIMIT: u64 = 256 << 20;

/// A regular file's octets.
///
/// # Errors
/// It can't be read, is another kind of file (a named pipe would be waited for, a device may have no end), or has more than
/// `limit` octets.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if let Some(kind) = other_kind(found.file_type()) {
        return Err(io::Error::other(format!("it is {kind}, not a file")));
    }
    let mut octets = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {} MiB", limit >> 20)));
    }
    Ok(octets)
}

/// What it is instead of a regular file.
fn other_kind(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("a folder")
    } else if kind.is_fifo() {
        Some("a named pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_read_and_no_more_than_they_can_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, vec![b'x'; 1 << 20]).expect("written");
        assert_eq!(read(&path, 1 << 20).expect("a file").len(), 1 << 20);
        fs::write(&path, vec![b'x'; (1 << 20) + 1]).expect("written");
        let refused = |path: &Path| read(path, 1 << 20).expect_err("refused").to_string();
        assert_eq!(refused(&path), "it is larger than 1 MiB");
        assert_eq!(refused(folder.path()), "it is a folder, not a file");
        assert_eq!(refused(Path::new("/dev/zero")), "it is a device, not a file");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        assert_eq!(refused(&pipe), "it is a named pipe, not a file");
    }
}
