//! Checks that the kernel at hand behaves as pacing assumes.

use std::{
    future::{Future, poll_fn},
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    os::{fd::AsFd, unix::net::UnixStream},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::BytesMut;
use tokio::time::timeout;

use crate::{More, Socket};

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_secs(20), test).await.expect("nobody was woken") });
}

/// Two ends of a connection through the loopback device; the client takes in little before it reads.
fn pair() -> (Socket, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    client.set_recv_buffer_size(8192).unwrap();
    client.connect(&listener.local_addr().unwrap().into()).unwrap();
    let client = TcpStream::from(client);
    let server = listener.accept().unwrap().0;
    server.set_nonblocking(true).unwrap();
    (Socket::new(server.into()).unwrap(), client)
}

/// Sends until the peer's window is full and this many bytes are unsent; says how many bytes went in.
fn fill(socket: &Socket, unsent: u32) -> u64 {
    let mut written = 0;
    while socket.tcp_info().unwrap().unsent < unsent {
        let count = socket.send(&[b'x'; 10_000]).unwrap();
        assert!(count > 0, "the kernel's own bound came first");
        written += count as u64;
    }
    written
}

/// Within a tenth of a second, which is for ever here: nobody reads.
async fn is_drained(socket: &Socket) -> bool {
    timeout(Duration::from_millis(100), poll_fn(|context| socket.poll_drained(context))).await.is_ok()
}

/// Both ends of a connection whose server's end was just accepted.
fn accepted() -> (Socket, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = listener.accept().unwrap().0;
    server.set_nonblocking(true).unwrap();
    (Socket::accepted(server.into()), client)
}

fn poll_receive(socket: &Socket, context: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<std::io::Result<usize>> {
    socket.poll_receive(context, buffer, |buffer| buffer.reserve(64))
}

/// Outside a runtime, where registering panics.
#[test]
fn a_connection_of_one_exchange_is_never_registered() {
    let (socket, mut client) = accepted();
    client.write_all(b"request").unwrap();
    let context = &mut Context::from_waker(Waker::noop());
    let mut buffer = BytesMut::new();
    assert!(matches!(poll_receive(&socket, context, &mut buffer), Poll::Ready(Ok(7))));
    assert_eq!(&buffer[..], b"request");
    assert!(matches!(socket.poll_send(context, b"response", More::Nothing), Poll::Ready(Ok(8))));
    drop(socket);
    let mut received = String::new();
    client.read_to_string(&mut received).unwrap();
    assert_eq!(received, "response");
}

/// Whether its first bytes come before it first receives, or after.
#[test]
fn an_accepted_connection_is_woken_as_any_other() {
    for first_is_there in [true, false] {
        run(async move {
            let (socket, mut client) = accepted();
            let mut buffer = BytesMut::new();
            if first_is_there {
                client.write_all(b"1").unwrap();
                poll_fn(|context| poll_receive(&socket, context, &mut buffer)).await.unwrap();
            }
            let writing = std::thread::spawn(move || {
                for _ in 0..5 {
                    std::thread::sleep(Duration::from_millis(5));
                    client.write_all(b"2").unwrap();
                }
            });
            while poll_fn(|context| poll_receive(&socket, context, &mut buffer)).await.unwrap() > 0 {}
            assert_eq!(&buffer[..], if first_is_there { &b"122222"[..] } else { &b"22222"[..] });
            writing.join().unwrap();
        });
    }
}

/// So that a client that never stops sending leaves the other tasks of the thread their turn.
#[test]
fn only_the_first_receiving_goes_on_without_the_event_loop() {
    run(async {
        let (socket, mut client) = accepted();
        client.write_all(&[b'x'; 128]).unwrap();
        let mut lengths = Vec::new();
        for _ in 0..2 {
            let mut buffer = BytesMut::new();
            lengths.push(poll_fn(|context| Poll::Ready(poll_receive(&socket, context, &mut buffer))).await.is_ready());
        }
        // The event loop has had no turn yet in which to notice the rest.
        assert_eq!(lengths, [true, false]);
    });
}

/// From a connection into a pipe, and from there into another connection whose peer reads little at first.
#[test]
fn a_pipe_carries_bytes_from_socket_to_socket() {
    run(async {
        let ((from, mut writer), (to, mut reader)) = (pair(), pair());
        let sent: Vec<u8> = (0..1_000_000).map(|number| (number % 251) as u8).collect();
        let expected = sent.clone();
        let writing = std::thread::spawn(move || writer.write_all(&sent).unwrap());
        let reading = std::thread::spawn(move || {
            let mut received = Vec::new();
            reader.read_to_end(&mut received).unwrap();
            received
        });
        let (output, input) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).unwrap();
        loop {
            let most = 100_000;
            let mut left = poll_fn(|context| from.poll_receive_piped(context, input.as_fd(), most)).await.unwrap();
            assert!(left <= most);
            if left == 0 {
                break;
            }
            while left > 0 {
                left -= poll_fn(|context| to.poll_send_piped(context, output.as_fd(), left)).await.unwrap();
            }
        }
        drop(to);
        writing.join().unwrap();
        assert!(reading.join().unwrap() == expected);
    });
}

