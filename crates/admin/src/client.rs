//! The client of an admin endpoint.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixStream},
        },
    },
    path::{Path, PathBuf},
};

use bytes::BytesMut;
use serde_json::Value;
use serow::{Address, KnownHeader, RequestHead, StatusCode};
use serow_acme::CertificateCommand;
use serow_config::printable::on_one_line;
use serow_http1::{BodyLength, Client, Event, Limits};
use serow_supervisor::master::WantedProcess;

use super::{
    admin_request::{AdminRequest, TIMEOUT},
    ban_command::BanCommand,
    bans,
    cache_inquiry::{self, CacheInquiry},
    certificate_table,
    client_error::{AdminClientError, Reason, Search},
    fleet_servers,
    maintenance_command::MaintenanceCommand,
    purge_command::PurgeCommand,
    server_command::ServerCommand,
    server_table, summary,
};

/// A running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerIdentity(u64);

/// How the last order of a certificate ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastOrder {
    /// When, in milliseconds since 1970; nothing where none has ended yet.
    pub end: Option<u64>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

/// The response to a request of the client.
#[derive(Debug)]
pub(super) struct AdminResponse {
    pub(super) status: StatusCode,
    /// The version of the file that it is about.
    pub(super) etag: Option<String>,
    pub(super) body: String,
}

/// A client of the admin endpoint of a running server.
#[derive(Clone, Debug)]
pub struct AdminClient {
    address: Address,
    token: Option<String>,
    /// Whether commands are meant for all servers of the fleet.
    is_for_fleet: bool,
    /// How the address was found, where it was not given.
    search: Option<Search>,
}

impl AdminClient {
    /// A client for the endpoint at this address. Over TCP, requests that change something need the token.
    #[must_use]
    pub fn new(address: Address, token: Option<String>) -> Self {
        Self { address, token, is_for_fleet: false, search: None }
    }

    /// A client for the server of this settings file, whose socket is in one of these places: the first that exists.
    #[must_use]
    pub fn of_settings_file(file: PathBuf, places: Vec<PathBuf>) -> Self {
        let found = places.iter().find(|place| place.exists()).or(places.first());
        let address = Address::Unix(found.cloned().unwrap_or_default());
        Self { address, token: None, is_for_fleet: false, search: Some(Search { file, places }) }
    }

    /// The same for all servers of the fleet: commands that change servers of upstreams, bans, maintenance, the cache and added
    /// files are executed by all of them.
    #[must_use]
    pub fn for_fleet(self, is_for_fleet: bool) -> Self {
        Self { is_for_fleet, ..self }
    }

    /// Whether its commands are for all servers of the fleet.
    #[must_use]
    pub fn is_for_fleet(&self) -> bool {
        self.is_for_fleet
    }

    /// The status in JSON.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or does not answer with a status.
    pub fn status(&self) -> Result<String, AdminClientError> {
        self.send(&AdminRequest::Status)
    }

    /// The status as lines for people, as `serow status` prints it.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or answers with something that is not a status of Serow.
    pub fn summary(&self) -> Result<String, AdminClientError> {
        let status = self.status()?;
        summary::of(&status).ok_or_else(|| self.error(Reason::NotOurs))
    }

    /// The state of the fleet as this server knows it, in JSON.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, does not answer with a status, or has no fleet.
    pub fn fleet(&self) -> Result<String, AdminClientError> {
        Ok(format!("{:#}\n", self.status_of_fleet()?))
    }

    /// The servers of the fleet, as a table for people.
    ///
    /// # Errors
    ///
    /// As [`Self::fleet`].
    pub fn fleet_table(&self) -> Result<String, AdminClientError> {
        Ok(fleet_servers::table(&self.status_of_fleet()?))
    }

    fn status_of_fleet(&self) -> Result<Value, AdminClientError> {
        let mut status: Value = serde_json::from_str(&self.status()?).map_err(|_| self.error(Reason::NotOurs))?;
        match status["fleet"].take() {
            Value::Null => Err(self.error(Reason::NoFleet)),
            fleet => Ok(fleet),
        }
    }

