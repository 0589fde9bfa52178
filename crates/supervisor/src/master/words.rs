//! What master and generations say to each other: JSON, a message each. Words that one of them does not know, since it is
//! older, it passes over.

use std::{io, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use serow_net::channel::{Channel, Message};

use super::generations::Patience;

/// What the master says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToGeneration {
    /// Begin. The text of the settings comes along, as a file.
    Begin,
    /// Sockets of the listener of this number come along; `complete` where these are the last.
    Sockets { listener: usize, complete: bool },
    /// This is wrong with what was asked for.
    Refused { reason: String },
    /// Finish what runs, and end.
    Leave { replaced: bool },
    /// End at once.
    End,
    /// Open the logs anew.
    Reopen,
    /// Say how you are.
    Report,
    #[serde(other)]
    Unknown,
}

/// What a generation says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromGeneration {
    /// It wants to listen at these addresses.
    Listen { listeners: Vec<WantedListener> },
    /// It serves. `admin` is where the master is to answer those who run the server.
    Ready { admin: Option<String>, replaced_ms: u64, stopped_ms: u64 },
    /// It cannot, for this reason.
    Failed { reason: String },
    /// How it is.
    Report { report: Value },
    #[serde(other)]
    Unknown,
}

/// Where a generation wants to listen, and how.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct WantedListener {
    /// The address as it is written, such as `127.0.0.1:8080` or `unix:/run/app.sock`.
    pub address: String,
    /// How many connections may wait to be accepted, for each socket.
    pub backlog: u32,
    /// Permissions of the file of a unix socket.
    pub unix_mode: Option<u32>,
    /// Whether others may listen at the same port (SO_REUSEPORT).
    pub share: bool,
    /// How many sockets, one for each thread.
    pub sockets: usize,
}

impl FromGeneration {
    /// How long it takes to leave, where it says so.
    pub(super) fn patience(replaced_ms: u64, stopped_ms: u64) -> Patience {
        Patience { replaced: Duration::from_millis(replaced_ms), stopped: Duration::from_millis(stopped_ms) }
    }
}

/// Sends a word.
pub(super) fn say(channel: &Channel, word: &impl Serialize) -> io::Result<()> {
    channel.send(&serde_json::to_vec(word)?, &[])
}

/// What a message says.
pub(super) fn read<W: DeserializeOwned>(message: &Message) -> io::Result<W> {
    serde_json::from_slice(&message.bytes).map_err(io::Error::from)
}
