//! An end that encrypts what it likes, with the keys of an honest one.

use std::sync::{Arc, Mutex};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hkdf::{HKDF_SHA384, KeyType, Prk},
};
use rustls::{ClientConnection, ConnectionTrafficSecrets, KeyLog, ServerConfig, crypto::aws_lc_rs::default_provider};
use serow_tls::TlsVersion;

use crate::{
    ends::{Delivery, Ours, Server, Site, connect, exchange},
    theirs::{self, Theirs},
};

/// Encrypts records as a peer that ignores the rules of TLS could.
pub(crate) struct Forger {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    version: TlsVersion,
    /// Of what the keys were made, where that is known.
    secret: Vec<u8>,
}

impl Forger {
    /// In place of a client after its handshake, with the server it has talked to.
    pub(crate) fn new(version: TlsVersion) -> (Self, Server) {
        let site = Site::new();
        let mut config = site.client_config(version);
        config.enable_secret_extraction = true;
        let (mut client, mut server) = (connect(&config.into(), "example.com"), Server::new(&site.acceptor()));
        exchange(&mut client, &mut server, Delivery::Whole).unwrap();
        let connection: ClientConnection = client.into_connection();
        let (sequence, secrets) = connection.dangerous_extract_secrets().unwrap().tx;
        (Self::of_keys(version, sequence, &secrets), server)
    }

    /// In place of a client of TLS 1.3 whose hello the server has answered.
    pub(crate) fn in_handshake() -> (Self, Server) {
        let site = Site::new();
        let mut config = site.client_config(TlsVersion::Tls13);
        let secrets = Arc::new(Secrets::default());
        config.key_log = Arc::clone(&secrets) as _;
        let (mut client, mut server) = (connect(&config.into(), "example.com"), Server::new(&site.acceptor()));
        server.receive(&client.flight(), Delivery::Whole).unwrap();
        client.take(&std::mem::take(&mut server.sealed));
        // Every client sends this record here (RFC 8446 §D.4).
        server.receive(&[CHANGE_CIPHER, 3, 3, 0, 1, 1], Delivery::Whole).unwrap();
        let secret = secrets.of("CLIENT_HANDSHAKE_TRAFFIC_SECRET");
        (Self::of_secret(&secret), server)
    }

    /// In place of a client of TLS 1.3 after its handshake, with what makes the next keys.
    pub(crate) fn established_13() -> (Self, Server) {
        let site = Site::new();
        let mut config = site.client_config(TlsVersion::Tls13);
        let secrets = Arc::new(Secrets::default());
        config.key_log = Arc::clone(&secrets) as _;
        let (mut client, mut server) = (connect(&config.into(), "example.com"), Server::new(&site.acceptor()));
        exchange(&mut client, &mut server, Delivery::Whole).unwrap();
        (Self::of_secret(&secrets.of("CLIENT_TRAFFIC_SECRET_0")), server)
    }

    /// In place of a server after its handshake, with the client of ours that has talked to it. It has sent no tickets.
    pub(crate) fn of_server(version: TlsVersion) -> (Self, Ours) {
        let site = Site::new();
        let mut config = theirs::config(&site.authority.issue(&["example.com"]), default_provider());
        config.send_tls13_tickets = 0;
        config.enable_secret_extraction = true;
        let secrets = secrets_of(&mut config);
        let (mut client, mut server) = (Ours::connect(&site.connector(version), "example.com"), Theirs::new(config));
        server.converse(&mut client, Delivery::Whole).unwrap();
        let forger = match version {
            TlsVersion::Tls13 => Self::of_secret(&secrets.of("SERVER_TRAFFIC_SECRET_0")),
            TlsVersion::Tls12 => {
                let (sequence, secrets) = server.into_connection().dangerous_extract_secrets().unwrap().tx;
                Self::of_keys(version, sequence, &secrets)
            }
        };
        (forger, client)
    }

