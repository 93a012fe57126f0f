//! Splits a document into its sentences and table rows, each known by a short hash.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::config::Heading;

/// The key words of BCP 14, the longer ones first so that `MUST NOT` is not read as `MUST`.
const KEY_WORDS: [&str; 11] = [
    "MUST NOT",
    "SHALL NOT",
    "SHOULD NOT",
    "NOT RECOMMENDED",
    "MUST",
    "SHALL",
    "SHOULD",
    "RECOMMENDED",
    "REQUIRED",
    "MAY",
    "OPTIONAL",
];

/// What a table row has in place of a key word.
pub const ROW: &str = "row";

/// Words that end in a full stop without ending a sentence.
const ABBREVIATIONS: [&str; 5] = ["e.g", "i.e", "al", "vs", "cf"];

/// One sentence or table row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The first eight hexadecimal digits of the SHA-256 of the text with its white space folded.
    pub hash: String,
    /// The heading it stands under.
    pub heading: String,
    /// Its key words, or [`ROW`]; empty for a statement that requires nothing by itself.
    pub key_words: String,
    /// The text; never written to a file.
    pub text: String,
}

impl Statement {
    /// Whether it has to be cited or excepted.
    pub fn is_required(&self) -> bool {
        !self.key_words.is_empty()
    }
}

/// A document that doesn't fit its configuration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// A heading of the configuration that isn't in the document behind the one before it.
    #[error(
        "heading `{0}` is not found behind the one before it; headings are listed in the document's order"
    )]
    Heading(String),
    /// Two different texts with one hash.
    #[error("`{0}` and `{1}` have the same hash; lengthen the hash")]
    Collision(String, String),
}

/// The statements of a document in its order, each text once. `more_words` are key words beside those of BCP 14.
///
/// # Errors
/// [`SplitError`] when a heading isn't found, or two texts share a hash.
pub fn split(text: &str, headings: &[Heading], more_words: &[String]) -> Result<Vec<Statement>, SplitError> {
    let words: Vec<&str> = KEY_WORDS.into_iter().chain(more_words.iter().map(String::as_str)).collect();
    let mut statements: Vec<Statement> = Vec::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut headings = headings.iter().peekable();
    let mut heading = String::new();
    let mut in_table = false;
    for (number, line) in text.lines().enumerate() {
        let mut line = line.trim();
        if let Some(title) = line.strip_prefix('#') {
            // Markdown names its own headings.
            title.trim_start_matches('#').trim().clone_into(&mut heading);
            continue;
        }
        if let Some(rest) = headings.peek().and_then(|next| next.opens(line, number + 1)) {
            line = rest;
            heading = headings.next().map(|next| next.name().to_owned()).unwrap_or_default();
        }
        // Columns are parted by tabs, or by bars in a Markdown table, whose second line is a rule.
        let row = line.contains('\t') || (line.len() > 1 && line.starts_with('|') && line.ends_with('|'));
        if row && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
            continue;
        }
        // The first row of a table names its columns.
        let is_header = row && !in_table;
        in_table = row;
        if is_header || line.is_empty() {
            continue;
        }
        let texts = if row { vec![fold(line)] } else { sentences(line) };
        for text in texts {
            let hash = hash(&text);
            match seen.insert(hash.clone(), text.clone()) {
                None => {
                    let key_words = if row { ROW.to_owned() } else { key_words(&text, &words) };
                    statements.push(Statement { hash, heading: heading.clone(), key_words, text });
                }
                Some(before) if before == text => {}
                Some(before) => return Err(SplitError::Collision(before, text)),
            }
        }
    }
    match headings.next() {
        Some(missing) => Err(SplitError::Heading(missing.name().to_owned())),
        None => Ok(statements),
    }
}

/// The sentences of a line without its bullet or number.
fn sentences(line: &str) -> Vec<String> {
    let line = line.trim_start_matches(['•', '-', '*', '¶', ' ']);
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let line = if digits > 0 { line[digits..].strip_prefix(". ").unwrap_or(line) } else { line };
    let mut found = Vec::new();
    let mut current: Vec<&str> = Vec::new();
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.next() {
        current.push(word);
        let bare = word.trim_end_matches(['"', ')', '¶']);
        let stops = bare.ends_with(['.', '!', '?']) && !ABBREVIATIONS.contains(&bare.trim_end_matches('.'));
        let opens = words.peek().is_none_or(|next| {
            next.trim_start_matches(['"', '(', '`'])
                .starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
        });
        if stops && opens {
            found.push(core::mem::take(&mut current).join(" "));
        }
    }
    if !current.is_empty() {
        found.push(current.join(" "));
    }
    found
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut hash = String::new();
    for octet in digest.iter().take(4) {
        // Writing to a String never fails.
        let _ = write!(hash, "{octet:02x}");
    }
    hash
}

