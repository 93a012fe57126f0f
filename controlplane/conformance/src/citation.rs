//! Finds citations in source files.
//!
//! ```text
//! //= RDCC, Receiver Credit Budget: 1a2b3c4d 5e6f7a8b      at the code
//! //~ RDCC, Receiver Credit Budget: 1a2b3c4d               at the test that proves it
//! ```

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Directories that hold no source of ours.
const SKIPPED: [&str; 4] = ["target", "out", "docs", "node_modules"];

/// Extensions of files that may hold citations.
const EXTENSIONS: [&str; 4] = ["rs", "p4", "py", "lua"];

/// Whether code or a test cites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `//=`: this does it.
    Code,
    /// `//~`: this proves it.
    Test,
}

/// One hash of one citation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Code or test.
    pub kind: Kind,
    /// The document's name as the citation writes it.
    pub document: String,
    /// The heading.
    pub heading: String,
    /// The hash.
    pub hash: String,
    /// The file, from the root of the repository.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The function or item it belongs to; empty when none was recognised.
    pub item: String,
}

impl Citation {
    /// File and item, for a list that doesn't change whenever lines move.
    pub fn place(&self) -> String {
        if self.item.is_empty() { self.file.clone() } else { format!("{}: {}", self.file, self.item) }
    }
}

/// A line that looks like a citation and isn't one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Where: file and line.
    pub place: String,
}

/// All citations under `root`, in the order of their files and lines.
///
/// # Errors
/// When a directory or a file can't be read.
pub fn scan(root: &Path) -> io::Result<(Vec<Citation>, Vec<Malformed>)> {
    let mut files = Vec::new();
    walk(root, &mut files)?;
    files.sort();
    let (mut citations, mut malformed) = (Vec::new(), Vec::new());
    for file in files {
        let text = fs::read_to_string(&file)?;
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        citations_of(&name, &text, &mut citations, &mut malformed);
    }
    Ok((citations, malformed))
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_ref()) {
                walk(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
    Ok(())
}

fn citations_of(file: &str, text: &str, citations: &mut Vec<Citation>, malformed: &mut Vec<Malformed>) {
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let line = line.trim_start();
        let (kind, rest) = match (marked(line, '='), marked(line, '~')) {
            (Some(rest), _) => (Kind::Code, rest),
            (_, Some(rest)) => (Kind::Test, rest),
            _ => continue,
        };
        let parts = rest.split_once(", ").and_then(|(document, rest)| {
            // A heading may have commas and colons, hashes have neither.
            rest.rsplit_once(": ").map(|(heading, hashes)| (document.trim(), heading.trim(), hashes))
        });
        let is_hash = |hash: &str| hash.len() == 8 && hash.chars().all(|c| c.is_ascii_hexdigit());
        match parts {
            Some((document, heading, hashes)) if hashes.split_whitespace().all(is_hash) => {
                citations.extend(hashes.split_whitespace().map(|hash| Citation {
                    kind,
                    document: document.to_owned(),
                    heading: heading.to_owned(),
                    hash: hash.to_owned(),
                    file: file.to_owned(),
                    line: index + 1,
                    item: item(&lines, index),
                }));
            }
            _ => malformed.push(Malformed { place: format!("{file}:{}", index + 1) }),
        }
    }
}

/// What stands behind the marker `//=` or `#=` (with `~` for tests) and a space.
fn marked(line: &str, sign: char) -> Option<&str> {
    let rest =
        line.strip_prefix("//").or_else(|| line.strip_prefix("--")).or_else(|| line.strip_prefix('#'))?;
    rest.strip_prefix(sign)?.strip_prefix(' ')
}

/// The item that a citation stands before, or stands in.
fn item(lines: &[&str], index: usize) -> String {
    let is_aside = |line: &str| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with("//") || line.starts_with('#')
    };
    let next = lines[index..].iter().find(|line| !is_aside(line));
    if let Some(name) = next.and_then(|line| defined(line)) {
        return name.to_owned();
    }
    lines[..index]
        .iter()
        .rev()
        .find_map(|line| defined(line).filter(|_| starts_item(line)))
        .unwrap_or("")
        .to_owned()
}

fn starts_item(line: &str) -> bool {
    ["fn ", "control ", "parser ", "def "].iter().any(|word| {
        let line = line.trim_start();
        line.starts_with(word) || line.contains(&format!(" {word}"))
    })
}

/// The name that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let definers = [
        "fn", "struct", "enum", "const", "trait", "mod", "type", "control", "parser", "table", "action",
        "def",
    ];
    while let Some(word) = words.next() {
        if definers.contains(&word) {
            let name = words.next()?;
            let name = if name == "fn" { words.next()? } else { name };
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            return (end > 0).then(|| &name[..end]);
        }
        // Only what may stand before a definition.
        let leads = word.starts_with("pub")
            || word.starts_with('@')
            || ["async", "unsafe", "extern", "in"].contains(&word);
        if !leads && !word.ends_with(')') {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `@` stands for `//`, so that these lines are no citations themselves.
    const TEXT: &str = "\
        @= RDCC, MSG_DONE, CANCEL, and ERROR: 1a2b3c4d 00000000\n\
        /// Does it.\n\
        pub(super) const fn does_it() {\n\
            @~ CREM, Here: ffffffff\n\
            let x = 1;\n\
            @= RDCC, Here 1a2b3c4d\n\
            @= RDCC, Here: 1a2b3c4\n\
        }\n";

    #[test]
    fn citations_name_document_heading_hash_and_item() {
        let (mut citations, mut malformed) = (Vec::new(), Vec::new());
        citations_of("a.rs", &TEXT.replace('@', "//"), &mut citations, &mut malformed);
        let seen: Vec<_> = citations
            .iter()
            .map(|c| {
                (c.kind, c.document.as_str(), c.heading.as_str(), c.hash.as_str(), c.line, c.item.as_str())
            })
            .collect();
        let heading = "MSG_DONE, CANCEL, and ERROR";
        assert_eq!(
            seen,
            [
                (Kind::Code, "RDCC", heading, "1a2b3c4d", 1, "does_it"),
                (Kind::Code, "RDCC", heading, "00000000", 1, "does_it"),
                (Kind::Test, "CREM", "Here", "ffffffff", 4, "does_it"),
            ]
        );
        let places: Vec<_> = malformed.iter().map(|m| m.place.as_str()).collect();
        assert_eq!(places, ["a.rs:6", "a.rs:7"]);
    }
}
