//! Scripts in Lua that change requests and responses.
//!
//! A script is a file that returns a table of functions, each of which may be missing:
//!
//! | function | when | what it may do |
//! | --- | --- | --- |
//! | `setup(config)` | once per thread, before the first request | read files, build tables |
//! | `request(request)` | before the handler | change the request, or respond to it |
//! | `response(request, response)` | after the handler | change the response |
//! | `log(request, response)` | after that | return fields for the access log |
//!
//! # How a script runs
//!
//! The files are in `lua/`.
//!
//! | what | file |
//! | --- | --- |
//! | the text of a script, read once per generation, and its check | `script_source.rs`, `script.rs` |
//! | each thread has a Lua state for each script | `states.rs`, `state.rs`, `loading.rs`, `prelude.lua` |
//! | a function runs in a coroutine; most end without having waited, and the coroutine is used again | `state.rs` |
//! | what it waits for (a body, a time, another server) happens outside of Lua, and then it goes on | `operation.rs`, `exchange.rs` |
//! | a hook looks at the clock after some instructions, the allocator at the memory | `budget.rs` |
//! | libraries that could reach the system are missing or replaced | `sandbox.rs`, `strings.rs`, `pattern.rs` |
//! | requests and responses as scripts see them: Lua knows them by their numbers | `prelude.lua`, `native.rs`, `held.rs`, `request_fields.rs`, `response_cell.rs`, `header_fields.rs` |
//! | the table `serow` | `library.rs`, `library/` |
//! | the dictionary `serow.shared`, in memory that the generations of a server share | `shared_dictionary.rs`, `shared_dictionary/` |
//! | a file of cases that a script has to pass | `testing.rs`, `testing/` |
//!
//! LuaJIT's compiler stays off: compiled loops do not look at hooks, so that nothing would end them.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod fetch;
mod limits;
mod route_choice;
mod servers;
mod test_outcome;

pub use self::{
    fetch::{DEPTH_FIELD, Fetch, FetchFailure, FetchRequest, Fetched, NoFetch},
    limits::ScriptLimits,
    route_choice::{ChosenRoute, RouteChoice},
    servers::{Redis, RedisAnswered, RedisValue, Servers},
    test_outcome::TestOutcome,
};

#[cfg(feature = "lua")]
mod lua;
#[cfg(feature = "lua")]
pub use self::lua::{
    Begun, DICTIONARY_BYTES, Script, ScriptError, ScriptTest, Watched, drop_stale_states, share_dictionary,
};

#[cfg(not(feature = "lua"))]
mod missing;
#[cfg(not(feature = "lua"))]
pub use self::missing::{
    Begun, DICTIONARY_BYTES, Script, ScriptError, ScriptTest, Watched, drop_stale_states, share_dictionary,
};
