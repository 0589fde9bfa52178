//! Where messages go and what they say of themselves: `udp://host:514?facility=local7&severity=info&tag=serow`.

use std::{error::Error, fmt, net::IpAddr, path::PathBuf, str::FromStr};

/// The address behind `syslog:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogAddress {
    pub(super) transport: Transport,
    /// RFC 5424 §6.2.1.
    pub(super) facility: u8,
    pub(super) severity: u8,
    /// APP-NAME (RFC 5424 §6.2.5).
    pub(super) tag: String,
    pub(super) form: Form,
}

/// How messages travel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// As datagrams to a socket of this machine.
    Unix(PathBuf),
    /// As datagrams (RFC 5426) to this host and port.
    Udp(String, u16),
    /// In a stream, each behind its length (RFC 6587 §3.4.1).
    Tcp(String, u16),
}

/// The format of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Today's.
    Rfc5424,
    /// As syslog(3) writes it, and as many daemons expect it at /dev/log.
    Rfc3164,
}

impl FromStr for SyslogAddress {
    type Err = SyslogAddressError;

    fn from_str(text: &str) -> Result<Self, SyslogAddressError> {
        let invalid = |problem: String| SyslogAddressError { text: text.to_owned(), problem };
        let (place, options) = text.split_once('?').unwrap_or((text, ""));
        let mut address = Self {
            transport: transport(place).map_err(invalid)?,
            facility: LOCAL_7,
            severity: INFO,
            tag: "serow".to_owned(),
            form: Form::Rfc5424,
        };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            address.read(option).map_err(invalid)?;
        }
        Ok(address)
    }
}

impl SyslogAddress {
    /// Where the socket is in the file system, if it is.
    pub fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match &mut self.transport {
            Transport::Unix(path) => Some(path),
            Transport::Udp(..) | Transport::Tcp(..) => None,
        }
    }

    /// Whether the host is a name that has to be looked up.
    pub fn has_name(&self) -> bool {
        match &self.transport {
            Transport::Unix(_) => false,
            Transport::Udp(host, _) | Transport::Tcp(host, _) => host.parse::<IpAddr>().is_err(),
        }
    }

    /// Takes an option.
    fn read(&mut self, option: &str) -> Result<(), String> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let number = |names: &[&str]| match names.iter().position(|name| *name == value) {
            Some(number) => Ok(number as u8),
            None => Err(format!("{name} is one of {}", names.join(", "))),
        };
        match name {
            "facility" => self.facility = number(&FACILITIES)?,
            "severity" => self.severity = number(&SEVERITIES)?,
            "tag" if is_tag(value) => self.tag = value.to_owned(),
            "tag" => return Err(format!("tag is a word of up to {MAX_TAG} letters, digits, '.', '_' and '-'")),
            "rfc" => match value {
                "5424" => self.form = Form::Rfc5424,
                "3164" => self.form = Form::Rfc3164,
                _ => return Err("rfc is 5424 or 3164".to_owned()),
            },
            _ => return Err(format!("there is no option {name:?}; the options are facility, severity, tag and rfc")),
        }
        Ok(())
    }
}

fn transport(text: &str) -> Result<Transport, String> {
    if text.is_empty() {
        return Ok(Transport::Unix(LOCAL_SOCKET.into()));
    }
    let problem = || "write nothing (for /dev/log), unix:/path, udp://host:514 or tcp://host:601".to_owned();
    if let Some(path) = text.strip_prefix("unix:") {
        return if path.is_empty() { Err(problem()) } else { Ok(Transport::Unix(path.into())) };
    }
    let (scheme, place) = text.split_once("://").ok_or_else(problem)?;
    let port = match scheme {
        "udp" => UDP_PORT,
        "tcp" => TCP_PORT,
        _ => return Err(problem()),
    };
    let (host, port) = host_and_port(place, port).ok_or_else(problem)?;
    Ok(if scheme == "udp" { Transport::Udp(host, port) } else { Transport::Tcp(host, port) })
}

/// `host`, `host:port`, `[::1]` or `[::1]:port`.
fn host_and_port(text: &str, port: u16) -> Option<(String, u16)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inside) => inside.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match rest {
        "" => port,
        rest => rest.strip_prefix(':')?.parse().ok().filter(|port| *port != 0)?,
    };
    let is_host =
        !host.is_empty() && !host.contains(|character: char| character.is_control() || " /@".contains(character));
    is_host.then(|| (host.to_owned(), port))
}

/// Of PRINTUSASCII (RFC 5424 §6) what no daemon takes for the end of the tag, in a file name or in syslog(3)'s form.
fn is_tag(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=MAX_TAG).contains(&text.len()) && text.bytes().all(is_letter)
}

