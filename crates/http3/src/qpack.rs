//! Field compression (RFC 9204).
//!
//! Each end of a connection has a [`Decoder`], whose table the peer's encoder fills, and an [`Encoder`], which fills the
//! table of the peer's decoder. Field sections, which stand in HEADERS frames, refer to the tables; what changes and
//! acknowledges them goes over two unidirectional streams of each end, the encoder stream and the decoder stream:
//!
//! ```text
//!            encode ┌─────────┐  field sections                       ┌─────────┐ decode
//!   fields ────────►│ Encoder │──────────────────────────────────────►│ Decoder │────────► fields
//!                   │         │  encoder stream: write ──► receive    │         │
//!                   └─────────┘  decoder stream: receive ◄── write    └─────────┘
//! ```
//!
//! Empty tables hold no memory, used ones what their entries need. Whatever the peer does wrong ends the connection,
//! with the code that each error names.
//!
//! ```
//! use core::ops::ControlFlow;
//! use serow_http3::{StreamId, qpack::{Decoded, Decoder, Encoder, Name, Pseudo}};
//!
//! let mut encoder = Encoder::new();
//! let mut block = Vec::new();
//! let mut section = encoder.begin(StreamId::of_quic(0), &mut block);
//! section.encode_pseudo(Pseudo::Path, b"/a");
//! section.encode(b"X-One", None, b"1");
//! section.finish();
//!
//! let mut names = Vec::new();
//! let mut decoder = Decoder::new(4096, 16);
//! let decoded = decoder.decode(StreamId::of_quic(0), &block, |field| {
//!     names.push((field.name_kind, field.name.to_vec()));
//!     ControlFlow::Continue(())
//! });
//! assert_eq!(decoded, Ok(Decoded::Whole));
//! assert_eq!(names, [(Name::Pseudo(Pseudo::Path), b":path".to_vec()), (Name::Other, b"x-one".to_vec())]);
//! ```

mod acknowledgement;
mod blocked;
mod decoder;
mod encoder;
mod error;
mod field_section;
mod instruction;
mod line;
mod prefix;
mod received_table;
mod representation;
mod static_table;
mod unacknowledged;

pub use serow_streams::fields::{DecodedField, FieldError, Name, Pseudo};

pub use self::{
    decoder::{Decoded, Decoder},
    encoder::Encoder,
    error::{DecodeError, DecoderStreamError, EncoderStreamError},
    field_section::FieldSection,
};