    /// In place of a server of TLS 1.3 whose hello the client has got.
    pub(crate) fn of_server_in_handshake() -> (Self, Ours) {
        let site = Site::new();
        let mut config = theirs::config(&site.authority.issue(&["example.com"]), default_provider());
        let secrets = secrets_of(&mut config);
        let connector = site.connector(TlsVersion::Tls13);
        let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Theirs::new(config));
        server.take(&std::mem::take(&mut client.sealed));
        let flight = server.flight();
        let hello = 5 + usize::from(u16::from_be_bytes([flight[3], flight[4]]));
        client.receive(&flight[..hello], Delivery::Whole).unwrap();
        // Every server sends this record here (RFC 8446 §D.4).
        client.receive(&[CHANGE_CIPHER, 3, 3, 0, 1, 1], Delivery::Whole).unwrap();
        client.sealed.clear();
        (Self::of_secret(&secrets.of("SERVER_HANDSHAKE_TRAFFIC_SECRET")), client)
    }

    /// Goes on with new keys (RFC 8446 §7.2).
    pub(crate) fn renew(&mut self) {
        *self = Self::of_secret(&expand(&self.secret, "traffic upd", 48));
    }

    /// With the keys of a connection, after so many records.
    fn of_keys(version: TlsVersion, sequence: u64, secrets: &ConnectionTrafficSecrets) -> Self {
        let ConnectionTrafficSecrets::Aes256Gcm { key, iv } = secrets else { panic!("another cipher") };
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_ref()).unwrap());
        Self { key, iv: iv.as_ref().try_into().unwrap(), sequence, version, secret: Vec::new() }
    }

    /// With the keys of a secret of TLS 1.3 (RFC 8446 §7.3).
    pub(crate) fn of_secret(secret: &[u8]) -> Self {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &expand(secret, "key", 32)).unwrap());
        let iv = expand(secret, "iv", 12).try_into().unwrap();
        Self { key, iv, sequence: 0, version: TlsVersion::Tls13, secret: secret.to_vec() }
    }

    /// A record of this type with this content; behind it, in TLS 1.3, so many zeroes.
    pub(crate) fn record(&mut self, kind: u8, content: &[u8], zeroes: usize) -> Vec<u8> {
        let nonce = self.nonce();
        let length = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
        let mut text = content.to_vec();
        let (header, additional, explicit) = if self.version == TlsVersion::Tls13 {
            if kind != 0 {
                text.push(kind);
            }
            text.resize(text.len() + zeroes, 0);
            let header = [&[23, 3, 3][..], &length(text.len() + 16)].concat();
            (header.clone(), header, Vec::new())
        } else {
            let header = [&[kind, 3, 3][..], &length(text.len() + 24)].concat();
            let additional = [&self.sequence.to_be_bytes()[..], &[kind, 3, 3], &length(text.len())].concat();
            (header, additional, nonce[4..].to_vec())
        };
        self.sequence += 1;
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(nonce, Aad::from(additional), &mut text).unwrap();
        [header, explicit, text].concat()
    }

    /// Opens a record of TLS 1.3 that was made with these keys; returns its content, without its type.
    pub(crate) fn open(&mut self, record: &[u8]) -> Vec<u8> {
        let (header, body) = record.split_at(5);
        let mut body = body.to_vec();
        let nonce = Nonce::assume_unique_for_key(self.nonce());
        self.sequence += 1;
        let text = self.key.open_in_place(nonce, Aad::from(header), &mut body).unwrap();
        text[..text.len() - 1].to_vec()
    }

    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, sequence) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= sequence;
        }
        nonce
    }
}

/// The secrets that a peer derives its keys from, as its key log has them.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Mutex<Vec<(String, Vec<u8>)>>);

/// Has a server log the secrets that it derives its keys from.
pub(crate) fn secrets_of(config: &mut ServerConfig) -> Arc<Secrets> {
    let secrets = Arc::new(Secrets::default());
    config.key_log = Arc::clone(&secrets) as _;
    secrets
}

impl Secrets {
    pub(crate) fn of(&self, label: &str) -> Vec<u8> {
        let secrets = self.0.lock().unwrap();
        secrets.iter().find(|(name, _)| name == label).expect("the peer has come so far").1.clone()
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        self.0.lock().unwrap().push((label.to_owned(), secret.to_vec()));
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// RFC 8446 §7.1: HKDF-Expand-Label without a context.
fn expand(secret: &[u8], label: &str, length: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let [lengths, labels] = [length, label.len()].map(|length| u8::try_from(length).unwrap());
    let information: [&[u8]; 4] = [&[0, lengths, labels], label.as_bytes(), &[0], &[]];
    let mut made = vec![0; length];
    let secret = Prk::new_less_safe(HKDF_SHA384, secret);
    secret.expand(&information, Length(length)).unwrap().fill(&mut made).unwrap();
    made
}

// RFC 8446 §5.1
pub(crate) const DATA: u8 = 23;
pub(crate) const HANDSHAKE: u8 = 22;
pub(crate) const ALERT: u8 = 21;
pub(crate) const CHANGE_CIPHER: u8 = 20;
