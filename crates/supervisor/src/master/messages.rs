//! The messages between master and generations, in JSON. Unknown ones, of a newer version, are ignored; the names on
//! the wire stay the same, so that a master can start a generation of another version.

use std::{io, net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use serow_net::channel::{Channel, Message};

use super::{
    control::{ChangeError, Changed},
    server_generations::StopTimeouts,
};

/// A message of the master.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "word")]
pub(super) enum ToGeneration {
    /// Start. Files are attached, of which a master of an older version has only the last ones: the memory that
    /// generations share, what they leave for later ones, and the text of the settings. The remembered overrides are
    /// included.
    Begin {
        #[serde(default, rename = "wishes")]
        overrides: Vec<Value>,
        /// The secret with which all generations make stateless resets and tokens of QUIC, and the keys of session
        /// tickets, in hexadecimal; none from a master of a version without HTTP/3.
        #[serde(default, rename = "quic_secret")]
        generation_secret: Option<String>,
        /// Whether the master knows `Change`, which one of an older version does not.
        #[serde(default)]
        takes_changes: bool,
    },
    /// UDP sockets are attached; `addresses` has the number of the requested address for each, `slots` its place in the
    /// group; `complete`: these are the last.
    QuicSockets { addresses: Vec<usize>, slots: Vec<u8>, complete: bool },
    /// Sockets are attached; `listeners` has the number of the listener for each; `complete`: these are the last.
    Sockets { listeners: Vec<usize>, complete: bool },
    /// The requested sockets cannot be opened, for this reason.
    Refused { reason: String },
    /// Drain and end.
    Leave { replaced: bool },
    /// End at once.
    End,
    /// Reopen the logs.
    Reopen,
    /// Send a report.
    Report,
    /// Execute this command, and send the outcome with this number.
    #[serde(rename = "Wish")]
    Command {
        number: u64,
        #[serde(rename = "wish")]
        command: Value,
    },
    /// Serve with the settings whose text is attached as a file, and send the outcome with this number. The remembered
    /// overrides are included, for upstreams that are new.
    Adopt {
        number: u64,
        overrides: Vec<Value>,
        #[serde(default)]
        cause: AdoptionCause,
    },
    /// The outcome of the change with this number.
    Changed { number: u64, outcome: Result<Changed, ChangeError> },
    /// The outcome of the command with this number that it has asked for.
    Executed { number: u64, outcome: Result<String, String> },
    #[serde(other)]
    Unknown,
}

/// A message of a generation.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "word")]
pub(super) enum FromGeneration {
    /// It requests sockets for these addresses.
    Listen { listeners: Vec<WantedListener> },
    /// It requests UDP sockets for these addresses, as many for each as it has threads.
    ListenQuic { addresses: Vec<SocketAddr>, workers: usize },
    /// It serves. `admin` and `admin_off` are an [`AdminPlace`], `admin_token` the token for commands over TCP that change
    /// something; `announcement` is printed for the first generation. `adopts`: it knows `Adopt`, which one of an older
    /// version does not. `changes`: it will ask for changes of the settings.
    Ready {
        admin: Option<String>,
        #[serde(default)]
        admin_off: bool,
        #[serde(default)]
        admin_token: Option<String>,
        announcement: String,
        replaced_ms: u64,
        stopped_ms: u64,
        #[serde(default)]
        adopts: bool,
        #[serde(default)]
        changes: bool,
    },
    /// It accepts no more connections.
    StoppedAccepting,
    /// It cannot serve, for this reason.
    Failed { reason: String },
    /// Its report.
    Report { report: Value },
    /// Its report, as an attached file.
    LongReport,
    /// The outcome of the command with this number.
    #[serde(rename = "Wished")]
    CommandDone { number: u64, outcome: Result<String, String> },
    /// It reads the settings of the adoption with this number.
    Adopting { number: u64 },
    /// The outcome of the adoption with this number.
    Adopted { number: u64, outcome: AdoptionOutcome },
    /// It asks for a change of the settings, which is attached as a file, and for its outcome with this number.
    Change { number: u64 },
    /// The same, with the content of the file.
    #[serde(skip)]
    ReceivedChange { number: u64, change: Value },
    /// It asks for this command, as from the admin socket, and for the outcome with this number.
    Execute { number: u64, command: Value, persist: bool },
    /// An invalid message, for this reason.
    #[serde(skip)]
    Nonsense { error: String },
    #[serde(other)]
    Unknown,
}

/// The cause of an adoption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdoptionCause {
    /// A reload was requested, perhaps since programs and files have changed that the settings name.
    #[default]
    Reload,
    /// The settings were changed beside their file.
    Change,
}

/// The outcome of an adoption.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub(super) enum AdoptionOutcome {
    /// It serves with the settings.
    Adopted,
    /// They need a process of their own, for this reason.
    NeedsProcess { reason: String },
    /// They are invalid, for this reason.
    Refused { reason: String },
    #[serde(other)]
    Unknown,
}

