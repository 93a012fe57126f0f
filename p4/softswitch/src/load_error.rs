//! Why a JSON can't be run.

/// Why a JSON can't be run. Nothing that a program asks for is ever ignored: what isn't supported is refused by name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct LoadError {
    /// Where in the JSON, as a path of names: `pipelines/ingress/tables/ipv4_route`.
    pub at: String,
    /// What is wrong there.
    pub problem: String,
}

impl LoadError {
    pub(crate) fn new(at: impl Into<String>, problem: impl Into<String>) -> LoadError {
        LoadError { at: at.into(), problem: problem.into() }
    }

    /// Puts an outer name before the path.
    pub(crate) fn within(mut self, outer: &str) -> LoadError {
        self.at = if self.at.is_empty() { outer.to_owned() } else { format!("{outer}/{}", self.at) };
        self
    }
}

/// Adds the outer name to the path of an error on its way up.
pub(crate) trait Within<T> {
    /// See [`LoadError::within`].
    fn within(self, outer: &str) -> Result<T, LoadError>;
}

impl<T> Within<T> for Result<T, LoadError> {
    fn within(self, outer: &str) -> Result<T, LoadError> {
        self.map_err(|e| e.within(outer))
    }
}
