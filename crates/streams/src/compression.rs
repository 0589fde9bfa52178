//! The common part of HPACK (RFC 7541) and QPACK (RFC 9204): numbers, strings in Huffman code, the form of their static
//! tables, the dynamic table, and which fields are worth an entry of it.

mod coding_error;
mod dynamic_table;
pub mod huffman;
pub mod integer;
pub mod policy;
mod recent;
pub mod static_table;
mod text;

pub use self::{
    coding_error::CodingError,
    dynamic_table::{DynamicTable, Line},
    recent::{Hash, Recent},
    static_table::StaticTable,
    text::{Text, Texts, write_text, write_text_prefixed},
};
