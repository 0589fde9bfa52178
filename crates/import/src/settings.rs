//! The settings file that an import writes.

pub(crate) mod file;
pub(crate) mod table;
pub(crate) mod value;
