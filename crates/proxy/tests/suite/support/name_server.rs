//! A name server for tests, as small as one can be.

use std::{
    collections::HashMap,
    io::{Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, UdpSocket},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Answers over UDP and TCP at a port of 127.0.0.1, as long as the test runs.
pub struct NameServer {
    address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    over_tcp: Arc<AtomicUsize>,
    ids: Arc<Mutex<Vec<u16>>>,
}

/// Its replies.
#[derive(Default)]
pub struct Zone {
    /// The records of names, with their TTL.
    pub names: HashMap<String, Vec<(u32, Data)>>,
    /// Names that it answers with SERVFAIL.
    pub broken: Vec<String>,
    pub manner: Manner,
}

#[derive(Clone)]
pub enum Data {
    Address(IpAddr),
    Alias(String),
    /// Priority, weight, port, host.
    Service(u16, u16, u16, String),
}

/// How it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    #[default]
    Well,
    /// After so many milliseconds.
    Late(u64),
    /// With SERVFAIL.
    Failing,
    Silent,
    /// Over UDP only that it is too long.
    Truncating,
    /// After two forged replies.
    Attacked,
}

impl NameServer {
    pub fn start() -> Self {
        let (listener, socket, address) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            if let Ok(socket) = UdpSocket::bind(address) {
                break (listener, socket, address);
            }
        };
        let (zone, over_tcp) = (Arc::<Mutex<Zone>>::default(), Arc::<AtomicUsize>::default());
        let ids = Arc::<Mutex<Vec<u16>>>::default();
        let (known, seen) = (Arc::clone(&zone), Arc::clone(&ids));
        thread::spawn(move || {
            let mut packet = [0; 512];
            while let Ok((length, client)) = socket.recv_from(&mut packet) {
                seen.lock().unwrap().push(u16::from_be_bytes([packet[0], packet[1]]));
                for reply in replies(&known, &packet[..length], true) {
                    socket.send_to(&reply, client).unwrap();
                }
            }
        });
        let (known, count) = (Arc::clone(&zone), Arc::clone(&over_tcp));
        thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let mut length = [0; 2];
                connection.read_exact(&mut length).unwrap();
                let mut message = vec![0; u16::from_be_bytes(length).into()];
                connection.read_exact(&mut message).unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                for reply in replies(&known, &message, false) {
                    let framed = [&(reply.len() as u16).to_be_bytes(), reply.as_slice()].concat();
                    // In pieces, as a network may deliver it.
                    let (first, second) = framed.split_at(3);
                    connection.write_all(first).unwrap();
                    thread::sleep(Duration::from_millis(10));
                    connection.write_all(second).unwrap();
                }
            }
        });
        Self { address, zone, over_tcp, ids }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the records of a name.
    pub fn set(&self, name: &str, data: &[(u32, Data)]) {
        self.zone.lock().unwrap().names.insert(name.to_owned(), data.to_vec());
    }

    /// A name has these addresses for so many seconds.
    pub fn set_addresses(&self, name: &str, seconds: u32, addresses: &[&str]) {
        let data = |address: &&str| (seconds, Data::Address(address.parse().unwrap()));
        self.set(name, &addresses.iter().map(data).collect::<Vec<_>>());
    }

    pub fn answer(&self, manner: Manner) {
        self.zone.lock().unwrap().manner = manner;
    }

    /// A name does not exist any more.
    pub fn remove(&self, name: &str) {
        self.zone.lock().unwrap().names.remove(name);
    }

    /// Answers questions for this name with SERVFAIL from now on.
    pub fn fail_for(&self, name: &str) {
        self.zone.lock().unwrap().broken.push(name.to_owned());
    }

    /// The ids of all questions over UDP.
    pub fn ids(&self) -> Vec<u16> {
        self.ids.lock().unwrap().clone()
    }

    /// Questions that came over TCP.
    pub fn over_tcp(&self) -> usize {
        self.over_tcp.load(Ordering::Relaxed)
    }
}

