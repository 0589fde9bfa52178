//! Servers that speak SCGI and FastCGI.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::mpsc::{self, Receiver},
};

use serow_proxy::{CgiProtocol, ForwardingSettings, UpstreamSettings};
use serow_variables::{Scope, Text};

use crate::support::{Proxied, raw_server, read_response, server};

/// An SCGI server that answers with `ok`, and the requests that it gets: variables and body.
fn scgi_server() -> (SocketAddr, Receiver<(String, Vec<u8>)>) {
    let (sender, requests) = mpsc::channel();
    let address = raw_server(move |mut client: TcpStream| {
        let mut digits = Vec::new();
        let mut byte = [0];
        while client.read_exact(&mut byte).is_ok() && byte != *b":" {
            digits.push(byte[0]);
        }
        let Ok(length) = String::from_utf8(digits).unwrap().parse::<usize>() else { return };
        let mut section = vec![0; length + 1];
        client.read_exact(&mut section).unwrap();
        let text = String::from_utf8(section).unwrap();
        let mut values = text.split('\0');
        let body = values.by_ref().nth(1).and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; body];
        client.read_exact(&mut body).unwrap();
        sender.send((text, body)).unwrap();
        client.write_all(b"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nok").unwrap();
    });
    (address, requests)
}

fn scgi(address: SocketAddr) -> UpstreamSettings {
    let settings = UpstreamSettings::new("test", vec![server(address)]);
    UpstreamSettings { cgi_protocol: Some(CgiProtocol::Scgi), ..settings }
}

#[test]
fn a_body_of_unknown_length_arrives_whole_without_a_setting() {
    let (address, requests) = scgi_server();
    let proxied = Proxied::with(scgi(address), ForwardingSettings::default());
    let mut client = proxied.connect();
    client
        .write_all(b"POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        .unwrap();
    assert!(read_response(&mut client).ends_with("ok"));
    let (text, body) = requests.recv().unwrap();
    assert!(text.starts_with("CONTENT_LENGTH\x005\0") && text.contains("REQUEST_METHOD\0POST\0"), "{text:?}");
    assert_eq!(body, b"abcde");
}

#[test]
fn variables_of_the_settings_replace_those_of_the_request() {
    let (address, requests) = scgi_server();
    let text = |text| Text::parse(text, &Scope::default()).unwrap();
    let set = [("APP_ENV", "production"), ("SERVER_NAME", "b"), ("X_HOST", "<$host>"), ("EMPTY", "")];
    let cgi_variables = set.map(|(name, value)| (name.to_owned(), text(value))).to_vec();
    let proxied = Proxied::with(scgi(address), ForwardingSettings { cgi_variables, ..ForwardingSettings::default() });
    let mut client = proxied.connect();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    assert!(read_response(&mut client).ends_with("ok"));
    let (sent, _) = requests.recv().unwrap();
    let pairs: Vec<_> = sent.split('\0').collect();
    for (name, value) in [("APP_ENV", "production"), ("SERVER_NAME", "b"), ("X_HOST", "<a>"), ("EMPTY", "")] {
        let found: Vec<_> = pairs.chunks(2).filter(|pair| pair[0] == name).map(|pair| pair[1]).collect();
        assert_eq!(found, [value], "{name}");
    }
}
