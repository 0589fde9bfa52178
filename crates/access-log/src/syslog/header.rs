//! The header that turns a line into a message.

use std::process;

use rustix::system::uname;
use serow_message::Served;

use super::address::{Form, SyslogAddress};
use crate::{append::digits, date::Date};

/// The parts of a header that are the same for all messages.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    form: Form,
    before_time: Box<str>,
    behind_time: Box<str>,
}

impl Header {
    /// That of messages to this address from this process.
    pub(crate) fn new(address: &SyslogAddress) -> Self {
        Self::of(address, &host_name(), process::id())
    }

    fn of(address: &SyslogAddress, host: &str, process: u32) -> Self {
        // RFC 5424 §6.2.1.
        let priority = u16::from(address.facility) * 8 + u16::from(address.severity);
        let tag = &address.tag;
        let (before_time, behind_time) = match address.form {
            // No byte order mark in front of the message: §6.4 has it where that is known to be UTF-8, and most that
            // read messages would take it for a part of the line.
            Form::Rfc5424 => (format!("<{priority}>1 "), format!("Z {host} {tag} {process} {MESSAGE_ID} - ")),
            Form::Rfc3164 => (format!("<{priority}>"), format!(" {tag}[{process}]: ")),
        };
        Self { form: address.form, before_time: before_time.into(), behind_time: behind_time.into() }
    }

    /// Appends the header of a request's line.
    pub(crate) fn write(&self, served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
        line.extend_from_slice(self.before_time.as_bytes());
        match self.form {
            Form::Rfc5424 => {
                let (second, milliseconds) = date.rfc_3339(served.began);
                line.extend_from_slice(second);
                line.push(b'.');
                digits(milliseconds, 3, line);
            }
            Form::Rfc3164 => line.extend_from_slice(&date.rfc_3164(served.began)),
        }
        line.extend_from_slice(self.behind_time.as_bytes());
    }
}

/// The name of this machine as a HOSTNAME (RFC 5424 §6.2.4).
fn host_name() -> String {
    let name = uname().nodename().to_string_lossy().into_owned();
    let is_possible = (1..=255).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    if is_possible { name } else { "-".to_owned() }
}

/// The type of the messages (RFC 5424 §6.2.7).
const MESSAGE_ID: &str = "access";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::Example;

    #[test]
    fn headers() {
        for (address, expected) in [
            ("", "<190>1 1994-11-06T08:49:37.042Z web1 serow 4711 access - "),
            ("?facility=kern&severity=emerg&tag=a.b", "<0>1 1994-11-06T08:49:37.042Z web1 a.b 4711 access - "),
            ("?rfc=3164", "<190>Nov  6 08:49:37 serow[4711]: "),
        ] {
            let header = Header::of(&address.parse().unwrap(), "web1", 4711);
            let mut line = Vec::new();
            header.write(&Example::unix().served(), &mut Date::new(), &mut line);
            assert_eq!(String::from_utf8(line).unwrap(), expected);
        }
        assert!(!host_name().is_empty() && !host_name().contains(' '));
    }
}