#[test]
fn every_sent_byte_is_unsent_in_flight_or_acknowledged() {
    run(async {
        let (socket, _client) = pair();
        let info = socket.tcp_info().unwrap();
        assert!(info.segment > 500 && info.window > 0 && info.round_trip > 0, "{info:?}");
        assert_eq!((info.sent, info.acknowledged, info.unsent, info.rate), (0, 0, 0, 0));
        let written = fill(&socket, 100_000);
        let info = socket.tcp_info().unwrap();
        assert_eq!(info.sent + u64::from(info.unsent), written);
        assert_eq!(info.acknowledged + u64::from(info.in_flight()), info.sent);
        assert_eq!(info.window_room(), 0, "{info:?}");
    });
}

#[test]
fn a_sender_below_the_low_water_mark_is_woken_at_half_of_it() {
    run(async {
        let (socket, mut client) = pair();
        fill(&socket, 100_000);
        let unsent = socket.tcp_info().unwrap().unsent;
        let mark = unsent / 3 * 4;
        socket.set_unsent_low_water(mark).unwrap();
        assert!(!is_drained(&socket).await, "{unsent} of {mark}");
        let reader = std::thread::spawn(move || {
            let mut buffer = vec![0; 20_000];
            while let Ok(1..) = client.read(&mut buffer) {}
        });
        poll_fn(|context| socket.poll_drained(context)).await.unwrap();
        assert!(socket.tcp_info().unwrap().unsent < mark / 2);
        drop(socket);
        reader.join().unwrap();
    });
}

#[test]
fn half_the_mark_is_drained_and_a_byte_more_is_not() {
    run(async {
        let (socket, _client) = pair();
        fill(&socket, 50_000);
        let unsent = socket.tcp_info().unwrap().unsent;
        for (mark, drained) in [(2 * unsent + 1, true), (2 * unsent, false)] {
            socket.set_unsent_low_water(mark).unwrap();
            assert_eq!(is_drained(&socket).await, drained, "{unsent} of {mark}");
        }
    });
}

#[test]
fn nothing_drains_from_a_connection_that_is_gone() {
    run(async {
        let (socket, client) = pair();
        fill(&socket, 50_000);
        socket.set_unsent_low_water(2).unwrap();
        assert!(!is_drained(&socket).await);
        // Closed with input that nobody read: the kernel resets the connection.
        drop(client);
        let error = poll_fn(|context| socket.poll_drained(context)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn unix_sockets_have_no_tcp_info() {
    run(async {
        let (server, _client) = UnixStream::pair().unwrap();
        server.set_nonblocking(true).unwrap();
        let socket = Socket::new(server.into()).unwrap();
        assert!(socket.tcp_info().is_err());
        assert!(socket.set_unsent_low_water(1000).is_err());
    });
}
