//! `crn decode`: one message, field by field.

use crate::output::say;
use clap::ValueEnum;
use miette::{IntoDiagnostic as _, Result, miette};
use wire::describe::{self, Description};

/// Arguments of `crn decode`.
#[derive(clap::Args)]
pub struct Args {
    /// Print a JSON object: integers as numbers, addresses as text
    #[arg(long)]
    json: bool,
    /// Which protocol the message belongs to
    #[arg(long, value_enum)]
    protocol: Protocol,
    /// The message's octets in hexadecimal, from the UDP payload's first; spaces and colons may separate them
    #[arg(required = true, value_name = "HEX")]
    hex: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Protocol {
    /// Receiver-Driven Credit Control
    Rdcc,
    /// The erasure-coded repair channel
    Crem,
    /// Rate advice: a datagram to the SCONE port, or a Rate Signal extension
    Scone,
    /// RoCEv2: a datagram to port 4791, from the base transport header to the ICRC
    Roce,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let octets = octets(&args.hex.join(" "))?;
    let description = describe(args.protocol, &octets)?;
    if args.json {
        let mut object = serde_json::Map::new();
        object.insert("message".to_owned(), description.message.into());
        if let serde_json::Value::Object(fields) = description.to_json() {
            object.extend(fields);
        }
        say!("{}", serde_json::to_string_pretty(&object).into_diagnostic()?);
    } else {
        say!("{description}");
    }
    Ok(())
}

fn describe(protocol: Protocol, octets: &[u8]) -> Result<Description> {
    match protocol {
        Protocol::Rdcc => describe::rdcc(octets).map_err(|error| miette!("not an RDCC message: {error}")),
        Protocol::Crem => describe::crem(octets).map_err(|error| miette!("not a CREM message: {error}")),
        Protocol::Scone => describe::scone(octets).map_err(|error| miette!("not a SCONE message: {error}")),
        Protocol::Roce => describe::roce(octets).map_err(|error| miette!("not a RoCEv2 packet: {error}")),
    }
}

/// Reads hexadecimal text. The position in an error counts characters from 1.
fn octets(text: &str) -> Result<Vec<u8>> {
    let text = text.strip_prefix("0x").unwrap_or(text);
    let mut digits = Vec::new();
    for (position, character) in text.chars().enumerate() {
        match character.to_digit(16) {
            #[expect(clippy::cast_possible_truncation, reason = "a hexadecimal digit is below 16")]
            Some(digit) => digits.push(digit as u8),
            None if character.is_whitespace() || character == ':' => {}
            None => {
                return Err(miette!(
                    "`{character}` at character {} is not a hexadecimal digit; write octets as 0-9, a-f, e.g. `10 04 00 28`",
                    position + 1
                ));
            }
        }
    }
    if digits.len() % 2 == 1 {
        return Err(miette!(
            "{} hexadecimal digits: an octet has two, so one is missing or too many",
            digits.len()
        ));
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_may_be_separated_by_spaces_and_colons() {
        assert_eq!(octets("0x10:04 00\n28").unwrap(), [0x10, 4, 0, 0x28]);
        assert_eq!(octets("").unwrap(), [0u8; 0]);
    }

    #[test]
    fn a_wrong_digit_is_named_with_its_place() {
        assert!(octets("10 0g").unwrap_err().to_string().contains("`g` at character 5"));
        assert!(octets("100").unwrap_err().to_string().contains("3 hexadecimal digits"));
    }
}