    /// Reloads the settings file or the application, for the process that serves or a new one; waits until it is done,
    /// and returns a line about it.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or the reload failed; the reason may have several lines.
    pub fn reload(&self, process: WantedProcess) -> Result<String, AdminClientError> {
        self.send(&AdminRequest::Reload(process))
    }

    /// Stops the server gracefully; returns a line about it.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or refuses.
    pub fn stop(&self) -> Result<String, AdminClientError> {
        self.send(&AdminRequest::Stop)
    }

    /// Applies a command to a server of an upstream; returns a line about what was done.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or the command is not possible.
    pub fn change_server(&self, command: &ServerCommand) -> Result<String, AdminClientError> {
        let json = serde_json::to_string(command).map_err(|error| self.error(Reason::System(error.into())))?;
        self.send(&AdminRequest::Server(json))
    }

    /// The servers of an upstream, or of all, as tables for people.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or the server has no such upstream.
    pub fn upstream_table(&self, name: Option<&str>) -> Result<String, AdminClientError> {
        let table = server_table::of(&self.status_of_upstreams(name)?);
        Ok(if table.is_empty() { "the server has no upstreams\n".to_owned() } else { table.trim_start().to_owned() })
    }

    /// The servers of an upstream, or of all, in JSON.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or the server has no such upstream.
    pub fn upstreams(&self, name: Option<&str>) -> Result<String, AdminClientError> {
        Ok(format!("{:#}\n", self.status_of_upstreams(name)?["upstreams"]))
    }

    /// The status with this upstream only, or with all.
    fn status_of_upstreams(&self, name: Option<&str>) -> Result<Value, AdminClientError> {
        let mut status: Value = serde_json::from_str(&self.status()?).map_err(|_| self.error(Reason::NotOurs))?;
        let upstreams = status["upstreams"].as_array_mut().ok_or_else(|| self.error(Reason::NotOurs))?;
        let Some(name) = name else { return Ok(status) };
        let known = upstreams.iter().filter_map(|upstream| upstream["name"].as_str());
        let known = known.map(on_one_line).collect::<Vec<_>>().join(", ");
        upstreams.retain(|upstream| upstream["name"] == name);
        match upstreams.is_empty() {
            true => Err(self.error(Reason::NoUpstream { name: name.to_owned(), known })),
            false => Ok(status),
        }
    }

    /// Applies a command to a certificate; returns a line about what is being done.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or there is no such certificate.
    pub fn change_certificate(&self, command: &CertificateCommand) -> Result<String, AdminClientError> {
        let json = serde_json::to_string(command).map_err(|error| self.error(Reason::System(error.into())))?;
        self.send(&AdminRequest::Certificate(json))
    }

    /// Bans a client, or lifts a ban; returns a line about it.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or refuses.
    pub fn change_ban(&self, command: &BanCommand) -> Result<String, AdminClientError> {
        let json = serde_json::to_string(command).map_err(|error| self.error(Reason::System(error.into())))?;
        self.send(&AdminRequest::Ban(json))
    }

    /// The bans in JSON.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or does not answer with a status.
    pub fn bans(&self) -> Result<String, AdminClientError> {
        let status: Value = serde_json::from_str(&self.status()?).map_err(|_| self.error(Reason::NotOurs))?;
        Ok(format!("{:#}\n", status["bans"]))
    }

    /// The bans as a table for people.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or does not answer with a status.
    pub fn ban_table(&self) -> Result<String, AdminClientError> {
        let status: Value = serde_json::from_str(&self.status()?).map_err(|_| self.error(Reason::NotOurs))?;
        Ok(bans::table(&status))
    }

    /// Begins or ends maintenance; returns a line about it.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or refuses.
    pub fn change_maintenance(&self, command: &MaintenanceCommand) -> Result<String, AdminClientError> {
        let json = serde_json::to_string(command).map_err(|error| self.error(Reason::System(error.into())))?;
        self.send(&AdminRequest::Maintenance(json))
    }

    /// Purges the cache; returns a line about it.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, the server has no cache, or the command is wrong.
    pub fn purge(&self, command: &PurgeCommand) -> Result<String, AdminClientError> {
        let json = serde_json::to_string(command).map_err(|error| self.error(Reason::System(error.into())))?;
        self.send(&AdminRequest::Purge(json))
    }

