//! Queries to name servers: over UDP, and over TCP where a reply is too long for a packet.

use std::{
    error::Error,
    fmt, fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    time::timeout,
};

use crate::{
    configuration::{Configuration, hosts, interface_number},
    message::{InvalidNameError, Question, Record, RecordData, RecordType, Reply},
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

/// A place where a service is.
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

    /// Where a service is.
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

    /// The records of the first of the names that there is; never none.
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
                // As in glibc: where the servers of one domain are broken, another may have the name. Where none has, it may still
                // be there.
                Err(error @ LookupError::ServerError(SERVER_FAILURE)) => failure = error,
                Err(error) => return Err(error),
            }
        }
        Err(failure)
    }
}

/// Asks one server after the other until one knows.
async fn query_servers(question: &Question, configuration: &Configuration) -> Result<Reply, LookupError> {
    let mut failure = LookupError::NoResponse;
    let mut servers = configuration.servers.clone();
    if configuration.rotates && !servers.is_empty() {
        let first = usize::from(random_id()?) % servers.len();
        servers.rotate_left(first);
    }
    for _ in 0..configuration.attempts {
        for server in &servers {
            // RFC 5452 §9.2: a new id for each query, or an attacker who has seen one could predict the next.
            let id = random_id()?;
            let asked = async {
                match configuration.over_tcp {
                    true => query_over_tcp(*server, question, id).await,
                    false => query(*server, question, id).await,
                }
            };
            match timeout(configuration.timeout, asked).await {
                Ok(Ok(Reply::Refused(code))) => failure = LookupError::ServerError(code),
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }
    Err(failure)
}

/// A number that nobody can guess.
fn random_id() -> Result<u16, LookupError> {
    let mut bytes = [0; 2];
    // The system's generator seeds this one. It fails where there is none.
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| LookupError::NoResponse)?;
    Ok(u16::from_ne_bytes(bytes))
}

/// Asks one server.
async fn query(server: SocketAddr, question: &Question, id: u16) -> io::Result<Reply> {
    // An unpredictable port: a forged reply does not reach it (RFC 5452 §9.2).
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    socket.send(&question.write(id)).await?;
    let mut packet = [0; MAX_PACKET];
    loop {
        let length = socket.recv(&mut packet).await?;
        match question.read_reply(packet.get(..length).unwrap_or_default(), id) {
            Some(Reply::Truncated) => {
                let id = random_id().map_err(io::Error::other)?;
                return query_over_tcp(server, question, id).await;
            }
            Some(reply) => return Ok(reply),
            None => {}
        }
    }
}

async fn query_over_tcp(server: SocketAddr, question: &Question, id: u16) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(server).await?;
    let message = question.write(id);
    // A name has at most 253 letters.
    let mut framed = (message.len() as u16).to_be_bytes().to_vec();
    framed.extend_from_slice(&message);
    stream.write_all(&framed).await?;
    let mut reply = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut reply).await?;
    question.read_reply(&reply, id).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Those to which there is a way from here: a machine without IPv6 need not try it. All of them where there is a way to none.
fn reachable(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
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
    fn address(&self) -> Option<IpAddr> {
        match self.data {
            RecordData::Address(address) => Some(address),
            RecordData::Service { .. } => None,
        }
    }

    fn service(self) -> Option<Service> {
        match self.data {
            RecordData::Service { priority, weight, port, host } if !host.is_empty() && port != 0 => {
                Some(Service { priority, weight, port, host })
            }
            RecordData::Service { .. } | RecordData::Address(_) => None,
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

/// RFC 1035 §4.2.1: longer replies are truncated, unless the client announces a larger buffer, which this one does not.
const MAX_PACKET: usize = 512;
