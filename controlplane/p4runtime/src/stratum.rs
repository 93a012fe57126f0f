//! Stratum's own messages: a Tofino's device configuration ([`BfPipelineConfig`]) and the chassis' ([`ChassisConfig`]).

use prost::Message as _;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{DescriptorPool, DynamicMessage};

pub use messages::stratum::hal::barefoot::{BfPipelineConfig, bf_pipeline_config};
pub use messages::stratum::hal::*;

use crate::p4info::TextError;

#[expect(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    reason = "generated; the .proto files carry what there is to say"
)]
mod messages {
    include!(concat!(env!("OUT_DIR"), "/stratum.rs"));
}

/// A chassis configuration in protobuf's text format, as Stratum reads it when it starts.
///
/// # Errors
/// [`TextError::Descriptors`] only.
pub fn chassis_text(chassis: &ChassisConfig) -> Result<String, TextError> {
    let octets: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stratum.bin"));
    let unusable = |error: &dyn std::fmt::Display| TextError::Descriptors(error.to_string());
    let pool = DescriptorPool::decode(octets).map_err(|error| unusable(&error))?;
    let descriptor =
        pool.get_message_by_name("stratum.hal.ChassisConfig").ok_or_else(|| unusable(&"no ChassisConfig"))?;
    let message = DynamicMessage::decode(descriptor, chassis.encode_to_vec().as_slice())
        .map_err(|error| unusable(&error))?;
    Ok(message.to_text_format_with_options(&FormatOptions::new().pretty(true)))
}
