//! The file as a tree in which every key and value knows its place.
//!
//! Deserialising straight into structs would stop at the first error; the tree lets the checks go on and
//! report everything at once.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, Location, Spanned};

use super::{Problem, Span};

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub span: Span,
    pub value: Value,
}

/// A key and its place.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub span: Span,
    pub text: String,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    /// As written in the file, so that `052` or `1e3` can be quoted back; quotes and escapes resolved.
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

impl Node {
    /// What the value is, for "expected ..., found ...".
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Scalar(_) => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// Parses YAML text.
///
/// # Errors
/// The one syntax error that stops the parser.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let options = serde_saphyr::options! {
        // Repeated keys are reported by the decoder, all of them and with both places.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        with_snippet: false,
    };
    let tree: Option<Spanned<Raw>> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| syntax_error(text, &error))?;
    Ok(match tree {
        Some(tree) => build(text, tree),
        None => Node { span: Span::default(), value: Value::Null },
    })
}

fn syntax_error(text: &str, error: &serde_saphyr::Error) -> Problem {
    let span = error.location().map(|location| error_place(text, location)).unwrap_or_default();
    if matches!(error.without_snippet(), serde_saphyr::Error::MultipleDocuments { .. }) {
        return Problem::error("topology::yaml", "the file holds more than one YAML document")
            .at(widen(text, span), "the second starts here")
            .hint("a topology is one document: remove the `---` before this line");
    }
    if is_too_much(error.without_snippet()) {
        return Problem::error("topology::too_large", "the file expands to more than is read")
            .at(widen(text, span), "beyond the limit here")
            .hint(
                "aliases of what holds aliases multiply: write out what they stand for, or use `generate`",
            );
    }
    let (reason, hint) = in_words(plain_reason(&error.without_snippet().to_string()));
    Problem::error("topology::yaml", "this isn't valid YAML").at(widen(text, span), reason).hint(hint)
}

/// What the parser says, in words about the file rather than about the parser, and what would be right.
fn in_words(reason: String) -> (String, &'static str) {
    if reason.contains("tabs disallowed") {
        return ("a tab indents here".to_owned(), "indent with spaces");
    }
    if reason.contains("recursive references") {
        let hint = "an alias can't stand in what it stands for: write out what is meant here";
        return ("this stands for what it is a part of".to_owned(), hint);
    }
    if reason.starts_with("unexpected character: `\\u{") {
        return (
            "a control character stands here".to_owned(),
            "remove it; in double quotes it can be written as \\x07",
        );
    }
    if reason.starts_with("non-finite float") {
        return (
            "no value is infinite or not a number".to_owned(),
            "write a number with its unit; a name that reads like this goes in quotes",
        );
    }
    if reason.starts_with("cannot deserialize null") {
        return (
            "this is YAML's word for nothing, and a key must be a name".to_owned(),
            "write the key's name; one that reads like this goes in quotes",
        );
    }
    (reason, "check the indentation, the brackets and the quotes around this place")
}

/// Whether the parser stopped because there is too much, most often by aliases, rather than at a fault of the syntax.
fn is_too_much(error: &serde_saphyr::Error) -> bool {
    use serde_saphyr::Error;
    match error {
        Error::AliasError { error, .. } => is_too_much(error.without_snippet()),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => true,
        _ => false,
    }
}

/// Where the parser stopped. It gives octets only for values; for syntax errors, line and column.
fn error_place(text: &str, location: Location) -> Span {
    if location.span().byte_offset().is_some() {
        return place(text, location);
    }
    let line = usize::try_from(location.line().saturating_sub(1)).unwrap_or(usize::MAX);
    let column = usize::try_from(location.column().saturating_sub(1)).unwrap_or(usize::MAX);
    let Some(found) = text.split_inclusive('\n').nth(line) else {
        return Span { start: text.len(), len: 0 };
    };
    let start = text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
    let offset = found.char_indices().nth(column).map_or(found.trim_end().len(), |(offset, _)| offset);
    Span { start: start + offset, len: 0 }
}

/// The parser's reason without its own "at line, column", which the underlined place already says.
fn plain_reason(message: &str) -> String {
    let end = [" at line ", " at byte "].iter().filter_map(|mark| message.find(mark)).min();
    message[..end.unwrap_or(message.len())]
        .lines()
        .next()
        .unwrap_or("")
        .trim_end_matches([',', ':'])
        .to_owned()
}