    /// Returns the contents of the cache, in JSON.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or the server has no cache.
    pub fn cache(&self, inquiry: CacheInquiry) -> Result<String, AdminClientError> {
        self.send(&AdminRequest::Cache(inquiry))
    }

    /// Returns the contents of the cache, as lines for people.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or the server has no cache.
    pub fn cache_table(&self, inquiry: CacheInquiry) -> Result<String, AdminClientError> {
        cache_inquiry::table(&self.cache(inquiry)?).ok_or_else(|| self.error(Reason::NotOurs))
    }

    /// The automatic certificates in JSON.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or does not answer with a status.
    pub fn certificates(&self) -> Result<String, AdminClientError> {
        let status: Value = serde_json::from_str(&self.status()?).map_err(|_| self.error(Reason::NotOurs))?;
        Ok(format!("{:#}\n", status["certificates"]))
    }

    /// The automatic certificates as a table for people.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or does not answer with a status.
    pub fn certificate_table(&self) -> Result<String, AdminClientError> {
        let status: Value = serde_json::from_str(&self.status()?).map_err(|_| self.error(Reason::NotOurs))?;
        let table = certificate_table::of(&status);
        let none = || "the server has no automatic certificates\n".to_owned();
        Ok(if table.is_empty() { none() } else { table.trim_start().to_owned() })
    }

    /// How the last order of the certificate with this name ended, in the present generation.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or does not answer with a status.
    pub fn last_order(&self, name: &str) -> Result<LastOrder, AdminClientError> {
        let status: Value = serde_json::from_str(&self.status()?).map_err(|_| self.error(Reason::NotOurs))?;
        let has_name = |certificate: &&Value| {
            let names = certificate["names"].as_str().unwrap_or_default();
            names.split(',').any(|own| own.eq_ignore_ascii_case(name))
        };
        let certificate = status["certificates"].as_array().into_iter().flatten().find(has_name);
        let certificate = certificate.unwrap_or(&Value::Null);
        Ok(LastOrder {
            end: certificate["last_order_end"].as_u64(),
            failure: certificate["last_error"]
                .as_str()
                .filter(|_| certificate["last_order_failed"] == true)
                .map(str::to_owned),
        })
    }

    /// The address of the endpoint.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Which server answers at the endpoint, to tell it from one that takes its place.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or does not answer with a status.
    pub fn identity(&self) -> Result<ServerIdentity, AdminClientError> {
        let status: Option<Value> = serde_json::from_str(&self.status()?).ok();
        let started = status.and_then(|status| status["started"].as_u64());
        started.map(ServerIdentity).ok_or_else(|| self.error(Reason::NotOurs))
    }

    /// Whether this server still runs; the one that answers, if there is none. Its socket is there until it has ended.
    #[must_use]
    pub fn is_running(&self, server: Option<ServerIdentity>) -> bool {
        match self.identity() {
            Ok(answering) => server.is_none_or(|server| server == answering),
            Err(error) => match error.reason {
                Reason::Missing | Reason::Refuses | Reason::NotOurs => false,
                // A server that is stopping may have no status any more.
                _ => true,
            },
        }
    }

    pub(super) fn error(&self, reason: Reason) -> AdminClientError {
        AdminClientError { address: self.address.clone(), search: self.search.clone().map(Box::new), reason }
    }

    /// The body of a response that reports success.
    fn send(&self, request: &AdminRequest) -> Result<String, AdminClientError> {
        let AdminResponse { status, body, .. } = self.respond(request)?;
        if status == StatusCode::OK { Ok(body) } else { Err(self.error(Reason::Refused(status, body))) }
    }

