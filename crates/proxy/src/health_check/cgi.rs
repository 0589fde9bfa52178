//! A check by FastCGI, SCGI or uwsgi, such as php-fpm's `ping.path`.

use std::{future::poll_fn, rc::Rc};

use serow_client::{Buffers, CgiConnection, CgiProtocol, CgiRequest};
use serow_fastcgi::{RequestFacts, Script, Variables, VariablesError, request_variables};
use serow_gateway::host_and_port;
use serow_http1::Event;
use serow_message::{Headers, KnownHeader, Method};
use serow_net::Wire;

use super::{
    error::CheckError,
    expectation::{Expectation, Progress},
    http::AGENT,
};
use crate::settings::HttpCheck;

/// Asks for the path of the check.
pub(super) async fn ask(
    wire: Wire,
    buffers: Rc<Buffers>,
    protocol: CgiProtocol,
    check: &HttpCheck,
    authority: &str,
) -> Result<(), CheckError> {
    let variables = variables(protocol, check, check.host.as_deref().unwrap_or(authority));
    let variables = variables.map_err(|_| CheckError::Unsendable)?;
    let request = CgiRequest { protocol, method: Method::GET, variables, length: 0 };
    let begun = CgiConnection::begin(wire, buffers, request, |message| tracing::debug!("health check: {message}"));
    let mut connection = begun.map_err(|_| CheckError::Unsendable)?;
    poll_fn(|context| connection.poll_flush(context)).await.map_err(CheckError::Broken)?;
    let mut expectation = Expectation::new(check);
    loop {
        let event = poll_fn(|context| connection.poll_receive(context)).await.map_err(CheckError::Broken)?;
        let progress = match event {
            Event::Head(response) => expectation.handle_head(&response.head)?,
            Event::Data(data) => expectation.handle_data(&data)?,
            Event::End(_) => return expectation.handle_end(),
        };
        if progress == Progress::Good {
            return Ok(());
        }
    }
}

fn variables(protocol: CgiProtocol, check: &HttpCheck, host: &str) -> Result<Variables, VariablesError> {
    let (path, query) = check.path.split_once('?').unwrap_or((&check.path, ""));
    let (server_name, port) = host_and_port(host);
    let script = match protocol {
        // php-fpm compares SCRIPT_NAME with `ping.path`; another path is that of a script.
        CgiProtocol::Fastcgi => Script { filename: Some(path.as_bytes()), name: path.as_bytes(), ..Script::default() },
        CgiProtocol::Scgi | CgiProtocol::Uwsgi => Script { path_info: Some(path.as_bytes()), ..Script::default() },
    };
    let facts = RequestFacts {
        method: "GET",
        target: &check.path,
        query,
        protocol: "HTTP/1.1",
        scheme: "http",
        server_software: AGENT,
        server_name,
        server_port: port.unwrap_or("80"),
        server_address: None,
        remote_address: None,
        remote_port: None,
        user: None,
        auth_type: None,
        content_length: None,
        authority: Some(host),
        script,
    };
    let mut headers = Headers::new();
    // It is a valid value.
    let _ = headers.insert(KnownHeader::UserAgent, AGENT);
    request_variables(&facts, &headers, |_, _| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_names_its_path_as_its_protocol_does() {
        let check = HttpCheck { path: "/ping?full".to_owned(), ..HttpCheck::default() };
        for (protocol, expected) in [
            (CgiProtocol::Fastcgi, [Some("/ping"), Some("/ping"), None]),
            (CgiProtocol::Scgi, [None, Some(""), Some("/ping")]),
            (CgiProtocol::Uwsgi, [None, Some(""), Some("/ping")]),
        ] {
            let variables = variables(protocol, &check, "app:81").unwrap();
            let names = ["SCRIPT_FILENAME", "SCRIPT_NAME", "PATH_INFO"];
            assert_eq!(names.map(|name| variables.get(name)), expected.map(|value| value.map(str::as_bytes)));
            for (name, value) in [
                ("REQUEST_URI", "/ping?full"),
                ("QUERY_STRING", "full"),
                ("SERVER_NAME", "app"),
                ("SERVER_PORT", "81"),
                ("HTTP_HOST", "app:81"),
                ("HTTP_USER_AGENT", "serow-check"),
            ] {
                assert_eq!(variables.get(name), Some(value.as_bytes()), "{name}");
            }
        }
    }
}
