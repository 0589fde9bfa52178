//! The output of a run: while it goes, at its end, and for other programs.
//!
//! | what | file |
//! | --- | --- |
//! | the report at the end, as wrk words it | `text.rs`, `units.rs` |
//! | a line while it goes | `live.rs` |
//! | everything, for programs | `json.rs` |
//! | how it went, for spreadsheets | `csv.rs` |
//! | a page to look at | `html.rs` |
//! | what several of them need | `figures.rs`, `histogram.rs`, `moment.rs` |

mod csv;
mod figures;
mod histogram;
mod html;
mod json;
mod live;
mod moment;
mod text;
mod units;

pub use self::{
    csv::csv,
    html::html,
    json::json,
    live::live,
    text::{opening, text},
};

/// The percentiles that are of interest.
const PERCENTILES: [f64; 8] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

/// A version of HTTP as people write it.
pub(crate) fn version(version: http::Version) -> &'static str {
    match version {
        http::Version::HTTP_09 => "HTTP/0.9",
        http::Version::HTTP_10 => "HTTP/1.0",
        http::Version::HTTP_2 => "HTTP/2",
        http::Version::HTTP_3 => "HTTP/3",
        _ => "HTTP/1.1",
    }
}
