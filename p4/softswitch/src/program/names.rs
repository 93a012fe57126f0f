//! Finding a program's parts by name.

use super::Program;
use crate::control::{
    ActionId, ControlError, CounterId, MeterId, ProfileId, RegisterId, TableId, ValueSetId,
};

/// Finds a name: the whole of it, else the one name that ends in it after a dot.
fn find<'a>(
    names: impl Iterator<Item = (usize, &'a str)> + Clone,
    what: &'static str,
    name: &str,
) -> Result<usize, ControlError> {
    if let Some((i, _)) = names.clone().find(|(_, n)| *n == name) {
        return Ok(i);
    }
    let mut tails = names.filter(|(_, n)| n.strip_suffix(name).is_some_and(|head| head.ends_with('.')));
    match (tails.next(), tails.next()) {
        (Some((i, _)), None) => Ok(i),
        _ => Err(ControlError::UnknownName { what, name: name.to_owned() }),
    }
}
impl Program {
    /// Finds a table.
    ///
    /// # Errors
    /// No table, or several, of that name.
    pub fn table(&self, name: &str) -> Result<TableId, ControlError> {
        find(self.tables().iter().map(|t| t.name.as_str()).enumerate(), "table", name).map(TableId)
    }

    /// Finds an action of a table (or of its profile).
    ///
    /// # Errors
    /// No such table, or the table has no action, or several, of that name.
    pub fn table_action(&self, table: TableId, name: &str) -> Result<ActionId, ControlError> {
        let info = self.tables().get(table.0);
        let info = info.ok_or(ControlError::UnknownIndex { what: "table", index: table.0 })?;
        let names = info.actions.iter().map(|a| (a.0, self.action_infos[a.0].name.as_str()));
        find(names, "action", name).map(ActionId)
    }

    /// Finds an action of a profile.
    ///
    /// # Errors
    /// No such profile, or its tables have no action, or several, of that name.
    pub fn profile_action(&self, profile: ProfileId, name: &str) -> Result<ActionId, ControlError> {
        let table = self.tables().iter().position(|t| t.profile == Some(profile));
        let table = table.ok_or(ControlError::UnknownIndex { what: "action profile", index: profile.0 })?;
        self.table_action(TableId(table), name)
    }

    /// Finds an action profile or selector.
    ///
    /// # Errors
    /// No profile, or several, of that name.
    pub fn profile(&self, name: &str) -> Result<ProfileId, ControlError> {
        find(self.profiles().iter().map(|t| t.name.as_str()).enumerate(), "action profile", name)
            .map(ProfileId)
    }

    /// Finds an indirect counter array.
    ///
    /// # Errors
    /// No counter, or several, of that name.
    pub fn counter(&self, name: &str) -> Result<CounterId, ControlError> {
        find(self.counters().iter().map(|t| t.name.as_str()).enumerate(), "counter", name).map(CounterId)
    }

    /// Finds an indirect meter array.
    ///
    /// # Errors
    /// No meter, or several, of that name.
    pub fn meter(&self, name: &str) -> Result<MeterId, ControlError> {
        find(self.meters().iter().map(|t| t.name.as_str()).enumerate(), "meter", name).map(MeterId)
    }

    /// Finds a register array.
    ///
    /// # Errors
    /// No register, or several, of that name.
    pub fn register(&self, name: &str) -> Result<RegisterId, ControlError> {
        find(self.registers().iter().map(|t| t.name.as_str()).enumerate(), "register", name).map(RegisterId)
    }

    /// Finds a parser value set.
    ///
    /// # Errors
    /// No value set, or several, of that name.
    pub fn value_set(&self, name: &str) -> Result<ValueSetId, ControlError> {
        find(self.value_sets().iter().map(|t| t.name.as_str()).enumerate(), "value set", name).map(ValueSetId)
    }
}
