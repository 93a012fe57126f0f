//! Compiles our `.proto` text to Rust without `protoc`, and keeps the descriptors for the text format.

use std::error::Error;
use std::path::{Path, PathBuf};

use prost::Message as _;

const FILES: [&str; 5] = [
    "p4/config/v1/p4types.proto",
    "p4/config/v1/p4info.proto",
    "p4/v1/p4data.proto",
    "p4/v1/p4runtime.proto",
    "google/rpc/status.proto",
];

/// What Stratum wants beside P4Runtime.
const STRATUM: [&str; 2] = ["stratum/pipeline.proto", "stratum/chassis.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    compile(&FILES, &out, "descriptors.bin", "api.rs")?;
    compile(&STRATUM, &out, "stratum.bin", "stratum.rs")
}

fn compile(files: &[&str], out: &Path, descriptors: &str, rust: &str) -> Result<(), Box<dyn Error>> {
    let compiled = protox::compile(files, ["proto"])?;
    std::fs::write(out.join(descriptors), compiled.encode_to_vec())?;
    tonic_prost_build::configure().include_file(rust).compile_fds(compiled)?;
    Ok(())
}
