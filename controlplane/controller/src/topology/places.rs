//! Where in its file each part of a topology stands, so that an entry on a switch leads back to a line.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use miette::NamedSource;

use super::{Problem, Span, Topology};

/// The part of a topology that something on a switch follows from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The DSCP map's entry of this codepoint.
    Dscp(u8),
    /// A switch.
    Switch(String),
    /// A host.
    Host(String),
    /// A link, by its index in [`Topology::links`].
    Link(usize),
    /// A queue profile.
    Profile(String),
    /// A policy: which list of `policies`, and its place there.
    Policy(&'static str, usize),
    /// What `domain.reports` says.
    Reports,
    /// A marked flow, by its place in `marking.flows`.
    MarkedFlow(usize),
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name as it was given.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The places of a topology's parts.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The file; none if the topology doesn't come from one.
    source: Option<Arc<NamedSource<String>>>,
    /// Offset of each line's first octet.
    lines: Vec<usize>,
    spans: BTreeMap<Origin, Span>,
}

/// Where the parts stand says nothing about what they are: a topology with another comment in it is the same.
impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Places {
    pub(super) fn note(&mut self, origin: Origin, span: Span) {
        self.spans.insert(origin, span);
    }

    /// Says which file the spans are of.
    pub(super) fn in_file(&mut self, name: &str, text: &str) {
        self.source = Some(Arc::new(NamedSource::new(name, text.to_owned())));
        self.lines = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, octet)| *octet == b'\n').map(|(at, _)| at + 1))
            .collect();
    }
}

impl Topology {
    /// Where a part of the topology stands; `None` if it doesn't come from a file.
    pub fn place(&self, origin: &Origin) -> Option<Place> {
        let span = self.places.spans.get(origin)?;
        let line = self.places.lines.partition_point(|start| *start <= span.start);
        (line > 0).then(|| Place { file: self.file().to_owned(), line })
    }

    /// The name of the file as it was given; empty if the topology doesn't come from one.
    pub fn file(&self) -> &str {
        self.places.source.as_ref().map_or("", |source| source.name())
    }

    /// An error about a part of a topology that was found only after it had been accepted, such as that a switch
    /// can't hold it.
    pub fn problem(&self, code: &'static str, message: &str, origin: &Origin, hint: &str) -> Problem {
        let mut problem = Problem::error(code, message).hint(hint);
        if let Some(span) = self.places.spans.get(origin) {
            problem = problem.at(*span, "");
        }
        match &self.places.source {
            Some(source) => problem.in_source(source),
            None => problem,
        }
    }
}
