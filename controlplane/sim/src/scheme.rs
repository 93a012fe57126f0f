//! What the endpoints do about congestion.

/// A way of sending that a run compares with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Line rate and go-back-N: nobody slows down for anything.
    None,
    /// RDCC's budget and grants, deaf to ECN, delay and reports.
    Rdcc,
    /// RDCC's budget and grants, and the switches' reports heard.
    RdccCrn,
}

impl Scheme {
    /// All schemes, in the order in which they are compared.
    pub const ALL: [Self; 3] = [Self::None, Self::Rdcc, Self::RdccCrn];

    /// The name on the command line and in the figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rdcc => "rdcc",
            Self::RdccCrn => "rdcc+crn",
        }
    }

    /// Whether messages wait for credit.
    pub const fn uses_credit(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Whether endpoints act on `CONGESTION_REPORT`s.
    pub const fn hears_reports(self) -> bool {
        matches!(self, Self::RdccCrn)
    }
}
