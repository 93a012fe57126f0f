//! The compiled program.
#![allow(unused_variables, clippy::unimplemented, clippy::unused_self)]

use std::sync::Arc;

use crate::control::{
    ActionId, ActionInfo, ArrayInfo, ControlError, CounterId, MeterId, ProfileId, ProfileInfo, RegisterId,
    TableId, TableInfo, ValueSetId, ValueSetInfo,
};

/// Why a JSON can't be run. Nothing that a program asks for is ever ignored: what isn't supported is refused by name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct LoadError {
    /// Where in the JSON, as a path of names: `pipelines/ingress/tables/ipv4_route`.
    pub at: String,
    /// What is wrong there.
    pub problem: String,
}

/// A compiled program: immutable, shared.
#[derive(Debug)]
pub struct Program {}

impl Program {
    /// Compiles the JSON that p4c writes for BMv2 (version 2.x, v1model).
    ///
    /// # Errors
    /// Not JSON, not such a JSON, or something in it isn't supported: see [`LoadError`].
    pub fn from_json(json: &[u8]) -> Result<Arc<Program>, LoadError> {
        unimplemented!()
    }

    /// Tables by index.
    pub fn tables(&self) -> &[TableInfo] {
        unimplemented!()
    }
    /// Actions by index.
    pub fn actions(&self) -> &[ActionInfo] {
        unimplemented!()
    }
    /// Action profiles by index.
    pub fn profiles(&self) -> &[ProfileInfo] {
        unimplemented!()
    }
    /// Indirect counter arrays by index.
    pub fn counters(&self) -> &[ArrayInfo] {
        unimplemented!()
    }
    /// Indirect meter arrays by index.
    pub fn meters(&self) -> &[ArrayInfo] {
        unimplemented!()
    }
    /// Register arrays by index.
    pub fn registers(&self) -> &[ArrayInfo] {
        unimplemented!()
    }
    /// Parser value sets by index.
    pub fn value_sets(&self) -> &[ValueSetInfo] {
        unimplemented!()
    }
    /// Names and widths of the fields of a digest, by the number the JSON gives the list (from 1).
    pub fn digest(&self, list: u32) -> Option<&DigestInfo> {
        unimplemented!()
    }
    /// Finds a table.
    ///
    /// # Errors
    /// No table, or several, of that name.
    pub fn table(&self, name: &str) -> Result<TableId, ControlError> {
        unimplemented!()
    }
    /// Finds an action of a table (or of its profile).
    ///
    /// # Errors
    /// No such table, or the table has no action, or several, of that name.
    pub fn table_action(&self, table: TableId, name: &str) -> Result<ActionId, ControlError> {
        unimplemented!()
    }
    /// Finds an action of a profile.
    ///
    /// # Errors
    /// No such profile, or its tables have no action, or several, of that name.
    pub fn profile_action(&self, profile: ProfileId, name: &str) -> Result<ActionId, ControlError> {
        unimplemented!()
    }
    /// Finds an action profile or selector.
    ///
    /// # Errors
    /// No profile, or several, of that name.
    pub fn profile(&self, name: &str) -> Result<ProfileId, ControlError> {
        unimplemented!()
    }
    /// Finds an indirect counter array.
    ///
    /// # Errors
    /// No counter, or several, of that name.
    pub fn counter(&self, name: &str) -> Result<CounterId, ControlError> {
        unimplemented!()
    }
    /// Finds an indirect meter array.
    ///
    /// # Errors
    /// No meter, or several, of that name.
    pub fn meter(&self, name: &str) -> Result<MeterId, ControlError> {
        unimplemented!()
    }
    /// Finds a register array.
    ///
    /// # Errors
    /// No register, or several, of that name.
    pub fn register(&self, name: &str) -> Result<RegisterId, ControlError> {
        unimplemented!()
    }
    /// Finds a parser value set.
    ///
    /// # Errors
    /// No value set, or several, of that name.
    pub fn value_set(&self, name: &str) -> Result<ValueSetId, ControlError> {
        unimplemented!()
    }
}

/// A digest's name and fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestInfo {
    /// Name of the list.
    pub name: String,
    /// Width of each field in bits.
    pub widths: Vec<usize>,
}
