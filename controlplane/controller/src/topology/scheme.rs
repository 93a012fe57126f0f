//! The schemes that a workload compares.

/// What endpoints do about congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Line rate and go-back-N: nobody slows down for anything.
    None,
    /// RDCC's budget and grants, deaf to ECN, delay and reports.
    Rdcc,
    /// RDCC's budget and grants, and the switches' reports heard.
    RdccCrn,
    /// DCQCN: rates cut by CNPs.
    Dcqcn,
    /// DCQCN, and the switches' Rate Advice as a bound besides (SCONE, Solution 1).
    DcqcnAdvice,
    /// DCQCN, and as a bound besides the Rate Signal that switches lower and receivers return (SCONE, Solution 2).
    DcqcnSignal,
    /// Byte windows in front of posts, moved by the switches' reports.
    Admission,
    /// DCQCN behind those windows, which CNPs move too.
    DcqcnAdmission,
    /// RDCC's credit in front of those windows, which lower grants move too.
    RdccAdmission,
    /// CREM's functions at both hosts, under go-back-N: packets behind a gap are held.
    Crem,
    /// The same under selective repeat: all packets pass.
    CremPass,
}

impl Scheme {
    /// What is compared where the file says nothing.
    pub const DEFAULT: [Self; 3] = [Self::None, Self::Rdcc, Self::RdccCrn];

    /// The name in the file, on the command line and in the figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rdcc => "rdcc",
            Self::RdccCrn => "rdcc+crn",
            Self::Dcqcn => "dcqcn",
            Self::DcqcnAdvice => "dcqcn+advice",
            Self::DcqcnSignal => "dcqcn+signal",
            Self::Admission => "admission",
            Self::DcqcnAdmission => "dcqcn+admission",
            Self::RdccAdmission => "rdcc+crn+admission",
            Self::Crem => "crem",
            Self::CremPass => "crem+pass",
        }
    }

    /// Whether messages wait for credit.
    pub const fn uses_credit(self) -> bool {
        matches!(self, Self::Rdcc | Self::RdccCrn | Self::RdccAdmission)
    }

    /// Whether endpoints act on `CONGESTION_REPORT`s.
    pub const fn hears_reports(self) -> bool {
        matches!(self, Self::RdccCrn) || self.uses_admission()
    }

    /// Whether rates follow CNPs.
    pub const fn uses_dcqcn(self) -> bool {
        matches!(self, Self::Dcqcn | Self::DcqcnAdvice | Self::DcqcnSignal | Self::DcqcnAdmission)
    }

    /// Whether senders take Rate Advice.
    pub const fn takes_advice(self) -> bool {
        matches!(self, Self::DcqcnAdvice)
    }

    /// Whether data carries a Rate Signal, and senders take what receivers return of it.
    pub const fn takes_signals(self) -> bool {
        matches!(self, Self::DcqcnSignal)
    }

    /// Whether hosts protect their packets with CREM.
    pub const fn uses_crem(self) -> bool {
        matches!(self, Self::Crem | Self::CremPass)
    }

    /// Whether posts wait for byte-window admission.
    pub const fn uses_admission(self) -> bool {
        matches!(self, Self::Admission | Self::DcqcnAdmission | Self::RdccAdmission)
    }
}
