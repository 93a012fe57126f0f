//! P4's Simple Test Framework.
