//! Holds citations and exceptions against the statements of a document.

use std::collections::BTreeMap;

use crate::citation::{Citation, Kind};
use crate::config::{Config, Scope};
use crate::document::Statement;

/// A document's statements with what cites and excepts them.
#[derive(Debug)]
pub struct Coverage<'a> {
    /// How the document is checked.
    pub config: &'a Config,
    /// Those that are required or cited, in the document's order.
    pub entries: Vec<Entry<'a>>,
    /// What is wrong, one line each.
    pub faults: Vec<String>,
    /// Faults that count only where the document is enforced.
    pub open: Vec<String>,
}

/// One statement.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The statement.
    pub statement: &'a Statement,
    /// Places in code.
    pub code: Vec<String>,
    /// Places in tests.
    pub tests: Vec<String>,
    /// Why something is not cited.
    pub exception: Option<(Scope, &'a str)>,
}

impl Entry<'_> {
    /// What is missing of it: code, test, both, or nothing.
    fn missing(&self) -> Option<&'static str> {
        let scope = self.exception.map(|(scope, _)| scope);
        let code = self.code.is_empty() && !matches!(scope, Some(Scope::Both | Scope::Code));
        let test = self.tests.is_empty() && !matches!(scope, Some(Scope::Both | Scope::Test));
        match (code, test) {
            (true, true) => Some("no citation and no exception"),
            (true, false) => Some("no citation in code"),
            (false, true) => Some("no citation in a test"),
            (false, false) => None,
        }
    }
}

/// How many requirements there are, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cited in code and in a test.
    pub cited: usize,
    /// Excepted, wholly or in part.
    pub excepted: usize,
    /// Neither.
    pub open: usize,
}

impl Coverage<'_> {
    /// Counts the required statements.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for entry in self.entries.iter().filter(|entry| entry.statement.is_required()) {
            match (entry.missing(), entry.exception) {
                (Some(_), _) => counts.open += 1,
                (None, Some(_)) => counts.excepted += 1,
                (None, None) => counts.cited += 1,
            }
        }
        counts
    }
}

/// Compares.
pub fn check<'a>(config: &'a Config, statements: &'a [Statement], citations: &[Citation]) -> Coverage<'a> {
    let mut faults = Vec::new();
    let known: BTreeMap<&str, &Statement> = statements.iter().map(|s| (s.hash.as_str(), s)).collect();
    let mut places: BTreeMap<(&str, Kind), Vec<String>> = BTreeMap::new();
    for citation in citations.iter().filter(|citation| citation.document == config.name) {
        let at = format!("{}:{}", citation.file, citation.line);
        let Some(statement) = known.get(citation.hash.as_str()) else {
            faults.push(format!("{at}: {} has no statement {}", config.name, citation.hash));
            continue;
        };
        if statement.heading != citation.heading {
            faults.push(format!(
                "{at}: {} stands under `{}`, not `{}`",
                citation.hash, statement.heading, citation.heading
            ));
        }
        let list = places.entry((statement.hash.as_str(), citation.kind)).or_default();
        let place = citation.place();
        if !list.contains(&place) {
            list.push(place);
        }
    }
    let mut exceptions = config.exceptions();
    for hash in exceptions.keys().filter(|hash| !known.contains_key(*hash)) {
        faults.push(format!("exception: {} has no statement {hash}", config.name));
    }
    let mut entries = Vec::new();
    let mut open = Vec::new();
    for statement in statements {
        let mut take = |kind| places.remove(&(statement.hash.as_str(), kind)).unwrap_or_default();
        let (code, tests) = (take(Kind::Code), take(Kind::Test));
        let exception = exceptions.remove(statement.hash.as_str());
        let exception = exception.map(|exception| (exception.scope, exception.reason.as_str()));
        if !statement.is_required() && code.is_empty() && tests.is_empty() {
            continue;
        }
        let entry = Entry { statement, code, tests, exception };
        let name = format!("{} {} ({})", config.name, statement.hash, statement.heading);
        if let Some(missing) = entry.missing().filter(|_| statement.is_required()) {
            open.push(format!("{name}: {missing}"));
        }
        let needless = match exception {
            Some((Scope::Both, _)) => !entry.code.is_empty() || !entry.tests.is_empty(),
            Some((Scope::Code, _)) => !entry.code.is_empty(),
            Some((Scope::Test, _)) => !entry.tests.is_empty(),
            None => false,
        };
        if needless {
            faults.push(format!("{name}: cited, and excepted from it"));
        }
        entries.push(entry);
    }
    Coverage { config, entries, faults, open }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;

    const TEXT: &str = "It MUST hold.\nIt MAY fold.\nIt is old.";

    fn citation(kind: Kind, hash: &str) -> Citation {
        Citation {
            kind,
            document: "DOC".into(),
            heading: String::new(),
            hash: hash.into(),
            file: "a.rs".into(),
            line: 7,
            item: "f".into(),
        }
    }

    fn config(exceptions: &str) -> Config {
        Config::parse(&format!("name: DOC\nfile: doc.txt\nenforced: true\n{exceptions}")).unwrap()
    }

    #[test]
    fn a_requirement_needs_code_and_test_or_a_reason() {
        let statements = document::split(TEXT, &[], &[]).unwrap();
        let [must, may, _] = statements.as_slice() else { panic!() };
        let none = config("");
        let coverage = check(&none, &statements, &[citation(Kind::Code, &must.hash)]);
        assert_eq!(coverage.open.len(), 2);
        assert!(coverage.open[0].ends_with("no citation in a test"));
        assert_eq!(coverage.counts(), Counts { cited: 0, excepted: 0, open: 2 });
        let both = [citation(Kind::Code, &must.hash), citation(Kind::Test, &must.hash)];
        let excepted = config(&format!("exceptions: [{{ hashes: ['{}'], reason: why }}]", may.hash));
        let coverage = check(&excepted, &statements, &both);
        assert_eq!(coverage.counts(), Counts { cited: 1, excepted: 1, open: 0 });
        assert!(coverage.open.is_empty() && coverage.faults.is_empty());
        let partly =
            config(&format!("exceptions: [{{ hashes: ['{}'], scope: test, reason: why }}]", may.hash));
        let coverage = check(&partly, &statements, &both);
        assert!(coverage.open[0].ends_with("no citation in code"), "{:?}", coverage.open);
    }

    #[test]
    fn an_unknown_hash_a_wrong_heading_and_a_needless_exception_are_faults() {
        let statements = document::split(TEXT, &[], &[]).unwrap();
        let mut wrong = citation(Kind::Code, &statements[0].hash);
        wrong.heading = "Elsewhere".into();
        let excepted = config(&format!(
            "exceptions: [{{ hashes: ['{}', '00000000'], reason: why }}]",
            statements[0].hash
        ));
        let coverage = check(&excepted, &statements, &[citation(Kind::Code, "ffffffff"), wrong]);
        assert_eq!(coverage.faults.len(), 4, "{:?}", coverage.faults);
    }

    #[test]
    fn a_statement_without_key_word_is_listed_when_cited() {
        let statements = document::split(TEXT, &[], &[]).unwrap();
        let none = config("");
        assert_eq!(check(&none, &statements, &[]).entries.len(), 2);
        assert_eq!(check(&none, &statements, &[citation(Kind::Code, &statements[2].hash)]).entries.len(), 3);
    }
}
