//! A server that replies by a script.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{self, Receiver},
    thread,
};

/// The reaction of the scripted server to a request.
pub(super) enum Reply {
    /// Sends this and keeps the connection.
    Text(String),
    /// Sends this and closes the connection.
    Close(String),
    /// Sends nothing.
    Silence,
}

/// A server that passes on the heads of requests that it receives, and replies by a script.
pub(super) fn scripted(script: fn(&str) -> Reply) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            thread::spawn(move || {
                while let Some(head) = read_head(&mut stream) {
                    let _ = sender.send(head.clone());
                    // A response before the end of the request would let the proxy stop forwarding it.
                    if head.contains("transfer-encoding: chunked")
                        && let Some(body) = read_head(&mut stream)
                    {
                        let _ = sender.send(body);
                    }
                    match script(&head) {
                        Reply::Text(text) => drop(stream.write_all(text.as_bytes())),
                        Reply::Close(text) => {
                            let _ = stream.write_all(text.as_bytes());
                            return;
                        }
                        Reply::Silence => return drop(io::copy(&mut stream, &mut io::sink())),
                    }
                }
            });
        }
    });
    (address, received)
}

/// The head of a request in lower case.
fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).unwrap().to_ascii_lowercase())
}

pub(super) fn reply(status: &str, fields: &str, body: &str) -> Reply {
    Reply::Text(format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len()))
}