/// A listener that a generation requests.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct WantedListener {
    /// The address, such as `127.0.0.1:8080` or `unix:/run/app.sock`.
    pub address: String,
    /// The backlog of each socket.
    pub backlog: u32,
    /// Permissions of the file of a unix socket.
    pub unix_mode: Option<u32>,
    /// Whether other processes may listen on the same port (SO_REUSEPORT).
    pub share: bool,
    /// The number of sockets, one per thread.
    pub sockets: usize,
}

/// Where the master opens the admin socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminPlace {
    /// Where it is found without an address.
    Default,
    /// There is none.
    Off,
    /// At this address.
    At(String),
}

impl AdminPlace {
    /// As a generation sent it; one of an older version sends only an address.
    pub(super) fn received(address: Option<String>, is_off: bool) -> Self {
        match address {
            Some(address) => Self::At(address),
            None if is_off => Self::Off,
            None => Self::Default,
        }
    }
}

impl FromGeneration {
    /// The stop timeouts of a `Ready` message.
    pub(super) fn stop_timeouts(replaced_ms: u64, stopped_ms: u64) -> StopTimeouts {
        StopTimeouts { replaced: Duration::from_millis(replaced_ms), stopped: Duration::from_millis(stopped_ms) }
    }
}

/// The beginning of a reason, which fits into a message with any escapes.
pub(super) fn beginning(reason: &str) -> String {
    let mut end = reason.len().min(MAX_REASON_LENGTH);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason[..end].to_owned()
}

/// Sends a message.
pub(super) fn send(channel: &Channel, word: &impl Serialize) -> io::Result<()> {
    channel.send(&serde_json::to_vec(word)?, &[])
}

/// Parses a message.
pub(super) fn read<W: DeserializeOwned>(message: &Message) -> io::Result<W> {
    serde_json::from_slice(&message.bytes).map_err(io::Error::from)
}

/// The maximum length of a reason: each of its bytes takes up to six in a message, and a message has some 200 KB.
const MAX_REASON_LENGTH: usize = 30_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<W: DeserializeOwned>(text: &str) -> io::Result<W> {
        read(&Message { bytes: text.as_bytes().to_vec(), descriptors: Vec::new() })
    }

    #[test]
    fn messages_of_a_newer_version_are_ignored() {
        for text in [r#"{"word":"New"}"#, r#"{"word":"New","a":[1]}"#, r#"{"a":{},"word":"New"}"#] {
            assert!(matches!(parsed(text), Ok(ToGeneration::Unknown)), "{text}");
            assert!(matches!(parsed(text), Ok(FromGeneration::Unknown)), "{text}");
        }
        assert!(matches!(
            parsed(r#"{"word":"Leave","replaced":true,"new":1}"#),
            Ok(ToGeneration::Leave { replaced: true })
        ));
        let ready = r#"{"word":"Ready","admin":null,"announcement":"a","replaced_ms":1,"stopped_ms":2,"new":{}}"#;
        assert!(matches!(
            parsed(ready),
            Ok(FromGeneration::Ready { replaced_ms: 1, adopts: false, changes: false, .. })
        ));
        let begin = parsed(r#"{"word":"Begin"}"#);
        assert!(matches!(begin, Ok(ToGeneration::Begin { takes_changes: false, .. })));
        let adopted = r#"{"word":"Adopted","number":1,"outcome":{"kind":"Half","new":1}}"#;
        assert!(matches!(
            parsed(adopted),
            Ok(FromGeneration::Adopted { number: 1, outcome: AdoptionOutcome::Unknown })
        ));
        for text in ["", "{", "7", "[]", "\u{0}", r#"{"word":"Ready"}"#, r#"{"word":7}"#, &"[".repeat(10_000)] {
            assert!(parsed::<FromGeneration>(text).is_err(), "{text}");
        }
        assert!(matches!(parsed(r#"{"word":"Nonsense","error":"a"}"#), Ok(FromGeneration::Unknown)));
    }

    #[test]
    fn the_beginning_of_a_long_reason_fits_into_a_message() {
        let (channel, other) = Channel::pair().unwrap();
        for (long, length) in
            [("\u{1}".repeat(100_000), MAX_REASON_LENGTH), ("a".to_owned() + &"ä".repeat(100_000), 29_999)]
        {
            let reason = beginning(&long);
            assert_eq!(reason.len(), length);
            let outcome = AdoptionOutcome::Refused { reason: reason.clone() };
            send(&channel, &FromGeneration::Adopted { number: 7, outcome }).unwrap();
            let received = read(&other.receive().unwrap().unwrap()).unwrap();
            let FromGeneration::Adopted { number: 7, outcome: AdoptionOutcome::Refused { reason: sent } } = received
            else {
                panic!("{received:?}");
            };
            assert_eq!(sent, reason);
        }
        assert_eq!(beginning("short"), "short");
    }
}
