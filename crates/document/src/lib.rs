//! A settings file of [Serow](https://serow.example) as text and as a tree that knows where in the text each part
//! stands, the values in it, and the errors that point there. The meaning of the keys is the subject of the crate `serow-config`.
//!
//! | step | file |
//! | --- | --- |
//! | the text, and those of included files | `file.rs`, `include.rs`, `sources.rs`, `bundle.rs` |
//! | names of files that are added to a running server | `added_file_name.rs` |
//! | a tree, which knows the place of each part in the text | `document.rs`, `place.rs` |
//! | from a place to a line of a file: the span in the text, the file that has it, the line | `document.rs`, `sources.rs`, `lines.rs`, `fault.rs`, `excerpt.rs` |
//! | `${NAME}` of the environment in it | `environment.rs` |
//! | the texts of single tables, to find those that have changed | `table_texts.rs` |
//! | the values at the root, to compare two files | `settings_values.rs` |
//! | the tree as types, by serde | `deserializer.rs` |
//! | addresses, sizes, times, names and rules: types that are read from text | `values.rs`, `values/` |
//! | the keys of a table as a JSON schema, and a reference of them | `shape.rs`, `description.rs`, `reference.rs`, `markdown.rs` |
//! | the defaults of keys that are options too | `options.rs` |
//! | tables as TOML in its shortest form | `toml_keys.rs` |
//! | errors: noted with their places, and all shown at the end | `problem.rs`, `syntax.rs`, `names.rs`, `excerpt.rs`, `error.rs` |
#![forbid(unsafe_code)]

pub mod added_file_name;
pub mod bundle;
pub mod description;
pub mod deserializer;
mod document;
pub mod environment;
mod error;
mod excerpt;
mod fault;
pub mod file;
pub mod include;
mod lines;
pub mod markdown;
pub mod names;
mod options;
mod place;
pub mod printable;
mod problem;
mod reference;
mod settings_values;
pub mod shape;
mod sources;
mod syntax;
mod table_texts;
mod toml_keys;
pub mod values;

pub use self::{
    document::{Document, Format, Part, Table, Value},
    error::ConfigurationError,
    fault::Fault,
    include::{Disk, Files},
    options::without_options,
    place::{Place, Step},
    problem::{Problem, Problems},
    reference::Reference,
    settings_values::SettingsValues,
    shape::Shape,
    sources::Sources,
    table_texts::{TableTexts, TextKind, TextPart},
    toml_keys::WrittenKeys,
};
