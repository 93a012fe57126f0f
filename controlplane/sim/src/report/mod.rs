//! A comparison of schemes for people: rows for a table, a picture, a page.

pub mod chart;
pub mod page;
pub mod table;
