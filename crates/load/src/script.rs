//! Scripts as wrk has them: what is sent, and what is made of the responses, is up to Lua.

mod address;
mod conductor;
mod error;
mod performer;
mod portable;
mod source;
mod state;
mod statistics;
mod thread;

pub use self::{
    conductor::{Conductor, ThreadHandle},
    error::ScriptError,
    performer::{Performer, Seat},
    source::{Script, ScriptTarget},
};
