//! Requests to applications that speak FastCGI, SCGI or uwsgi.

use std::{net::SocketAddr, rc::Rc, sync::Arc};

use serow_client::{CgiConnection, CgiProtocol, CgiRequest};
use serow_fastcgi::{RequestFacts, Script, Variables, VariablesError, request_variables};
use serow_gateway::{CgiScript, decoded_path, host_and_port};
use serow_message::{Peer, Request, Scheme, StatusCode, TrustedProxies, User, Version};

use crate::{
    attempt_error::AttemptError, forwarding::Forwarding, lease::Lease, request_head,
    sequential_exchange::SequentialExchange, server_response::ServerResponse, settings::ForwardingSettings,
};

/// The variables of a request, but for CONTENT_LENGTH, which is known when the body is whole.
///
/// # Errors
///
/// The status that is answered instead.
pub(crate) fn variables(request: &Request, settings: &ForwardingSettings) -> Result<Variables, StatusCode> {
    let trusted = &settings.forwarded.trusted;
    let headers = request_head::of_script(request, settings);
    let (connection, host) = (request.connection(), request.host().unwrap_or_default());
    let scheme = trusted.client_scheme(&request.headers, connection);
    let (server_name, port) = host_and_port(host);
    let server_port = port.map_or_else(|| port_of(connection.local(), scheme).to_string(), str::to_owned);
    let address = trusted.client_address(&request.headers, connection);
    let remote_port = match connection.peer() {
        Peer::Tcp(peer) if Some(peer.ip().to_canonical()) == address => Some(peer.port()),
        _ => None,
    };
    let target = request.target.clone().into_origin_form(false);
    let script = request.extensions.get::<CgiScript>();
    let path = decoded_path(request.target.path());
    let facts = RequestFacts {
        method: request.method.as_str(),
        target: target.as_str(),
        query: request.target.query().unwrap_or_default(),
        protocol: match request.version {
            Version::HTTP_10 => "HTTP/1.0",
            Version::HTTP_2 => "HTTP/2.0",
            Version::HTTP_3 => "HTTP/3.0",
            _ => "HTTP/1.1",
        },
        scheme: match scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        },
        server_software: SERVER_SOFTWARE,
        server_name: if server_name.is_empty() { "localhost" } else { server_name },
        server_port: &server_port,
        server_address: connection.local().map(|local| local.ip().to_canonical()),
        remote_address: address,
        remote_port,
        user: request.extensions.get::<User>().map(|user| &*user.0),
        auth_type: None,
        content_length: None,
        authority: request.target.authority(),
        script: match script {
            Some(script) => Script {
                filename: Some(&script.filename),
                name: &script.name,
                path_info: script.path_info.as_deref(),
                document_root: Some(&script.document_root),
            },
            // An application that is one program: all of the path is for it.
            None => Script { path_info: Some(&path), ..Script::default() },
        },
    };
    let is_believed = trusted.contains(connection.peer());
    let is_shown = |name: &[u8], known| is_believed || !TrustedProxies::is_client_field(name, known);
    request_variables(&facts, &headers, is_shown).map_err(|error| status_of(&error))
}

impl Forwarding {
    /// One attempt at a server that speaks one of these protocols, on a connection of its own.
    pub(crate) async fn attempt_cgi(
        &mut self,
        lease: Lease,
        protocol: CgiProtocol,
    ) -> Result<ServerResponse, AttemptError> {
        let unsendable = |error: VariablesError| AttemptError::unsendable(error.to_string());
        let mut variables = self.variables.clone().unwrap_or_default();
        // The body is whole by now.
        let length = self.body.length().unwrap_or(0);
        if self.has_body {
            variables.set("CONTENT_LENGTH", length.to_string()).map_err(unsendable)?;
        }
        let wire = self.dial(lease.server()).await?;
        let request = CgiRequest { protocol, method: self.head.method().clone(), variables: *variables, length };
        let (asked, pool, server) = (self.head.asked(), Rc::clone(&self.local.pool), Arc::clone(lease.server()));
        let log = move |message: &str| {
            tracing::warn!(upstream = pool.upstream.settings().name, server = server.name(), "{asked}: {message}");
        };
        let buffers = Rc::clone(&self.local.pool.thread.buffers);
        let connection = Box::new(CgiConnection::begin(wire, buffers, request, log).map_err(unsendable)?);
        self.note_connection(true);
        let mut exchange = SequentialExchange::new(Rc::clone(&self.local.pool), lease, connection, false, self.until);
        self.set_timeouts(&mut exchange.deadline);
        let head = self.head.head_for(&exchange.server().settings().address);
        let response = exchange.response(head, &mut self.body, &self.informational).await?;
        exchange.into_answer(response, &self.head, &self.settings.response_buffering)
    }
}

/// The port of a request whose host has none.
fn port_of(local: Option<SocketAddr>, scheme: Scheme) -> u16 {
    let default = match scheme {
        Scheme::Http => 80,
        Scheme::Https => 443,
    };
    local.map_or(default, |local| local.port())
}

/// The status for the client of a request that cannot be expressed.
fn status_of(error: &VariablesError) -> StatusCode {
    match error {
        VariablesError::TooLong { .. } | VariablesError::PacketTooLong(_) => {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        }
        VariablesError::Name(_) | VariablesError::Nul(_) => StatusCode::BAD_REQUEST,
    }
}

/// Applications look for the name of a server whose rewriting they know: WordPress offers permalinks without `index.php`
/// where this has `nginx`.
const SERVER_SOFTWARE: &str = concat!("Serow/", env!("CARGO_PKG_VERSION"), " (nginx compatible)");
