//! What a run prints: while it goes, at its end, and for other programs.
//!
//! | what | file |
//! | --- | --- |
//! | the report at the end, as wrk words it | `text.rs`, `units.rs` |
//! | a line while it goes | `live.rs` |

mod live;
mod text;
mod units;

pub use self::{
    live::live,
    text::{opening, text},
};

/// A version of HTTP as people write it.
fn version(version: http::Version) -> &'static str {
    match version {
        http::Version::HTTP_09 => "HTTP/0.9",
        http::Version::HTTP_10 => "HTTP/1.0",
        http::Version::HTTP_2 => "HTTP/2",
        http::Version::HTTP_3 => "HTTP/3",
        _ => "HTTP/1.1",
    }
}
