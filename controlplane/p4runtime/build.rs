//! Compiles our `.proto` text to Rust without `protoc`, and keeps the descriptors for the text format.

use std::error::Error;
use std::path::PathBuf;

use prost::Message as _;

const FILES: [&str; 5] = [
    "p4/config/v1/p4types.proto",
    "p4/config/v1/p4info.proto",
    "p4/v1/p4data.proto",
    "p4/v1/p4runtime.proto",
    "google/rpc/status.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().include_file("api.rs").compile_fds(descriptors)?;
    Ok(())
}