/// A place of no length is drawn as nothing: give it one character, the one before if it stands at the end
/// of a line.
fn widen(text: &str, span: Span) -> Span {
    if span.len > 0 {
        return span;
    }
    if let Some(next) = text[span.start..].chars().next().filter(|next| *next != '\n') {
        return Span { start: span.start, len: next.len_utf8() };
    }
    let end = text[..span.start].trim_end();
    let last = end.chars().next_back().map_or(0, char::len_utf8);
    Span { start: end.len() - last, len: last }
}

/// Where something stands, in octets; a character boundary even if the parser's figure weren't one.
fn place(text: &str, location: Location) -> Span {
    let span = location.span();
    let start = usize::try_from(span.byte_offset().unwrap_or(0)).unwrap_or(0).min(text.len());
    let len = usize::try_from(span.byte_len().unwrap_or(0)).unwrap_or(0).min(text.len() - start);
    if text.is_char_boundary(start) && text.is_char_boundary(start + len) {
        Span { start, len }
    } else {
        Span::default()
    }
}

fn build(text: &str, tree: Spanned<Raw>) -> Node {
    let span = place(text, tree.referenced);
    // Numbers and booleans are taken as they stand in the file; an alias points elsewhere, to its definition.
    let written = place(text, tree.defined);
    let value = match tree.value {
        Raw::Null => Value::Null,
        Raw::Number => Value::Scalar(text[written.start..written.start + written.len].trim().to_owned()),
        Raw::Text(value) => Value::Scalar(value),
        Raw::List(items) => Value::List(items.into_iter().map(|item| build(text, item)).collect()),
        Raw::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| {
                    let key = Key { span: place(text, key.referenced), text: key.value };
                    (key, build(text, value))
                })
                .collect(),
        ),
    };
    Node { span: trimmed(text, span, &value), value }
}

/// Collections are underlined at their first character only: underlining all their lines says less.
fn trimmed(text: &str, span: Span, value: &Value) -> Span {
    match value {
        Value::Scalar(_) => {
            let written = text[span.start..span.start + span.len].trim_end();
            Span { start: span.start, len: written.len() }
        }
        _ => Span { start: span.start, len: text[span.start..].chars().next().map_or(0, char::len_utf8) },
    }
}

enum Raw {
    Null,
    /// Number or boolean; its text is taken from the file.
    Number,
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, a list or a mapping")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str, node: &Node) -> String {
        let at = &text[node.span.start..node.span.start + node.span.len];
        match &node.value {
            Value::Null => format!("null<{at}>"),
            Value::Scalar(value) => format!("{value}<{at}>"),
            Value::List(items) => {
                format!("[{}]", items.iter().map(|item| shape(text, item)).collect::<Vec<_>>().join(", "))
            }
            Value::Map(entries) => {
                let entries: Vec<_> = entries
                    .iter()
                    .map(|(key, value)| {
                        let at = &text[key.span.start..key.span.start + key.span.len];
                        format!("{}<{at}>: {}", key.text, shape(text, value))
                    })
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }

    #[test]
    fn keys_and_values_know_their_places() {
        let text = "a: 052\nä: {b: \"x y\", c: [1, true, ~]}\n1: 10kB # comment\nd:\n  - e: -5\n";
        let node = parse(text).expect("valid");
        assert_eq!(
            shape(text, &node),
            "{a<a>: 052<052>, ä<ä>: {b<b>: x y<\"x y\">, c<c>: [1<1>, true<true>, null<~>]}, \
             1<1>: 10kB<10kB>, d<d>: [{e<e>: -5<-5>}]}"
        );
    }

    #[test]
    fn repeated_keys_are_all_kept() {
        let text = "a: 1\na: 2\n";
        assert_eq!(shape(text, &parse(text).expect("valid")), "{a<a>: 1<1>, a<a>: 2<2>}");
    }

    #[test]
    fn aliases_are_underlined_where_they_are_used() {
        let text = "a: &x 7us\nb: *x\n";
        assert_eq!(shape(text, &parse(text).expect("valid")), "{a<a>: 7us<7us>, b<b>: 7us<*x>}");
    }

    #[test]
    fn no_document_is_nothing() {
        for text in ["", "\n\n", "# only a comment\n", "---\n"] {
            assert!(matches!(parse(text).expect("valid").value, Value::Null), "{text:?}");
        }
    }
}
