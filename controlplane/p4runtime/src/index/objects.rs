//! A set of objects of one kind, found by name, alias or id.

use std::collections::HashMap;

use super::IndexError;

/// What has an id and names.
pub trait Object {
    /// The kind, for messages: "table".
    const KIND: &'static str;
    /// P4Info id.
    fn id(&self) -> u32;
    /// Full name, dots between its parts.
    fn name(&self) -> &str;
    /// Shortest unambiguous name.
    fn alias(&self) -> &str;
}

/// Objects of one kind, in the order of their ids.
#[derive(Clone, Debug)]
pub struct Objects<T> {
    list: Vec<T>,
    by_id: HashMap<u32, usize>,
    by_name: HashMap<String, usize>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Objects { list: Vec::new(), by_id: HashMap::new(), by_name: HashMap::new() }
    }
}

impl<T: Object> Objects<T> {
    pub(super) fn build(parts: impl Iterator<Item = Result<T, IndexError>>) -> Result<Self, IndexError> {
        let mut list = parts.collect::<Result<Vec<T>, IndexError>>()?;
        list.sort_by_key(T::id);
        let mut by_id = HashMap::with_capacity(list.len());
        let mut by_name = HashMap::with_capacity(list.len() * 2);
        for (place, object) in list.iter().enumerate() {
            if by_id.insert(object.id(), place).is_some() {
                return Err(IndexError::Duplicate { kind: T::KIND, what: format!("{:#010x}", object.id()) });
            }
            if by_name.insert(object.name().to_owned(), place).is_some() {
                return Err(IndexError::Duplicate { kind: T::KIND, what: object.name().to_owned() });
            }
        }
        // Full names first: an alias never hides another object's full name.
        for (place, object) in list.iter().enumerate() {
            by_name.entry(object.alias().to_owned()).or_insert(place);
        }
        Ok(Objects { list, by_id, by_name })
    }

    pub(super) fn dangling(&self, owner: &str, id: u32) -> Result<(), IndexError> {
        match self.by_id(id) {
            Some(_) => Ok(()),
            None => Err(IndexError::Dangling { owner: owner.to_owned(), kind: T::KIND, id }),
        }
    }

    /// By full name or alias.
    pub fn by_name(&self, name: &str) -> Option<&T> {
        self.by_name.get(name).and_then(|&place| self.list.get(place))
    }

    /// By id.
    pub fn by_id(&self, id: u32) -> Option<&T> {
        self.by_id.get(&id).and_then(|&place| self.list.get(place))
    }

    /// By full name or alias.
    ///
    /// # Errors
    /// [`IndexError::UnknownName`] with the names that exist.
    pub fn find(&self, name: &str) -> Result<&T, IndexError> {
        self.by_name(name).ok_or_else(|| IndexError::UnknownName {
            kind: T::KIND,
            name: name.to_owned(),
            known: if self.list.is_empty() {
                "none".to_owned()
            } else {
                self.list.iter().map(T::alias).collect::<Vec<_>>().join(", ")
            },
        })
    }

    /// By id.
    ///
    /// # Errors
    /// [`IndexError::UnknownId`].
    pub fn find_id(&self, id: u32) -> Result<&T, IndexError> {
        self.by_id(id).ok_or(IndexError::UnknownId { kind: T::KIND, id })
    }

    /// All, in the order of their ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.list.iter()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl<'a, T> IntoIterator for &'a Objects<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}
