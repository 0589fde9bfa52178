//! Scripts that run.

mod answer;
mod budget;
mod context;
mod error;
mod exchange;
mod header_fields;
mod header_rules;
mod held;
mod hook;
mod known_keys;
mod library;
mod loading;
mod logged;
mod native;
mod operation;
mod pattern;
mod request_fields;
mod response_cell;
mod sandbox;
mod script;
mod script_source;
mod shared_dictionary;
mod state;
mod states;
mod strings;
mod testing;
mod value_kind;

pub use self::{
    error::ScriptError,
    exchange::{Begun, Watched},
    script::Script,
    shared_dictionary::{DICTIONARY_BYTES, share_dictionary},
    states::drop_stale_states,
    testing::ScriptTest,
};
