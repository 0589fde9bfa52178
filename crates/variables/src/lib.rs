//! nginx's variables of requests, texts that name them, and patterns that their values match.
//!
//! ```
//! use serow_message::Request;
//! use serow_variables::{Form, Scope, Source, Text};
//!
//! let text = Text::parse("$request_method ${uri}: $$1", &Scope::default())?;
//! let request = Request::get("/a%20b?c");
//! let mut output = Vec::new();
//! text.append(&Source::of(&request, b"/a b"), Form::Raw, &mut output);
//! assert_eq!(output, b"GET /a b: $1");
//! # Ok::<(), serow_variables::VariableError>(())
//! ```
//!
//! Texts are parsed once, when the settings are read. The value of a variable is never parsed again, so a `$` that a
//! client sends is only a `$`.
//!
//! | subject | file |
//! | --- | --- |
//! | the names, which the access log shares, and their values | `name.rs`, `values.rs`, `user.rs` |
//! | a name with a part of its own: fields, cookies, arguments, captures, maps | `variable.rs` |
//! | the request that the values are taken from | `source.rs` |
//! | the path as routes and `$uri` have it | `clean_path.rs` |
//! | values of a response, for its own fields | `response_name.rs` |
//! | a text with variables, and how values are escaped in it | `text.rs`, `form.rs` |
//! | the names that a text may use, and those that captures and maps cannot have | `scope.rs`, `reserved_names.rs` |
//! | tables from values to values | `map.rs`, `maps.rs` |
//! | shares of texts, and the hash by which they are distributed | `shares.rs`, `murmur.rs` |
//! | which of many patterns a text may match | `literals.rs`, `literal_index.rs` |
//! | regular expressions of bounded size; patterns of values | `expression.rs`, `value_pattern.rs` |
#![forbid(unsafe_code)]

pub mod clean_path;
mod error;
mod expression;
mod form;
mod literal_index;
mod literals;
mod map;
mod maps;
mod murmur;
mod name;
mod reserved_names;
mod response_name;
mod scope;
mod shares;
mod source;
mod text;
mod user;
mod value_pattern;
pub mod values;
mod variable;

pub use self::{
    error::{VariableError, near},
    expression::{Captures, Expression, InvalidExpression},
    form::Form,
    literal_index::{Candidates, LiteralIndex},
    literals::Literals,
    map::Map,
    maps::{InvalidMap, MapEntries, MapPart, MapTable, Maps},
    murmur::murmur2,
    name::Name,
    reserved_names::{LOG_ONLY, SERVER_NAME, check_new_name},
    response_name::ResponseName,
    scope::Scope,
    source::Source,
    text::{Part, Piece, Text, read_pieces},
    value_pattern::{Letters, ValuePattern, ValuePatterns},
    variable::{Encoding, Variable},
};
