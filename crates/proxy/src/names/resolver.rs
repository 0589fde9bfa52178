//! Asking name servers: over UDP, and over TCP what is too long for a packet.

use std::{
    collections::hash_map::RandomState,
    error::Error,
    fmt, fs,
    hash::BuildHasher,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    time::timeout,
};

use super::{
    files::{Configuration, hosts},
    message::{Data, InvalidName, Kind, Question, Record, Reply},
};

/// How names are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameSettings {
    /// Name servers instead of those that `configuration` names.
    pub servers: Vec<SocketAddr>,
    /// Which name servers are asked, and what is put behind short names; `/etc/resolv.conf`, see resolv.conf(5).
    pub configuration: PathBuf,
    /// Names that are known without asking; `/etc/hosts`, see hosts(5).
    pub hosts: PathBuf,
}

impl Default for NameSettings {
    fn default() -> Self {
        Self { servers: Vec::new(), configuration: "/etc/resolv.conf".into(), hosts: "/etc/hosts".into() }
    }
}

/// Looks up names. The files are read each time: somebody may have changed them.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    settings: NameSettings,
    random: RandomState,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found<T> {
    /// Never empty.
    pub(super) items: Vec<T>,
    /// For how long that holds.
    pub(super) lifetime: Duration,
}

/// A place where a service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) priority: u16,
    pub(super) weight: u16,
    pub(super) port: u16,
    pub(super) host: String,
}

/// Why nothing was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LookupError {
    InvalidName,
    NoSuchName,
    /// The name is there, and has nothing of what is asked for.
    Nothing,
    /// No name server answers.
    Silence,
    /// A name server answers that it cannot or will not say.
    Refused(u8),
}

impl Resolver {
    pub(super) fn new(settings: NameSettings) -> Self {
        Self { settings, random: RandomState::new() }
    }

    /// The addresses of a host that can be reached from here.
    pub(super) async fn addresses(&self, host: &str) -> Result<Found<IpAddr>, LookupError> {
        let known = hosts(&fs::read_to_string(&self.settings.hosts).unwrap_or_default(), host);
        if !known.is_empty() {
            return Ok(Found { items: reachable(known), lifetime: LIFETIME_OF_FILES });
        }
        let (old, new) = tokio::join!(self.records(host, Kind::A), self.records(host, Kind::Aaaa));
        let records = match (old, new) {
            (Ok(old), Ok(new)) => [old, new].concat(),
            (Ok(records), Err(_)) | (Err(_), Ok(records)) => records,
            (Err(LookupError::Nothing), Err(error)) | (Err(error), Err(_)) => return Err(error),
        };
        let mut found = Found::of(&records);
        found.items = reachable(records.iter().filter_map(Record::address).collect());
        Ok(found)
    }

    /// Where a service is.
    pub(super) async fn services(&self, name: &str) -> Result<Found<Service>, LookupError> {
        let records = self.records(name, Kind::Srv).await?;
        let mut found = Found::of(&records);
        found.items = records.into_iter().filter_map(Record::service).collect();
        if found.items.is_empty() { Err(LookupError::Nothing) } else { Ok(found) }
    }

    /// The records of the first of the names that there is; never none.
    async fn records(&self, name: &str, kind: Kind) -> Result<Vec<Record>, LookupError> {
        let mut configuration =
            Configuration::of_text(&fs::read_to_string(&self.settings.configuration).unwrap_or_default());
        if !self.settings.servers.is_empty() {
            configuration.servers.clone_from(&self.settings.servers);
        }
        let mut failure = LookupError::NoSuchName;
        for candidate in configuration.candidates(name) {
            let question = Question::new(&candidate, kind)?;
            match self.ask_all(&question, &configuration).await? {
                Reply::Records(records) if !records.is_empty() => return Ok(records),
                Reply::Records(_) => failure = LookupError::Nothing,
                Reply::NoSuchName | Reply::Truncated | Reply::Refused(_) => {}
            }
        }
        Err(failure)
    }

    /// Asks one server after the other until one knows.
    async fn ask_all(&self, question: &Question, configuration: &Configuration) -> Result<Reply, LookupError> {
        let mut failure = LookupError::Silence;
        for attempt in 0..configuration.attempts {
            for server in &configuration.servers {
                let id = self.random.hash_one((question.write(0), attempt, server)) as u16;
                match timeout(configuration.timeout, ask(*server, question, id)).await {
                    Ok(Ok(Reply::Refused(code))) => failure = LookupError::Refused(code),
                    Ok(Ok(reply)) => return Ok(reply),
                    Ok(Err(_)) | Err(_) => {}
                }
            }
        }
        Err(failure)
    }
}

/// Asks one server.
async fn ask(server: SocketAddr, question: &Question, id: u16) -> io::Result<Reply> {
    // A port that nobody can know beforehand: a reply that somebody else makes up does not find it (RFC 5452 §9.2).
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    socket.send(&question.write(id)).await?;
    let mut packet = [0; LARGEST_PACKET];
    loop {
        let length = socket.recv(&mut packet).await?;
        match question.read_reply(packet.get(..length).unwrap_or_default(), id) {
            Some(Reply::Truncated) => return ask_over_tcp(server, question, id).await,
            Some(reply) => return Ok(reply),
            None => {}
        }
    }
}

async fn ask_over_tcp(server: SocketAddr, question: &Question, id: u16) -> io::Result<Reply> {
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

impl<T> Found<T> {
    /// As long as the shortest of the records holds.
    fn of(records: &[Record]) -> Self {
        let lifetime = records.iter().map(|record| record.lifetime).min().unwrap_or_default();
        Self { items: Vec::new(), lifetime }
    }
}

impl Record {
    fn address(&self) -> Option<IpAddr> {
        match self.data {
            Data::Address(address) => Some(address),
            Data::Service { .. } => None,
        }
    }

    fn service(self) -> Option<Service> {
        match self.data {
            Data::Service { priority, weight, port, host } if !host.is_empty() && port != 0 => {
                Some(Service { priority, weight, port, host })
            }
            Data::Service { .. } | Data::Address(_) => None,
        }
    }
}

impl From<InvalidName> for LookupError {
    fn from(_: InvalidName) -> Self {
        Self::InvalidName
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidName => InvalidName.fmt(formatter),
            Self::NoSuchName => formatter.write_str("there is no such name"),
            Self::Nothing => formatter.write_str("the name has no addresses"),
            Self::Silence => formatter.write_str("no name server answers"),
            Self::Refused(2) => formatter.write_str("the name servers have a problem (SERVFAIL)"),
            Self::Refused(5) => formatter.write_str("the name servers refuse to say (REFUSED)"),
            Self::Refused(code) => write!(formatter, "the name servers answer with error {code}"),
        }
    }
}

impl Error for LookupError {}

/// What stands in files is looked at again as often.
const LIFETIME_OF_FILES: Duration = Duration::from_secs(10);

/// RFC 1035 §4.2.1: what is longer is truncated, unless the client says that it takes more, which this one does not.
const LARGEST_PACKET: usize = 512;