/// The replies to send: none, one, or some more before it.
fn replies(zone: &Mutex<Zone>, question: &[u8], is_packet: bool) -> Vec<Vec<u8>> {
    let manner = zone.lock().unwrap().manner;
    let reply = reply(zone, question, manner, is_packet);
    match manner {
        Manner::Silent => Vec::new(),
        Manner::Late(milliseconds) => {
            thread::sleep(Duration::from_millis(milliseconds));
            vec![reply]
        }
        Manner::Attacked => {
            let (mut other_id, mut other_name) = (reply.clone(), reply.clone());
            other_id[1] ^= 1;
            *other_id.last_mut().unwrap() = 99;
            other_name[13] ^= 1;
            *other_name.last_mut().unwrap() = 99;
            vec![other_id, other_name, reply]
        }
        _ => vec![reply],
    }
}

fn reply(zone: &Mutex<Zone>, question: &[u8], manner: Manner, is_packet: bool) -> Vec<u8> {
    let (name, end) = read_name(question);
    let kind = u16::from_be_bytes([question[end], question[end + 1]]);
    let zone = zone.lock().unwrap();
    let mut answers = Vec::new();
    let mut owner = name.clone();
    for _ in 0..4 {
        for (seconds, data) in zone.names.get(&owner).into_iter().flatten() {
            answers.extend(record(&owner, kind, *seconds, data));
        }
        match zone.names.get(&owner).and_then(|data| data.first()) {
            Some((_, Data::Alias(other))) => owner.clone_from(other),
            _ => break,
        }
    }
    let truncates = manner == Manner::Truncating && is_packet;
    let code: u16 = match manner {
        Manner::Failing => 2,
        _ if zone.broken.contains(&name) => 2,
        _ if zone.names.contains_key(&name) => 0,
        _ => 3,
    };
    let count = if code != 0 || truncates { 0 } else { answers.len() as u16 };
    let mut reply = question[..2].to_vec();
    let flags = 0x8180 | code | if truncates { 0x200 } else { 0 };
    for number in [flags, 1, count, 0, 0] {
        reply.extend_from_slice(&number.to_be_bytes());
    }
    reply.extend_from_slice(&question[12..end + 4]);
    answers.iter().take(count.into()).for_each(|answer| reply.extend_from_slice(answer));
    reply
}

/// A record, if it is of the kind or an alias.
fn record(owner: &str, kind: u16, seconds: u32, data: &Data) -> Option<Vec<u8>> {
    let (own_kind, value): (u16, Vec<u8>) = match data {
        Data::Address(IpAddr::V4(address)) => (1, address.octets().to_vec()),
        Data::Address(IpAddr::V6(address)) => (28, address.octets().to_vec()),
        Data::Alias(other) => (5, write_name(other)),
        Data::Service(priority, weight, port, host) => {
            let numbers = [priority, weight, port].map(|number| number.to_be_bytes()).concat();
            (33, [numbers, write_name(host)].concat())
        }
    };
    let mut record = write_name(owner);
    record.extend_from_slice(&own_kind.to_be_bytes());
    record.extend_from_slice(&1_u16.to_be_bytes());
    record.extend_from_slice(&seconds.to_be_bytes());
    record.extend_from_slice(&(value.len() as u16).to_be_bytes());
    record.extend_from_slice(&value);
    (own_kind == kind || own_kind == 5).then_some(record)
}

/// The name of a question, and where it ends.
fn read_name(question: &[u8]) -> (String, usize) {
    let (mut labels, mut at) = (Vec::new(), 12);
    while question[at] != 0 {
        let end = at + 1 + usize::from(question[at]);
        labels.push(String::from_utf8(question[at + 1..end].to_vec()).unwrap());
        at = end;
    }
    (labels.join("."), at + 1)
}

fn write_name(name: &str) -> Vec<u8> {
    let mut written = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        written.push(label.len() as u8);
        written.extend_from_slice(label.as_bytes());
    }
    written.push(0);
    written
}
