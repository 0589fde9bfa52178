//! Sessions of a login, and its provider.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::OnceLock,
    thread,
};

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, Aad, RandomizedNonceKey},
    hkdf::{HKDF_SHA256, Salt},
};
use data_encoding::BASE64URL_NOPAD;
use serow_access::jwt::Conditions;

/// The secret of the site, in its file.
pub(super) const SECRET: &str = "the secret that the cookies of the sites are sealed with";

/// The cookie of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Session {
    Valid,
    Over,
    /// Sealed by another server.
    OfAnotherKey,
    /// Sealed for another client of the provider.
    OfAnotherSite,
    /// Sealed as something else than a session.
    OfAnotherKind,
    Changed,
}

impl Session {
    /// The value of a cookie of carol.
    pub(super) fn value(self) -> String {
        let user = if self == Self::Valid { "carol" } else { "eve" };
        let end = if self == Self::Over { BEGIN + 1 } else { FUTURE };
        let session = format!(
            r#"{{"id":[{}],"count":0,"subject":"{user}","user":"{user}","fields":["{user}"],"begin":{BEGIN},"refresh":null,"end":{end},"refresh_token":null}}"#,
            [0; 16].map(|zero: u8| zero.to_string()).join(",")
        );
        let secret = if self == Self::OfAnotherKey { "another secret, which is as long as that one" } else { SECRET };
        let client = if self == Self::OfAnotherSite { "other" } else { CLIENT };
        let kind = if self == Self::OfAnotherKind { "refreshed session" } else { "session" };
        let mut sealed = seal(secret, client, kind, session.as_bytes());
        if self == Self::Changed {
            let middle = sealed.len() / 2;
            sealed[middle] ^= 1;
        }
        format!("1.{}", BASE64URL_NOPAD.encode(&sealed))
    }
}

/// As the login seals, whose format is its own: one cookie is valid as long as this is the same.
fn seal(secret: &str, client: &str, kind: &str, value: &[u8]) -> Vec<u8> {
    let fields = [("Remote-User", "sub")];
    let purpose = format!("{:?}", (issuer(), client, ["email", "profile"], "sub", Conditions::default(), fields));
    let derived = Salt::new(HKDF_SHA256, b"serow: cookies of logins").extract(secret.as_bytes());
    let mut key = [0; 32];
    let information = [&b"values, AES-256-GCM-SIV"[..], purpose.as_bytes()];
    derived.expand(&information, &AES_256_GCM_SIV).unwrap().fill(&mut key).unwrap();
    let key = RandomizedNonceKey::new(&AES_256_GCM_SIV, &key).unwrap();
    let mut sealed = value.to_vec();
    let nonce = key.seal_in_place_append_tag(Aad::from(kind.as_bytes()), &mut sealed).unwrap();
    [&[1], nonce.as_ref().as_slice(), &sealed].concat()
}

/// The settings of the login.
pub(super) fn settings() -> String {
    format!(
        "login = {{ issuer = \"{}\", client-id = \"{CLIENT}\", headers = {{ Remote-User = \"sub\" }}, cookie-key-file = \"cookie-key\", ca = \"ca.pem\" }}",
        issuer()
    )
}

/// An authority for the provider: those of the system take long to read.
pub(super) fn authority() -> &'static str {
    static AUTHORITY: OnceLock<String> = OnceLock::new();
    AUTHORITY.get_or_init(|| rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.pem())
}

/// The URL of a provider that publishes its endpoints, and that nobody asks for more. All sites have the same.
pub(super) fn issuer() -> &'static str {
    static ISSUER: OnceLock<String> = OnceLock::new();
    ISSUER.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let of_thread = url.clone();
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| publish(stream, &of_thread)));
        url
    })
}

fn publish(mut stream: TcpStream, url: &str) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
    let endpoints = format!(
        r#"{{"issuer": "{url}", "authorization_endpoint": "{url}/auth", "token_endpoint": "{url}/token", "jwks_uri": "{url}/keys"}}"#
    );
    let is_discovery = head.starts_with(b"GET /.well-known/openid-configuration ");
    let (status, body) = if is_discovery { ("200 OK", &*endpoints) } else { ("404 Not Found", "") };
    let length = body.len();
    // The server may have ended.
    let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
}

const CLIENT: &str = "serow";

/// In the years 2023 and 2096: no test depends on the clock.
const BEGIN: u64 = 1_700_000_000;
const FUTURE: u64 = 4_000_000_000;
