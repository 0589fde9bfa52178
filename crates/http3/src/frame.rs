//! Frames (RFC 9114 §7; RFC 9218 §7.2): their kinds and headers, read in any pieces, and written.
//!
//! A frame has no largest length, so none waits here to be whole: the connection takes the payload as it comes, and keeps
//! only what it must see whole (field sections, and the small frames of the control stream), within its limits.

mod header;
mod kind;
mod write;

pub(crate) use self::header::HeaderReader;
pub use self::{
    header::FrameHeader,
    kind::Kind,
    write::{HEADERS_ROOM, finish_headers, write_go_away, write_priority_update},
};
