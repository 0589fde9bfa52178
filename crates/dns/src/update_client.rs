//! Updates on the way to the primary name server of a zone, and the questions to name servers that belong to them.

use std::{
    error::Error,
    fmt, io,
    net::{IpAddr, SocketAddr},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::time::timeout;

use crate::{
    message::{InvalidUpdateError, Question, Record, RecordChange, RecordData, RecordType, Reply, TextUpdate},
    query::{exchange_over_tcp, query, random_id},
    resolver::{LookupError, Resolver, reachable},
    tsig::{TsigError, TsigKey},
};

/// Changes texts (TXT) of a name at the primary server of its zone.
#[derive(Clone, Debug)]
pub struct UpdateClient {
    /// The server.
    pub server: SocketAddr,
    /// The key that it shares with this client.
    pub key: TsigKey,
}

/// Why a record was not changed.
#[derive(Debug)]
pub enum UpdateError {
    /// The server cannot be reached.
    Connection(io::Error),
    /// It does not answer in time.
    Timeout,
    /// It does not answer a question.
    Lookup {
        /// The name that was looked up.
        name: String,
        /// Why there is no answer.
        error: LookupError,
    },
    /// It has none of the zones that the name can be in.
    NoZone(String),
    /// A name that leads to another, and so on, for more than eight times.
    AliasChain(String),
    /// The update cannot be written.
    Invalid(InvalidUpdateError),
    /// The server's response, or what is wrong with it.
    Response(TsigError),
}

impl UpdateClient {
    /// The name that is to be changed for this one: where it is an alias (CNAME), its target, as others look it up.
    ///
    /// # Errors
    ///
    /// If the server does not answer, or if the aliases do not end.
    pub async fn canonical_name(&self, name: &str) -> Result<String, UpdateError> {
        let mut current = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        for _ in 0..=MAX_ALIASES {
            match self.alias_target(&current).await? {
                Some(target) if !self.is_of_wildcard(&current, &target).await? => current = target,
                _ => return Ok(current),
            }
        }
        Err(UpdateError::AliasChain(name.to_owned()))
    }

    /// The zone of a name, in which the server has it: the longest of its ends that a zone begins at.
    ///
    /// # Errors
    ///
    /// If the server does not answer, or does not have such a zone.
    pub async fn zone(&self, name: &str) -> Result<String, UpdateError> {
        for candidate in ends(name) {
            let records = match self.records(candidate, RecordType::Soa).await {
                // It does not have this zone, nor one above it.
                Err(UpdateError::NoZone(_)) => break,
                records => records?,
            };
            if records.iter().any(|record| record.data == RecordData::StartOfZone) {
                return Ok(candidate.to_owned());
            }
        }
        Err(UpdateError::NoZone(name.to_owned()))
    }

    /// The names of the zone's servers.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub async fn name_servers(&self, zone: &str) -> Result<Vec<String>, UpdateError> {
        let records = self.records(zone, RecordType::Ns).await?;
        Ok(records.into_iter().filter_map(Record::into_host).collect())
    }

    /// The addresses of a host, as this server knows them, or else the system; those that can be reached from here.
    ///
    /// # Errors
    ///
    /// Why none was found.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        let mut addresses = Vec::new();
        for kind in [RecordType::A, RecordType::Aaaa] {
            // It may not answer for hosts outside its zones.
            let records = lookup(self.server, host, kind).await.unwrap_or_default();
            addresses.extend(records.iter().filter_map(Record::address));
        }
        if addresses.is_empty() {
            // With a dot, since the search domains are not meant.
            return Ok(Resolver::default().addresses(&format!("{host}.")).await?.items);
        }
        Ok(reachable(addresses))
    }

    /// Changes a text of a name. The signature contains the time of `clock`, which must agree with the server's clock
    /// (RFC 8945 §5.2.3).
    ///
    /// # Errors
    ///
    /// Why it was not changed; or that it is not known whether it was.
    pub async fn update(
        &self,
        zone: &str,
        name: &str,
        text: &str,
        change: RecordChange,
        clock: fn() -> SystemTime,
    ) -> Result<(), UpdateError> {
        let update = TextUpdate::new(zone, name, text, change).map_err(UpdateError::Invalid)?;
        let id = random_id().map_err(|error| UpdateError::Lookup { name: name.to_owned(), error })?;
        let seconds = || clock().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let request = self.key.sign(&update.write(id), seconds());
        let response = timeout(UPDATE_TIMEOUT, exchange_over_tcp(self.server, request.bytes())).await;
        let response = response.map_err(|_| UpdateError::Timeout)?.map_err(UpdateError::Connection)?;
        request.verify(&self.key, &response, seconds()).map_err(UpdateError::Response)
    }

    async fn alias_target(&self, name: &str) -> Result<Option<String>, UpdateError> {
        Ok(self.records(name, RecordType::Cname).await?.into_iter().find_map(Record::into_host))
    }

    /// Whether the alias is that of a wildcard above it (`*.example.com`), which does not apply to a name that exists
    /// (RFC 4592 §3.3.1), and is not meant for validation.
    async fn is_of_wildcard(&self, name: &str, target: &str) -> Result<bool, UpdateError> {
        for end in ends(name).skip(1) {
            match self.alias_target(&format!("*.{end}")).await {
                Ok(Some(found)) if found == target => return Ok(true),
                Err(UpdateError::NoZone(_)) => break,
                found => drop(found?),
            }
        }
        Ok(false)
    }

    /// The records of a name at this server; none if the name does not exist.
    async fn records(&self, name: &str, kind: RecordType) -> Result<Vec<Record>, UpdateError> {
        lookup(self.server, name, kind).await.map_err(|error| match error {
            // Of names outside its zones.
            LookupError::ServerError(REFUSED) => UpdateError::NoZone(name.to_owned()),
            error => UpdateError::Lookup { name: name.to_owned(), error },
        })
    }
}

