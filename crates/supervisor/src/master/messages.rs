//! What master and generations say to each other: JSON, a message each. Words that one of them does not know, since it is
//! older, it passes over.

use std::{io, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use serow_net::channel::{Channel, Message};

use super::generations::StopTimeouts;

/// What the master says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "word")]
pub(super) enum ToGeneration {
    /// Begin. The text of the settings comes along, as a file; and what others wished that is remembered.
    Begin {
        #[serde(default, rename = "wishes")]
        overrides: Vec<Value>,
    },
    /// Sockets come along, each of the listener with the number in its place; `complete` where these are the last.
    Sockets { listeners: Vec<usize>, complete: bool },
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
    /// Do what somebody overrides, and say what came of it, with this number.
    #[serde(rename = "Wish")]
    Command {
        number: u64,
        #[serde(rename = "wish")]
        command: Value,
    },
    #[serde(other)]
    Unknown,
}

/// What a generation says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "word")]
pub(super) enum FromGeneration {
    /// It wants to listen at these addresses.
    Listen { listeners: Vec<WantedListener> },
    /// It serves. `admin` is where the master is to answer those who run the server, `admin_token` what those show who change
    /// something there over TCP; `announcement` is what the first one has
    /// to say.
    Ready {
        admin: Option<String>,
        #[serde(default)]
        admin_token: Option<String>,
        announcement: String,
        replaced_ms: u64,
        stopped_ms: u64,
    },
    /// It cannot, for this reason.
    Failed { reason: String },
    /// How it is.
    Report { report: Value },
    /// How it is, as a file that comes along.
    LongReport,
    /// What came of the command with this number: what was done, or why nothing was.
    #[serde(rename = "Wished")]
    CommandDone { number: u64, outcome: Result<String, String> },
    /// What it said is none of these, for this reason.
    #[serde(skip)]
    Nonsense { error: String },
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
    pub(super) fn stop_timeouts(replaced_ms: u64, stopped_ms: u64) -> StopTimeouts {
        StopTimeouts { replaced: Duration::from_millis(replaced_ms), stopped: Duration::from_millis(stopped_ms) }
    }
}

/// Sends a word.
pub(super) fn send(channel: &Channel, word: &impl Serialize) -> io::Result<()> {
    channel.send(&serde_json::to_vec(word)?, &[])
}

/// What a message says.
pub(super) fn read<W: DeserializeOwned>(message: &Message) -> io::Result<W> {
    serde_json::from_slice(&message.bytes).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<W: DeserializeOwned>(text: &str) -> io::Result<W> {
        read(&Message { bytes: text.as_bytes().to_vec(), descriptors: Vec::new() })
    }

    #[test]
    fn words_of_a_newer_version_are_passed_over() {
        for text in [r#"{"word":"New"}"#, r#"{"word":"New","a":[1]}"#, r#"{"a":{},"word":"New"}"#] {
            assert!(matches!(parsed(text), Ok(ToGeneration::Unknown)), "{text}");
            assert!(matches!(parsed(text), Ok(FromGeneration::Unknown)), "{text}");
        }
        assert!(matches!(
            parsed(r#"{"word":"Leave","replaced":true,"new":1}"#),
            Ok(ToGeneration::Leave { replaced: true })
        ));
        let ready = r#"{"word":"Ready","admin":null,"announcement":"a","replaced_ms":1,"stopped_ms":2,"new":{}}"#;
        assert!(matches!(parsed(ready), Ok(FromGeneration::Ready { replaced_ms: 1, .. })));
        for text in ["", "{", "7", "[]", "\u{0}", r#"{"word":"Ready"}"#, r#"{"word":7}"#, &"[".repeat(10_000)] {
            assert!(parsed::<FromGeneration>(text).is_err(), "{text}");
        }
        assert!(matches!(parsed(r#"{"word":"Nonsense","error":"a"}"#), Ok(FromGeneration::Unknown)));
    }
}
