//! The resolver: looks up names in the hosts file and with name servers.

use std::{
    error::Error,
    fmt, fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use crate::{
    configuration::{Configuration, hosts, interface_number},
    message::{InvalidNameError, Question, Record, RecordData, RecordType, Reply},
    query::query_servers,
};

/// How names are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverSettings {
    /// Name servers instead of those that `configuration` names.
    pub servers: Vec<SocketAddr>,
    /// The file that names the name servers and the search domains; `/etc/resolv.conf`, see resolv.conf(5).
    pub configuration: PathBuf,
    /// Names that are known without asking; `/etc/hosts`, see hosts(5).
    pub hosts: PathBuf,
    /// How long the servers of a name are kept after name servers report that it does not exist or has no addresses any
    /// more; 30 s, as HAProxy's `hold nx`. A container that is being replaced has no name for a moment, and later its
    /// address may belong to another one. While name servers do not respond or fail (SERVFAIL), servers are kept
    /// without limit.
    pub hold: Duration,
}

impl Default for ResolverSettings {
    fn default() -> Self {
        let hold = Duration::from_secs(30);
        Self { servers: Vec::new(), configuration: "/etc/resolv.conf".into(), hosts: "/etc/hosts".into(), hold }
    }
}

/// Looks up names. It reads the files for every lookup, because they may have changed.
#[derive(Debug, Default)]
pub struct Resolver {
    settings: ResolverSettings,
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<T> {
    /// Never empty.
    pub items: Vec<T>,
    /// For how long that holds.
    pub ttl: Duration,
}

/// A host of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Hosts with the lowest number are tried first.
    pub priority: u16,
    /// The share among hosts of the same priority.
    pub weight: u16,
    /// The port.
    pub port: u16,
    /// The host's name, without the dot at the end.
    pub host: String,
}

/// Why nothing was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// The name is not one of a host.
    InvalidName,
    /// The name does not exist (NXDOMAIN).
    NoSuchName,
    /// The name exists, but has no records of this type.
    NoRecords,
    /// No name server answers.
    NoResponse,
    /// A name server answers that it cannot or will not say.
    ServerError(u8),
}

impl Resolver {
    /// A resolver with these settings.
    #[must_use]
    pub fn new(settings: ResolverSettings) -> Self {
        Self { settings }
    }

    /// How long a name that is gone still counts.
    #[must_use]
    pub fn hold(&self) -> Duration {
        self.settings.hold
    }

    /// The addresses of a host that can be reached from here.
    ///
    /// # Errors
    ///
    /// Why none was found.
    pub async fn addresses(&self, host: &str) -> Result<Answer<IpAddr>, LookupError> {
        let known = hosts(&fs::read_to_string(&self.settings.hosts).unwrap_or_default(), host);
        if !known.is_empty() {
            return Ok(Answer { items: reachable(known), ttl: FILES_TTL });
        }
        let (old, new) = tokio::join!(self.records(host, RecordType::A), self.records(host, RecordType::Aaaa));
        let records = match (old, new) {
            (Ok(old), Ok(new)) => [old, new].concat(),
            (Ok(records), Err(_)) | (Err(_), Ok(records)) => records,
            (Err(LookupError::NoRecords), Err(error)) | (Err(error), Err(_)) => return Err(error),
        };
        let mut found = Answer::of(&records);
        found.items = reachable(records.iter().filter_map(Record::address).collect());
        Ok(found)
    }

    /// The hosts of a service.
    ///
    /// # Errors
    ///
    /// Why none was found.
    pub async fn services(&self, name: &str) -> Result<Answer<Service>, LookupError> {
        let records = self.records(name, RecordType::Srv).await?;
        let mut found = Answer::of(&records);
        found.items = records.into_iter().filter_map(Record::service).collect();
        if found.items.is_empty() { Err(LookupError::NoRecords) } else { Ok(found) }
    }