/// Whether a name server has this text of this name.
///
/// # Errors
///
/// If it does not answer, or reports an error.
pub async fn has_text(server: SocketAddr, name: &str, text: &str) -> Result<bool, LookupError> {
    let records = lookup(server, name, RecordType::Txt).await?;
    Ok(records.iter().any(|record| record.data == RecordData::Text(text.as_bytes().to_vec())))
}

/// The records that a server has; none if the name does not exist.
async fn lookup(server: SocketAddr, name: &str, kind: RecordType) -> Result<Vec<Record>, LookupError> {
    let question = Question::new(name, kind)?;
    for _ in 0..ATTEMPTS {
        match timeout(QUERY_TIMEOUT, query(server, &question, random_id()?)).await {
            Ok(Ok(Reply::Records(records))) => return Ok(records),
            Ok(Ok(Reply::NoSuchName)) => return Ok(Vec::new()),
            Ok(Ok(Reply::Refused(code))) => return Err(LookupError::ServerError(code)),
            Ok(Ok(Reply::Truncated) | Err(_)) | Err(_) => {}
        }
    }
    Err(LookupError::NoResponse)
}

/// The name, and what is left of it without its first label, its first two, and so on.
fn ends(name: &str) -> impl Iterator<Item = &str> {
    let name = name.strip_suffix('.').unwrap_or(name);
    std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, rest)| rest))
}

impl Record {
    fn into_host(self) -> Option<String> {
        match self.data {
            RecordData::Host(host) => Some(host),
            _ => None,
        }
    }
}

impl fmt::Display for UpdateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => write!(formatter, "it cannot be reached: {error}"),
            Self::Timeout => write!(formatter, "it does not answer an update within {UPDATE_TIMEOUT:?}"),
            Self::Lookup { name, error: LookupError::NoResponse } => {
                write!(formatter, "it does not answer a query for {name}")
            }
            Self::Lookup { name, error } => write!(formatter, "on a query for {name}: {error}"),
            Self::NoZone(name) => write!(formatter, "it has no zone with the name {name}: name the server that has it"),
            Self::AliasChain(name) => {
                write!(formatter, "{name} is the start of more than {MAX_ALIASES} aliases (CNAME): shorten the chain")
            }
            Self::Invalid(error) => error.fmt(formatter),
            Self::Response(error) => error.fmt(formatter),
        }
    }
}

impl Error for UpdateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connection(error) => Some(error),
            Self::Lookup { error, .. } => Some(error),
            Self::Invalid(error) => Some(error),
            Self::Response(error) => Some(error),
            Self::Timeout | Self::NoZone(_) | Self::AliasChain(_) => None,
        }
    }
}

/// Fewer than resolvers follow (11 in BIND and Unbound): a loop of aliases would otherwise never end.
const MAX_ALIASES: usize = 8;

/// RFC 1035 §4.1.1.
const REFUSED: u8 = 5;

/// A server may write the change to its disk before it answers.
const UPDATE_TIMEOUT: Duration = Duration::from_secs(30);

/// As dig's (+timeout=5 +tries=3), and less, since a server that does not answer is passed over.
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);
const ATTEMPTS: usize = 2;

#[cfg(test)]
mod tests;
