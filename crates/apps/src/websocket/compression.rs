//! Compressed messages: permessage-deflate (RFC 7692), around a WebSocket that does not know of it.
//!
//! | subject | file |
//! | --- | --- |
//! | what client and server agree on | `negotiation.rs` |
//! | a client's frames, rewritten as frames that are not compressed | `client_frames.rs` |
//! | the connection on which that happens | `client_stream.rs` |
//! | the application's messages | `deflater.rs` |

mod client_frames;
mod client_stream;
mod deflater;
mod negotiation;

pub(super) use self::{
    client_frames::InflateError,
    client_stream::ClientStream,
    deflater::Deflater,
    negotiation::{Agreement, EXTENSIONS},
};

/// The end of each flush of deflate, which is left out of messages (RFC 7692 §7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