    /// The texts (TXT) of a name, each with its strings joined; none if it has none or does not exist.
    ///
    /// # Errors
    ///
    /// If no name server answers, or if they fail.
    pub async fn texts(&self, name: &str) -> Result<Vec<Vec<u8>>, LookupError> {
        match self.records(name, RecordType::Txt).await {
            Ok(records) => Ok(records.into_iter().filter_map(Record::text).collect()),
            Err(error) if error.is_final() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The records of the first name that has any; never empty.
    async fn records(&self, name: &str, kind: RecordType) -> Result<Vec<Record>, LookupError> {
        let text = fs::read_to_string(&self.settings.configuration).unwrap_or_default();
        let mut configuration = Configuration::parse(&text, interface_number);
        if !self.settings.servers.is_empty() {
            configuration.servers.clone_from(&self.settings.servers);
        }
        let mut failure = LookupError::NoSuchName;
        for candidate in configuration.candidates(name) {
            let question = Question::new(&candidate, kind)?;
            match query_servers(&question, &configuration).await {
                Ok(Reply::Records(records)) if !records.is_empty() => return Ok(records),
                Ok(Reply::Records(_)) if failure == LookupError::NoSuchName => failure = LookupError::NoRecords,
                Ok(_) => {}
                // As in glibc: if the servers of one domain fail, another domain may have the name. If none has it, the
                // name may still exist.
                Err(error @ LookupError::ServerError(SERVER_FAILURE)) => failure = error,
                Err(error) => return Err(error),
            }
        }
        Err(failure)
    }
}

/// The addresses with a route: a machine without IPv6 need not try it. All of them if there is a route to none.
pub(crate) fn reachable(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let has_way = |address: &IpAddr| {
        let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        // Sends nothing: the kernel looks for a route.
        std::net::UdpSocket::bind((any, 0)).and_then(|socket| socket.connect((*address, 9))).is_ok()
    };
    let found: Vec<_> = addresses.iter().copied().filter(has_way).collect();
    if found.is_empty() { addresses } else { found }
}

impl<T> Answer<T> {
    /// As long as the shortest of the records holds.
    fn of(records: &[Record]) -> Self {
        let ttl = records.iter().map(|record| record.ttl).min().unwrap_or_default();
        Self { items: Vec::new(), ttl }
    }
}

impl Record {
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self.data {
            RecordData::Address(address) => Some(address),
            _ => None,
        }
    }

    fn text(self) -> Option<Vec<u8>> {
        match self.data {
            RecordData::Text(text) => Some(text),
            _ => None,
        }
    }

    fn service(self) -> Option<Service> {
        match self.data {
            RecordData::Service { priority, weight, port, host } if !host.is_empty() && port != 0 => {
                Some(Service { priority, weight, port, host })
            }
            _ => None,
        }
    }
}

impl LookupError {
    /// Whether name servers know that there are no records, rather than failing to report them.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::NoSuchName | Self::NoRecords)
    }
}

impl From<InvalidNameError> for LookupError {
    fn from(_: InvalidNameError) -> Self {
        Self::InvalidName
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidName => InvalidNameError.fmt(formatter),
            Self::NoSuchName => formatter.write_str("there is no such name"),
            Self::NoRecords => formatter.write_str("the name has no addresses"),
            Self::NoResponse => formatter.write_str("no name server answers"),
            Self::ServerError(SERVER_FAILURE) => formatter.write_str("the name servers failed (SERVFAIL)"),
            Self::ServerError(5) => formatter.write_str("the name servers refused the query (REFUSED)"),
            Self::ServerError(code) => write!(formatter, "the name servers answer with error {code}"),
        }
    }
}

impl Error for LookupError {}

/// RFC 1035 §4.1.1: SERVFAIL.
const SERVER_FAILURE: u8 = 2;

/// How often the files are read again.
const FILES_TTL: Duration = Duration::from_secs(10);