/// The key words of a sentence, each once, in its order.
fn key_words(text: &str, words: &[&str]) -> String {
    let mut found: Vec<&str> = Vec::new();
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut rest = text;
    let mut before = None;
    while !rest.is_empty() {
        let word = words.iter().find(|word| {
            !is_letter(before)
                && rest.strip_prefix(**word).is_some_and(|behind| !is_letter(behind.chars().next()))
        });
        let step = match word {
            Some(word) => {
                if !found.contains(word) {
                    found.push(word);
                }
                word.len()
            }
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        before = rest[..step].chars().next_back();
        rest = &rest[step..];
    }
    found.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(names: &[&str]) -> Vec<Heading> {
        names.iter().map(|name| Heading::Name((*name).to_owned())).collect()
    }

    const TEXT: &str = "First Part The box MUST be shut. It MAY be red, e.g. Crimson.\n\n\
        1. MUST NOT leak; and\n\
        • rests.\n\n\
        Second Part\n\nColour\tMeaning\nred\thot\nblue\tcold\n\nThe lid SHOULD fit and\tis no sentence.";

    #[test]
    fn sentences_and_rows_are_found_under_their_headings() {
        let statements = split(TEXT, &plain(&["First Part", "Second Part"]), &[]).unwrap();
        let seen: Vec<_> =
            statements.iter().map(|s| (s.heading.as_str(), s.key_words.as_str(), s.text.as_str())).collect();
        assert_eq!(
            seen,
            [
                ("First Part", "MUST", "The box MUST be shut."),
                ("First Part", "MAY", "It MAY be red, e.g. Crimson."),
                ("First Part", "MUST NOT", "MUST NOT leak; and"),
                ("First Part", "", "rests."),
                ("Second Part", "row", "red hot"),
                ("Second Part", "row", "blue cold"),
            ]
        );
    }

    #[test]
    fn rows_of_markdown_tables_are_found_and_bars_of_a_drawing_are_not() {
        let text = "| Colour | Meaning |\n| --- | :-: |\n| red | hot |\n| blue | cold. |\n\n| |\n|\n| A | B |\n| a | b |";
        let statements = split(text, &[], &[]).unwrap();
        let rows: Vec<_> =
            statements.iter().filter(|s| s.key_words == ROW).map(|s| s.text.as_str()).collect();
        assert_eq!(rows, ["| red | hot |", "| blue | cold. |", "| a | b |"]);
    }

    #[test]
    fn white_space_does_not_change_a_hash_and_a_letter_does() {
        let hash = |text: &str| split(text, &[], &[]).unwrap()[0].hash.clone();
        assert_eq!(hash("It MUST  hold."), hash("  It MUST hold. "));
        assert_ne!(hash("It MUST hold."), hash("It MUST bold."));
        assert_eq!(hash("It MUST hold.").len(), 8);
    }

    #[test]
    fn key_words_are_whole_words_in_capitals() {
        assert_eq!(key_words("It must, MUSTARD, not MUST-have", &KEY_WORDS), "MUST");
        assert_eq!(
            key_words("MUST NOT and MUST and MUST NOT, OPTIONAL.", &KEY_WORDS),
            "MUST NOT, MUST, OPTIONAL"
        );
    }

    #[test]
    fn a_document_may_have_key_words_of_its_own() {
        let words = ["must not".to_owned(), "must".to_owned()];
        let statements = split("It must hold. It must not leak. It is red.", &[], &words).unwrap();
        let seen: Vec<_> = statements.iter().map(|s| s.key_words.as_str()).collect();
        assert_eq!(seen, ["must", "must not", ""]);
    }

    #[test]
    fn a_heading_that_is_missing_or_out_of_order_is_an_error() {
        let error = split(TEXT, &plain(&["Second Part", "First Part"]), &[]).unwrap_err();
        assert_eq!(error, SplitError::Heading("First Part".into()));
    }

    #[test]
    fn markdown_headings_and_headings_by_line_work() {
        let statements = split("# One\nIt MUST.\n## Two\nIt MAY.", &[], &[]).unwrap();
        assert_eq!([&statements[0].heading, &statements[1].heading], ["One", "Two"]);
        let by_line = [Heading::At { name: "Here".into(), line: 2 }];
        let statements = split("It MUST.\nIt MAY.", &by_line, &[]).unwrap();
        assert_eq!([&statements[0].heading, &statements[1].heading], ["", "Here"]);
    }
}