    /// The response, whatever its status is.
    pub(super) fn respond(&self, request: &AdminRequest) -> Result<AdminResponse, AdminClientError> {
        let (timeout, head) =
            (request.timeout(self.is_for_fleet), request.head(self.token.as_deref(), self.is_for_fleet));
        match &self.address {
            Address::Unix(file) => connect(file).and_then(|stream| {
                stream.set_read_timeout(Some(timeout)).and(stream.set_write_timeout(Some(timeout)))?;
                Ok(exchange(stream, &head, request.body()))
            }),
            Address::Tcp(address) => TcpStream::connect_timeout(address, TIMEOUT).and_then(|stream| {
                stream.set_read_timeout(Some(timeout)).and(stream.set_write_timeout(Some(timeout)))?;
                Ok(exchange(stream, &head, request.body()))
            }),
            Address::Descriptor(_) => return Err(self.error(Reason::NotToConnect)),
        }
        .map_err(Reason::from)
        .and_then(|answer| answer)
        .map_err(|reason| self.error(reason))
    }
}

/// Connects to a unix socket; a name that begins with `@` is one of the abstract namespace (unix(7)).
fn connect(path: &Path) -> io::Result<UnixStream> {
    match path.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?),
        None => UnixStream::connect(path),
    }
}

/// One request, and its response.
fn exchange(mut stream: impl Read + Write, head: &RequestHead, body: &[u8]) -> Result<AdminResponse, Reason> {
    let mut client = Client::new(Limits::default());
    let mut output = Vec::new();
    let length = BodyLength::Known(body.len() as u64);
    let sent = client.send_head(head, length, &mut output).and_then(|_| match body.is_empty() {
        true => Ok(()),
        false => client.send_data(body, &mut output).and_then(|()| client.send_end(None, &mut output)),
    });
    sent.map_err(|_| Reason::NotOurs)?;
    stream.write_all(&output)?;
    let (mut input, mut body) = (BytesMut::new(), Vec::new());
    let (mut status, mut etag) = (StatusCode::OK, None);
    let mut chunk = [0; 16 * 1024];
    loop {
        match client.receive(&mut input).map_err(|_| Reason::NotOurs)? {
            Some(Event::Head(response)) if response.is_informational() => {}
            Some(Event::Head(response)) => {
                status = response.head.status;
                let value = response.head.headers.get(KnownHeader::Etag);
                etag = value.and_then(|value| std::str::from_utf8(value).ok()).map(str::to_owned);
            }
            Some(Event::Data(data)) => body.extend_from_slice(&data),
            Some(Event::End(_)) => return answer(status, etag, body),
            None => match stream.read(&mut chunk)? {
                0 => match client.handle_end() {
                    Ok(Some(Event::End(_))) => return answer(status, etag, body),
                    _ => return Err(Reason::NotOurs),
                },
                length => input.extend_from_slice(&chunk[..length]),
            },
        }
        if body.len() > MAX_RESPONSE {
            return Err(Reason::NotOurs);
        }
    }
}

fn answer(status: StatusCode, etag: Option<String>, body: Vec<u8>) -> Result<AdminResponse, Reason> {
    let body = String::from_utf8(body).map_err(|_| Reason::NotOurs)?;
    Ok(AdminResponse { status, etag, body })
}

/// The size of a status with ten thousands of servers: a peer that sends more is not Serow, and its response is not
/// kept in memory.
const MAX_RESPONSE: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that was recorded.
    struct Recorded<'a>(&'a [u8], usize);

    impl Read for Recorded<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1;
            self.0.read(&mut buffer[..most])
        }
    }

    impl Write for Recorded<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert_eq!(bytes, b"GET /status HTTP/1.1\r\nhost: localhost\r\n\r\n");
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn answers_whole_and_byte_by_byte() {
        let cases: [(&str, Option<&str>); 6] = [
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\netag: \"1\"\r\n\r\n{}", Some("200 \"1\" {}")),
            (
                "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
                Some("200  {}"),
            ),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", Some("200  {}")),
            ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}", None),
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}", Some("404  {}")),
            ("SSH-2.0-OpenSSH\r\n", None),
        ];
        for (answer, expected) in cases {
            for most in [1, 16 * 1024] {
                let response =
                    exchange(Recorded(answer.as_bytes(), most), &AdminRequest::Status.head(None, false), &[]);
                let shown = response.ok().map(|AdminResponse { status, etag, body }| {
                    format!("{} {} {body}", status.as_u16(), etag.unwrap_or_default())
                });
                assert_eq!(shown.as_deref(), expected, "{answer}");
            }
        }
    }
}
