//! The P4Runtime API and a client.
