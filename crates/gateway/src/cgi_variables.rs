//! The variables of a request for applications behind FastCGI, SCGI, uwsgi or CGI.

use std::net::SocketAddr;

use serow_fastcgi::{RequestFacts, Script, Variables, VariablesError, request_variables};
use serow_message::{ClientTarget, Headers, Peer, Request, Scheme, TrustedProxies, User, Version};

use crate::{CgiScript, decoded_path, host_and_port};

/// The variables of a request, but for CONTENT_LENGTH, which is known when the body is whole.
/// The fields are those that the script gets; the client is the one that trusted proxies name.
///
/// # Errors
///
/// As [`request_variables`]: values that no variable can have.
pub fn cgi_variables(
    request: &Request,
    headers: &Headers,
    trusted: &TrustedProxies,
) -> Result<Variables, VariablesError> {
    let (connection, host) = (request.connection(), request.host().unwrap_or_default());
    let scheme = trusted.client_scheme(&request.headers, connection);
    let (server_name, port) = host_and_port(host);
    let server_port = port.map_or_else(|| port_of(connection.local(), scheme).to_string(), str::to_owned);
    let address = trusted.client_address(&request.headers, connection);
    let remote_port = match connection.peer() {
        Peer::Tcp(peer) if Some(peer.ip().to_canonical()) == address => Some(peer.port()),
        _ => None,
    };
    let target = ClientTarget::of(request).clone().into_origin_form(false);
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
    request_variables(&facts, headers, is_shown)
}

/// The port of a request whose host has none.
fn port_of(local: Option<SocketAddr>, scheme: Scheme) -> u16 {
    let default = match scheme {
        Scheme::Http => 80,
        Scheme::Https => 443,
    };
    local.map_or(default, |local| local.port())
}

/// Applications look for the name of a server whose rewriting they know: WordPress offers permalinks without `index.php`
/// where this has `nginx`.
const SERVER_SOFTWARE: &str = concat!("Serow/", env!("CARGO_PKG_VERSION"), " (nginx compatible)");
