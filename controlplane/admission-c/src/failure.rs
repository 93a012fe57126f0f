//! Errors as codes, the text of the last one, and the fence that no panic crosses.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use admission::{ConfigError, EnvironmentError, OpenError, PostError, TargetError};

use crate::types::adm_code;

/// A call that couldn't be done.
#[derive(Debug)]
pub(crate) struct Failure {
    code: adm_code,
    text: String,
}

impl Failure {
    pub(crate) fn new(code: adm_code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    pub(crate) fn null(what: &str) -> Self {
        Self::new(adm_code::ADM_NULL, format!("{what} is a null pointer; it must point to one"))
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let code = match error {
            OpenError::DevicesFull(_) | OpenError::RoutesFull(_) => adm_code::ADM_FULL,
            OpenError::NoSuchDevice | OpenError::NoSuchRoute => adm_code::ADM_HANDLE,
            OpenError::Port(_) => adm_code::ADM_ARGUMENT,
        };
        Self::new(code, error.to_string())
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Kind { .. } => Self::new(adm_code::ADM_TARGET, error.to_string()),
            TargetError::Unknown(error) => error.into(),
        }
    }
}

impl From<PostError> for Failure {
    fn from(error: PostError) -> Self {
        Self::new(adm_code::ADM_ARGUMENT, error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(adm_code::ADM_CONFIG, error.to_string())
    }
}

impl From<EnvironmentError> for Failure {
    fn from(error: EnvironmentError) -> Self {
        Self::new(adm_code::ADM_CONFIG, error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The text of this thread's last failure.
pub(crate) fn last() -> String {
    LAST.with_borrow(Clone::clone)
}

/// Runs `body`; its failure becomes a code and this thread's last text, and so does a panic.
pub(crate) fn fenced(body: impl FnOnce() -> Result<i32, Failure>) -> i32 {
    let (code, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(answer)) => return answer,
        Ok(Err(Failure { code, text })) => (code, text),
        Err(_) => (adm_code::ADM_PANIC, "a fault of this library; its standard error says where".to_owned()),
    };
    LAST.set(text);
    code as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let code = fenced(|| panic!("at the disco"));
        std::panic::set_hook(hook);
        assert_eq!(code, adm_code::ADM_PANIC as i32);
        assert!(last().starts_with("a fault of this library"));
        assert_eq!(fenced(|| Ok(7)), 7);
        assert_eq!(fenced(|| Err(Failure::null("`route`"))), adm_code::ADM_NULL as i32);
        assert_eq!(last(), "`route` is a null pointer; it must point to one");
    }
}
