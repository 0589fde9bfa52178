//! What HPACK (RFC 7541) and QPACK (RFC 9204) share: numbers, strings in Huffman code, the dynamic table, and which fields
//! are worth an entry of it.

mod coding_error;
mod dynamic_table;
pub mod huffman;
pub mod integer;
pub mod policy;
mod recent;
mod text;

pub use self::{
    coding_error::CodingError,
    dynamic_table::{DynamicTable, ENTRY_OVERHEAD, Line},
    recent::{Hash, Recent},
    text::{Text, Texts, write_text},
};