/// As it is written, without what is the default.
impl fmt::Display for SyslogAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = |host: &str| if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        match &self.transport {
            Transport::Unix(path) => write!(f, "unix:{}", path.display())?,
            Transport::Udp(name, port) => write!(f, "udp://{}:{port}", host(name))?,
            Transport::Tcp(name, port) => write!(f, "tcp://{}:{port}", host(name))?,
        }
        let options = [
            (self.facility != LOCAL_7).then(|| format!("facility={}", FACILITIES[usize::from(self.facility)])),
            (self.severity != INFO).then(|| format!("severity={}", SEVERITIES[usize::from(self.severity)])),
            (self.tag != "serow").then(|| format!("tag={}", self.tag)),
            (self.form == Form::Rfc3164).then(|| "rfc=3164".to_owned()),
        ];
        let options: Vec<_> = options.into_iter().flatten().collect();
        if options.is_empty() { Ok(()) } else { write!(f, "?{}", options.join("&")) }
    }
}

/// Why a text is not such an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogAddressError {
    text: String,
    problem: String,
}

impl fmt::Display for SyslogAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As in Debug, so that whatever was typed stays on one line.
        write!(f, "{:?}: {}", format!("syslog:{}", self.text), self.problem)
    }
}

impl Error for SyslogAddressError {}

/// Where syslog(3) sends to.
const LOCAL_SOCKET: &str = "/dev/log";

/// RFC 5426 §3.3 and RFC 6587 §3.1; IANA has 601 for syslog over TCP.
const UDP_PORT: u16 = 514;
const TCP_PORT: u16 = 601;

/// nginx's defaults.
const LOCAL_7: u8 = 23;
const INFO: u8 = 6;

/// RFC 5424 §6.2.5.
const MAX_TAG: usize = 48;

/// In the order of their numbers (RFC 5424 §6.2.1); the names are those of syslog(3), and for the rest rsyslog's.
const FACILITIES: [&str; 24] = [
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp",
    "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
];
const SEVERITIES: [&str; 8] = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let host = "logs.example".to_owned();
        for (text, transport, shown) in [
            ("", Transport::Unix("/dev/log".into()), "unix:/dev/log"),
            ("unix:/run/x.sock", Transport::Unix("/run/x.sock".into()), "unix:/run/x.sock"),
            ("udp://logs.example", Transport::Udp(host.clone(), 514), "udp://logs.example:514"),
            ("udp://10.0.0.1:5514", Transport::Udp("10.0.0.1".to_owned(), 5514), "udp://10.0.0.1:5514"),
            ("tcp://logs.example", Transport::Tcp(host, 601), "tcp://logs.example:601"),
            ("tcp://[::1]:6601", Transport::Tcp("::1".to_owned(), 6601), "tcp://[::1]:6601"),
            ("tcp://[::1]", Transport::Tcp("::1".to_owned(), 601), "tcp://[::1]:601"),
        ] {
            let address: SyslogAddress = text.parse().unwrap();
            assert_eq!(address.transport, transport, "{text}");
            assert_eq!((address.facility, address.severity, address.tag.as_str()), (23, 6, "serow"));
            assert_eq!(address.to_string(), shown);
        }
    }

    #[test]
    fn options_of_addresses_are_parsed() {
        let text = "udp://h:514?facility=daemon&severity=notice&tag=web-1&rfc=3164";
        let address: SyslogAddress = text.parse().unwrap();
        assert_eq!((address.facility, address.severity, address.tag.as_str()), (3, 5, "web-1"));
        assert_eq!((address.form, address.to_string().as_str()), (Form::Rfc3164, text));
        let without = "?facility=local7&severity=info&tag=serow&rfc=5424".parse::<SyslogAddress>();
        assert_eq!(without, "".parse());
    }

    #[test]
    fn invalid_addresses_are_refused_with_the_reason() {
        let places = "write nothing (for /dev/log), unix:/path, udp://host:514 or tcp://host:601";
        for (text, expected) in [
            ("logs.example", places),
            ("http://h", places),
            ("udp://", places),
            ("udp://h:", places),
            ("udp://h:0", places),
            ("udp://h:70000", places),
            ("udp://::1", places),
            ("tcp://[::1", places),
            ("unix:", places),
            ("?tag=a b", "tag is a word of up to 48 letters, digits, '.', '_' and '-'"),
            ("?tag=", "tag is a word of up to 48 letters, digits, '.', '_' and '-'"),
            ("?severity=warn", "severity is one of emerg, alert, crit, err, warning, notice, info, debug"),
            ("?rfc=1", "rfc is 5424 or 3164"),
            ("?colour=red", "there is no option \"colour\"; the options are facility, severity, tag and rfc"),
        ] {
            let error = text.parse::<SyslogAddress>().unwrap_err().to_string();
            assert_eq!(error, format!("{:?}: {expected}", format!("syslog:{text}")));
        }
        assert!("?facility=x".parse::<SyslogAddress>().unwrap_err().to_string().contains("one of kern, user, mail"));
    }
}
