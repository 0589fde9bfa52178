//! Settings files of [Serow](https://serow.example) as an import writes them: routes with the requests that they take, tables
//! with comments, and their text in TOML.
//!
//! | step | file |
//! | --- | --- |
//! | the requests that a route takes: paths, methods and conditions; as keys | `matching.rs`; `matching/writing.rs` |
//! | a route, and its table | `route.rs` |
//! | keys that several routes or sites share move to where a person would write them | `tidying.rs` |
//! | the text, and the directive that each table comes from | `file.rs`, `table.rs`, `value.rs` |
#![forbid(unsafe_code)]

pub mod file;
pub mod matching;
pub mod route;
pub mod table;
pub mod tidying;
pub mod value;
