//! What is wrong with a file, where, and what would be right.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity, SourceSpan,
};

/// A place in the file: octet offset and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First octet.
    pub start: usize,
    /// How many octets.
    pub len: usize,
}

impl From<Span> for SourceSpan {
    fn from(span: Span) -> Self {
        Self::new(span.start.into(), span.len)
    }
}

/// One error or warning about a topology file.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Stable name of the kind of problem, such as `topology::unknown_node`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
    /// The places, the first being the one that is wrong, each with what is said about it.
    pub places: Vec<(Span, String)>,
    /// Whether the file is accepted all the same.
    pub warning: bool,
    source: Option<Arc<NamedSource<String>>>,
}

impl Problem {
    /// An error without a place yet.
    pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, places: Vec::new(), warning: false, source: None }
    }

    /// A warning without a place yet.
    pub(crate) fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { warning: true, ..Self::error(code, message) }
    }

    /// Adds a place.
    pub(crate) fn at(mut self, span: Span, label: impl Into<String>) -> Self {
        self.places.push((span, label.into()));
        self
    }

    /// Says what would be right.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn in_source(mut self, source: &Arc<NamedSource<String>>) -> Self {
        self.source = Some(Arc::clone(source));
        self
    }

    /// The line of the first place, counted from 1; `None` if the problem isn't about a place.
    pub fn line(&self) -> Option<usize> {
        let (span, _) = self.places.first()?;
        let text = self.source.as_ref()?.inner();
        Some(text.as_bytes().iter().take(span.start).filter(|octet| **octet == b'\n').count() + 1)
    }

    /// The column of the first place, in characters from 1; `None` if the problem isn't about a place.
    pub fn column(&self) -> Option<usize> {
        let (span, _) = self.places.first()?;
        let text = self.source.as_ref()?.inner();
        let before = text.get(..span.start)?;
        Some(before.chars().rev().take_while(|c| *c != '\n').count() + 1)
    }

    /// The problem as text, `width` columns wide: the line, what is underlined, the hint.
    pub fn render(&self, width: usize, color: bool) -> String {
        render(self, width, color)
    }
}

/// Two problems are the same if they say the same; the file they stand in doesn't count.
impl PartialEq for Problem {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
            && self.message == other.message
            && self.hint == other.hint
            && self.places == other.places
            && self.warning == other.warning
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<Severity> {
        Some(if self.warning { Severity::Warning } else { Severity::Error })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_ref().map(|source| source.as_ref() as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.places.is_empty() {
            return None;
        }
        Some(Box::new(self.places.iter().enumerate().map(|(index, (span, label))| {
            let label = Some(label.clone()).filter(|label| !label.is_empty());
            if index == 0 {
                LabeledSpan::new_primary_with_span(label, *span)
            } else {
                LabeledSpan::new_with_span(label, *span)
            }
        })))
    }
}

/// So many problems of a file are shown: each shows a place in it, and who has more wrong mends those first.
pub const SHOWN: usize = 500;

/// Everything that is wrong with a topology file, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyErrors {
    /// The file's name as it was given.
    pub file: String,
    /// The errors; never empty.
    pub errors: Vec<Problem>,
    /// Warnings that were found besides.
    pub warnings: Vec<Problem>,
}

impl TopologyErrors {
    /// All errors and warnings as text, `width` columns wide, with a last line that counts them.
    pub fn render(&self, width: usize, color: bool) -> String {
        let mut text = String::new();
        for problem in self.errors.iter().chain(&self.warnings).take(SHOWN) {
            text.push_str(&problem.render(width, color));
            text.push('\n');
        }
        let more = (self.errors.len() + self.warnings.len()).saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "and {more} more");
        }
        text.push_str(&self.to_string());
        text.push('\n');
        text
    }
}

impl fmt::Display for TopologyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.errors.len() == 1 { "error" } else { "errors" };
        write!(f, "{}: {} {plural}; nothing was changed", self.file, self.errors.len())
    }
}

impl std::error::Error for TopologyErrors {}

impl Diagnostic for TopologyErrors {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.errors.iter().chain(&self.warnings).map(|problem| problem as &dyn Diagnostic)))
    }
}

fn render(problem: &dyn Diagnostic, width: usize, color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler =
        GraphicalReportHandler::new_themed(theme).with_width(width).with_links(false).with_context_lines(1);
    let mut text = String::new();
    // Writing into a `String` fails only if the handler itself does; then the bare message must do.
    if handler.render_report(&mut text, problem).is_err() {
        text = problem.to_string();
    }
    text
}
