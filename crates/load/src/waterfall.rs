//! A byte-level waterfall of concurrent streams: several resources over one HTTP/2 or HTTP/3 connection, with priorities.
//!
//! It shows whether a server's priorities work (RFC 9218): an urgent resource that is requested late has to overtake
//! those in flight, on slow links too.
//!
//! | what | file |
//! | --- | --- |
//! | what is asked for, as it is written | `spec.rs` |
//! | how it is fetched | `plan.rs` |
//! | fetching it: what is due when, and what comes | `fetch.rs`, `agenda.rs`, `chain.rs` |
//! | what came when | `recording.rs` |
//! | when the link carried whose bytes | `bandwidth.rs` |
//! | a drawing, a drawing of characters, and everything for other programs | `svg.rs`, `text.rs`, `json.rs` |
//! | what is written in both | `axis.rs`, `caption.rs`, `figures.rs` |

mod agenda;
mod axis;
mod bandwidth;
mod caption;
mod chain;
mod fetch;
mod figures;
mod json;
mod plan;
mod recording;
mod resource_spec;
mod svg;
mod text;

pub use self::{
    fetch::{FetchError, fetch},
    json::json,
    plan::{Plan, Signals},
    recording::{Ending, Outcome, Piece, Recording, Resource},
    resource_spec::{Change, ResourceSpec, ResourceSpecError, read_resource_specs},
    svg::svg,
    text::text,
};
