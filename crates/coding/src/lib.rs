//! Content codings: which one a client prefers, what is worth compressing, and encoders.
//!
//! Files, applications and proxied servers share these, so that a response is negotiated and compressed by the same
//! rules wherever it comes from.
//!
//! | subject | file |
//! | --- | --- |
//! | the codings and their names | `coding.rs` |
//! | `Accept-Encoding` | `accepted.rs` |
//! | media types that are compressed | `compressible_types.rs` |
//! | how hard each coding tries | `levels.rs` |
//! | compressing, with bounded memory, and encoders that are used again | `encoder.rs`, `gzip.rs`, `zstd.rs`, `brotli.rs`, `idle_encoders.rs` |
//! | a body that is compressed while it is sent | `compressed_body.rs` |
//! | how many bodies are compressed at once | `permits.rs` |
#![forbid(unsafe_code)]

mod accepted;
mod brotli;
mod compressed_body;
mod compressible_types;
mod encoder;
mod gzip;
mod idle_encoders;
mod levels;
mod permits;
mod zstd;

pub use self::{
    accepted::Accepted,
    compressed_body::CompressedBody,
    compressible_types::CompressibleTypes,
    encoder::{Encoder, EncoderSettings, compressed},
    levels::Levels,
    permits::{Permit, Permits},
};
pub use serow_message::Coding;
