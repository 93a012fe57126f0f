//! Encodings of RDCC, CREM, SCONE and RoCEv2: no I/O, no time.

pub mod units;
