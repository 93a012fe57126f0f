//! Seeds for the machines' generators, which own no randomness.

use std::io::{self, Read as _};

/// From the system's secure source: nonces and Flow IDs mustn't be guessed (RDCC, Association Establishment; CREM, Security).
///
/// # Errors
/// The system's.
pub fn seed() -> io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut seed)?;
    Ok(seed)
}
