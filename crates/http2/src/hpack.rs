//! Header compression (RFC 7541).
//!
//! A [`Decoder`] and an [`Encoder`] each hold one dynamic table; a connection has one of both. Empty ones hold no
//! memory, used ones what their entries need. Everything wrong in a field block is a [`DecodeError`], and ends the
//! connection with [`COMPRESSION_ERROR`](crate::ErrorCode::COMPRESSION_ERROR) (RFC 9113 §4.3).
//!
//! ```
//! use core::ops::ControlFlow;
//! use serow_http2::hpack::{Decoder, Encoder, Name, Pseudo};
//!
//! let mut block = Vec::new();
//! let mut encoder = Encoder::new();
//! encoder.encode_pseudo(Pseudo::Path, b"/a", &mut block);
//! encoder.encode(b"X-One", None, b"1", &mut block);
//!
//! let mut names = Vec::new();
//! let mut decoder = Decoder::new(4096);
//! decoder.decode(&block, |field| {
//!     names.push((field.name_kind, field.name.to_vec()));
//!     ControlFlow::Continue(())
//! }).unwrap();
//! assert_eq!(names, [(Name::Pseudo(Pseudo::Path), b":path".to_vec()), (Name::Other, b"x-one".to_vec())]);
//! ```

mod decoder;
mod encoder;
mod error;
mod static_table;

pub use serow_streams::fields::{DecodedField, FieldError, Name, Pseudo};

pub use self::{decoder::Decoder, encoder::Encoder, error::DecodeError};

/// The initial value of SETTINGS_HEADER_TABLE_SIZE, in bytes (RFC 9113 §6.5.2).
pub const DEFAULT_CAPACITY: usize = 4096;
