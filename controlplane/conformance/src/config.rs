//! The configuration of one document: `docs/conformance/<document>.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How one document is checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The name that citations use, for example `RDCC`.
    pub name: String,
    /// The document's file in the directory of the documents.
    pub file: String,
    /// Whether a requirement without citation or exception fails the checks.
    #[serde(default)]
    pub enforced: bool,
    /// The document's headings in its order; a Markdown document needs none.
    #[serde(default)]
    pub headings: Vec<Heading>,
    /// Key words beside those of BCP 14, for a document that doesn't write in capitals; the longer ones first.
    #[serde(default)]
    pub key_words: Vec<String>,
    /// Requirements that need no citation, and why.
    #[serde(default)]
    pub exceptions: Vec<Exception>,
}

/// A heading: by the words that its paragraph starts with, or by the line where it was lost.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Heading {
    /// The words at the start of a line.
    Name(String),
    /// For a document that lost its headings.
    At {
        /// Our name for it.
        name: String,
        /// The line, from 1, from which on it holds.
        line: usize,
    },
}

impl Heading {
    /// The heading's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::At { name, .. } => name,
        }
    }

    /// If this heading starts at `line` with this number: the rest of the line behind it.
    pub fn opens<'a>(&self, text: &'a str, line: usize) -> Option<&'a str> {
        match self {
            Self::Name(name) => {
                let rest = text.strip_prefix(name.as_str())?;
                (rest.is_empty() || rest.starts_with(' ')).then_some(rest)
            }
            Self::At { line: start, .. } => (line == *start).then_some(text),
        }
    }
}

/// Requirements that are met without being cited, or not met on purpose.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The requirements.
    pub hashes: Vec<String>,
    /// What needs no citation.
    #[serde(default)]
    pub scope: Scope,
    /// Why: one sentence for a reader of the list.
    pub reason: String,
}

/// What an exception is from.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Neither code nor test cites it.
    #[default]
    Both,
    /// Only a test cites it.
    Code,
    /// Only code cites it.
    Test,
}

/// Exceptions by hash.
pub type Exceptions<'a> = BTreeMap<&'a str, &'a Exception>;

impl Config {
    /// Reads the text of a configuration.
    ///
    /// # Errors
    /// What `serde` says, with the place.
    pub fn parse(text: &str) -> Result<Self, serde_saphyr::Error> {
        serde_saphyr::from_str(text)
    }

    /// The exceptions by hash.
    pub fn exceptions(&self) -> Exceptions<'_> {
        self.exceptions
            .iter()
            .flat_map(|exception| exception.hashes.iter().map(move |hash| (hash.as_str(), exception)))
            .collect()
    }
}
