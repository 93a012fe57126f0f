//! P4Info in protobuf's text format, as `p4c --p4runtime-files *.p4info.txtpb` writes it.
//!
//! The format needs the message descriptors at run time; those of our own `.proto` text are embedded.

use std::sync::OnceLock;

use prost::Message as _;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

use crate::p4::config::v1::P4Info;

/// Why a text is not a P4Info.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The text breaks the format or names a field that P4Info lacks; says the offending place.
    #[error("not a P4Info in text format: {0}")]
    Syntax(String),
    /// The embedded descriptors can't be used. A fault of this build, never of the text.
    #[error("the embedded P4Runtime descriptors are unusable: {0}")]
    Descriptors(String),
}

/// Reads a P4Info from protobuf's text format.
///
/// # Errors
/// [`TextError::Syntax`] with the place of the first fault.
pub fn parse_text(text: &str) -> Result<P4Info, TextError> {
    let message = DynamicMessage::parse_text_format(descriptor()?, text)
        .map_err(|error| TextError::Syntax(error.to_string()))?;
    message.transcode_to().map_err(|error| TextError::Syntax(error.to_string()))
}

/// Prints a P4Info in protobuf's text format, one field a line.
///
/// # Errors
/// [`TextError::Descriptors`] only.
pub fn to_text(info: &P4Info) -> Result<String, TextError> {
    let message = DynamicMessage::decode(descriptor()?, info.encode_to_vec().as_slice())
        .map_err(|error| TextError::Descriptors(error.to_string()))?;
    Ok(message.to_text_format_with_options(&FormatOptions::new().pretty(true)))
}

/// All messages of the API for dynamic use.
///
/// # Errors
/// [`TextError::Descriptors`] only.
pub fn descriptor_pool() -> Result<DescriptorPool, TextError> {
    static POOL: OnceLock<Result<DescriptorPool, String>> = OnceLock::new();
    let octets: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
    POOL.get_or_init(|| DescriptorPool::decode(octets).map_err(|error| error.to_string()))
        .clone()
        .map_err(TextError::Descriptors)
}

fn descriptor() -> Result<MessageDescriptor, TextError> {
    descriptor_pool()?
        .get_message_by_name("p4.config.v1.P4Info")
        .ok_or_else(|| TextError::Descriptors("no p4.config.v1.P4Info".to_owned()))
}
