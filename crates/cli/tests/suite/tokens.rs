//! Tokens (JWT) that requests must have: from headers, cookies and queries, with keys from files and URLs.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use data_encoding::BASE64URL_NOPAD;
use rcgen::{KeyPair, PublicKeyData, SigningKey};
use serow_requirements::requires;
use tempfile::TempDir;

use crate::running::{Running, eventually, serow};

/// An issuer with a key for ES256.
struct Issuer(KeyPair);

impl Issuer {
    fn new() -> Self {
        Self(KeyPair::generate().unwrap())
    }

    /// The public key, as a JWKS.
    fn jwks(&self, id: &str) -> String {
        let point = self.0.der_bytes();
        let [x, y] = [&point[1..33], &point[33..]].map(|number| BASE64URL_NOPAD.encode(number));
        format!(r#"{{"keys":[{{"kty":"EC","crv":"P-256","alg":"ES256","kid":"{id}","x":"{x}","y":"{y}"}}]}}"#)
    }

    /// A token with these claims that expires in a minute.
    fn token(&self, id: &str, claims: &str) -> String {
        let header = BASE64URL_NOPAD.encode(format!(r#"{{"alg":"ES256","kid":"{id}"}}"#).as_bytes());
        let payload = BASE64URL_NOPAD.encode(format!(r#"{{"exp":{}{claims}}}"#, now() + 60).as_bytes());
        let message = format!("{header}.{payload}");
        let signature = fixed(&self.0.sign(message.as_bytes()).unwrap());
        format!("{message}.{}", BASE64URL_NOPAD.encode(&signature))
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// RFC 7518 §3.4: both numbers of a signature in ASN.1, with 32 bytes each.
fn fixed(signature: &[u8]) -> Vec<u8> {
    let (mut rest, mut numbers) = (&signature[2..], Vec::new());
    for _ in 0..2 {
        let (number, behind) = rest[2..].split_at(rest[1].into());
        let number: Vec<u8> = number.iter().copied().skip_while(|byte| *byte == 0).collect();
        numbers.extend(vec![0; 32 - number.len()]);
        numbers.extend(number);
        rest = behind;
    }
    numbers
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// A server on a port of the system's choice: it answers each request with what this makes of its head.
fn server(respond: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, &respond)));
    address
}

fn answer(mut stream: TcpStream, respond: impl Fn(&str) -> String) {
    let (mut received, mut piece) = (Vec::new(), [0; 4096]);
    while !received.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(length) => received.extend_from_slice(&piece[..length]),
        }
    }
    let body = respond(&String::from_utf8_lossy(&received));
    let status = if body.is_empty() { "500 Oops" } else { "200 OK" };
    let length = body.len();
    // The client may have gone.
    let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
}

/// A server whose requests reach another server, which answers with their heads; and its folder.
fn start(issuer: &Issuer, jwt: &str, more: &str) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("jwks.json"), issuer.jwks("1")).unwrap();
    fs::write(folder.path().join("users"), "alice:{SHA}W8r/fyL/UzygmbNAjq2HbA67qac=\n").unwrap();
    let upstream = server(str::to_owned);
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 1\n\n[[site]]\njwt = {{ {jwt} }}\n{more}\n[[site.route]]\npath = \"/open/*\"\njwt = false\n\
         proxy = {{ upstream = \"echo\" }}\n[[site.route]]\npath = \"/*\"\nproxy = {{ upstream = \"echo\" }}\n\n\
         [[upstream]]\nname = \"echo\"\nservers = \"{upstream}\"\n"
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

#[test]
fn requests_need_a_token_and_the_handler_learns_what_it_says() {
    let issuer = Issuer::new();
    let (serow, folder) = start(
        &issuer,
        "keys = \"jwks.json\", realm = \"API\", issuer = \"https://a\", audience = \"api\", user = \"email\", \
         headers = { X-Email = \"email\", X-Roles = \"realm.roles\", X-Missing = \"missing\" }",
        "",
    );
    let asked = serow.ask("/", "");
    assert_eq!((asked.status(), asked.field("www-authenticate")), (401, Some("Bearer realm=\"API\"")));
    assert!(asked.text().contains("This address needs a token."), "{}", asked.text());
    let claims = r#","iss":"https://a","aud":["api"],"email":"bob@example.com","realm":{"roles":["ops","dev"]}"#;
    let token = issuer.token("1", claims);
    let forged = "X-Email: eve\r\nx-roles: admin\r\nX-Missing: 1\r\n";
    for _ in ["first", "known"] {
        let response = serow.ask("/", &format!("{}{forged}", bearer(&token)));
        assert_eq!(response.status(), 200);
        let head = response.text().to_ascii_lowercase();
        assert!(head.contains("x-email: bob@example.com\r\n") && head.contains("x-roles: ops,dev\r\n"), "{head}");
        assert!(!head.contains("eve") && !head.contains("admin") && !head.contains("x-missing"), "{head}");
    }
    // A line break in a claim does not become a field.
    let injecting = issuer.token("1", r#","iss":"https://a","aud":"api","email":"bob\r\nX-Roles: admin""#);
    let response = serow.ask("/", &bearer(&injecting));
    assert_eq!((response.status(), response.text().contains("X-Roles")), (200, false));
    // Joined by commas, they would be other roles.
    for roles in [r#"["ops,admin"]"#, r#"["ops"," admin"]"#] {
        let claims = format!(r#","iss":"https://a","aud":"api","realm":{{"roles":{roles}}}"#);
        assert_eq!(serow.ask("/", &bearer(&issuer.token("1", &claims))).status(), 403, "{roles}");
    }
    for (fields, expected) in [
        (bearer(&issuer.token("1", r#","iss":"https://a","aud":"web""#)), "the token is for another audience"),
        (bearer(&issuer.token("1", r#","iss":"https://b","aud":"api""#)), "the token has another issuer"),
        (
            bearer(&issuer.token("1", r#","iss":"https://a","aud":"api","nbf":99999999999"#)),
            "the token is not valid yet",
        ),
        (bearer(&issuer.token("2", claims)), "the token is signed with an unknown key"),
        (bearer(&Issuer::new().token("1", claims)), "the signature is wrong"),
        (bearer(&token.replace('.', "..")), "the token is malformed"),
        (bearer(&"a".repeat(16_400)), "the token is too large"),
        (format!("{0}{0}", bearer(&token)), "the token is malformed"),
    ] {
        let response = serow.ask("/", &fields);
        let challenge = format!("Bearer realm=\"API\", error=\"invalid_token\", error_description=\"{expected}\"");
        assert_eq!((response.status(), response.field("www-authenticate")), (401, Some(&*challenge)));
    }
    for fields in ["Authorization: Basic YWxpY2U6eA==\r\n", "Authorization: Bearer\r\n", "Authorization: Bearer \r\n"] {
        assert_eq!(serow.ask("/", fields).field("www-authenticate"), Some("Bearer realm=\"API\""), "{fields}");
    }
    assert_eq!(serow.ask("/open/", "").status(), 200);
    // Other keys: tokens that were verified are forgotten.
    let next = Issuer::new();
    fs::write(folder.path().join("jwks.json"), next.jwks("2")).unwrap();
    eventually("the keys are read again", || (serow.ask("/", &bearer(&token)).status() == 401).then_some(()));
    assert_eq!(serow.ask("/", &bearer(&next.token("2", claims))).status(), 200);
}

#[test]
fn claims_decide_and_tokens_come_from_cookies_and_queries() {
    let issuer = Issuer::new();
    let (serow, _folder) = start(
        &issuer,
        "keys = \"jwks.json\", from = [\"query:t\", \"cookie:token\"], claims = { scope = [\"write\", \"admin\"], level = \"3\" }",
        "",
    );
    let token = issuer.token("1", r#","scope":"read write","level":3"#);
    let poor = issuer.token("1", r#","scope":"read","level":3"#);
    for (path, fields, expected) in [
        (format!("/?t={token}"), String::new(), 200),
        (format!("/?a=1&t={token}&b"), String::new(), 200),
        ("/".to_owned(), format!("Cookie: a=b; token={token}\r\n"), 200),
        (format!("/?t={token}"), format!("Cookie: token={poor}\r\n"), 200),
        (format!("/?t={poor}"), format!("Cookie: token={token}\r\n"), 403),
        (format!("/?t={token}&t={token}"), String::new(), 401),
        ("/".to_owned(), format!("Cookie: token={token}; token={token}\r\n"), 401),
        ("/".to_owned(), bearer(&token), 401),
        (format!("/?T={token}"), String::new(), 401),
    ] {
        let response = serow.ask(&path, &fields);
        assert_eq!(response.status(), expected, "{path:.20} {fields:.20}");
        if expected == 403 {
            let challenge = "Bearer realm=\"127.0.0.1\", error=\"insufficient_scope\"";
            assert!(
                response.field("www-authenticate").unwrap().ends_with("error=\"insufficient_scope\""),
                "{challenge}"
            );
        }
    }
}

#[test]
fn a_token_or_a_password_is_enough() {
    for addresses in ["", "allow = [\"10.0.0.0/8\"]\n"] {
        let settings = format!("{addresses}basic = {{ file = \"users\" }}\nsatisfy = \"any\"");
        a_token_or_a_password_is_enough_with(&settings);
    }
}

fn a_token_or_a_password_is_enough_with(settings: &str) {
    let issuer = Issuer::new();
    let (serow, _folder) = start(&issuer, "keys = \"jwks.json\"", settings);
    let refused = serow.ask("/", "");
    let challenges: Vec<_> =
        refused.head.lines().filter(|line| line.to_ascii_lowercase().starts_with("www-auth")).collect();
    assert_eq!((refused.status(), challenges.len()), (401, 2), "{challenges:?}");
    assert_eq!(serow.ask("/", &bearer(&issuer.token("1", ""))).status(), 200);
    assert_eq!(serow.ask("/", "Authorization: Basic YWxpY2U6bm9wZQ==\r\n").status(), 401);
    assert_eq!(serow.ask("/", "").status(), 401);
}

#[test]
fn keys_are_fetched_from_a_url_and_kept_while_it_fails() {
    let issuer = Issuer::new();
    let published = Arc::new(Mutex::new(String::new()));
    let shared = Arc::clone(&published);
    let address = server(move |_| shared.lock().unwrap().clone());
    let (serow, _folder) = start(&issuer, &format!("keys = \"http://{address}/jwks.json\""), "");
    let fields = bearer(&issuer.token("1", r#","sub":"bob""#));
    let refused = serow.ask("/", &fields);
    assert_eq!((refused.status(), refused.field("retry-after")), (503, Some("5")));
    assert_eq!(serow.ask("/", "").status(), 401, "no key is needed to see that there is no token");
    *published.lock().unwrap() = issuer.jwks("1");
    eventually("the keys are fetched", || (serow.ask("/", &fields).status() == 200).then_some(()));
    published.lock().unwrap().clear();
    assert_eq!(serow.ask("/", &fields).status(), 200);
    assert_eq!(serow.ask("/", &bearer(&issuer.token("2", ""))).status(), 401);
}

#[test]
fn keys_outlive_reloads_and_restarts_while_the_url_fails() {
    let issuer = Issuer::new();
    let published = Arc::new(Mutex::new(issuer.jwks("1")));
    let shared = Arc::clone(&published);
    let address = server(move |_| shared.lock().unwrap().clone());
    let folder = tempfile::tempdir().unwrap();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"unix:admin.sock\"\nworkers = 1\n\
         [[site]]\njwt = {{ keys = \"http://{address}/jwks.json\" }}\n[[site.route]]\npath = \"/*\"\nrespond = {{ status = 204 }}\n"
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let run = || {
        let mut command = serow(["run"]);
        command.current_dir(folder.path()).env("XDG_STATE_HOME", folder.path());
        Running::of(command)
    };
    let fields = bearer(&issuer.token("1", ""));
    let mut first = run();
    eventually("the keys are fetched", || (first.ask("/", &fields).status() == 204).then_some(()));
    published.lock().unwrap().clear();
    let output = serow(["reload", "--admin", "unix:admin.sock"]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(first.ask("/", &fields).status(), 204);
    first.stop();
    assert_eq!(run().ask("/", &fields).status(), 204);
}

#[test]
fn logs_and_limits_know_the_user_and_no_token_is_in_a_log() {
    let issuer = Issuer::new();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("jwks.json"), issuer.jwks("1")).unwrap();
    let settings = "listen = \"127.0.0.1:0\"\nworkers = 1\naccess-log = \"access.log\"\n\
                    access-log-format = '$remote_user $jwt_claim_realm_access_roles $arg_t $request_uri $http_referer $status'\n\
                    [[limit]]\nname = \"user\"\nkey = \"$jwt_claim_sub\"\nrate = \"1/h\"\nburst = 1\n\
                    [[site]]\njwt = { keys = \"jwks.json\", from = [\"query:t\", \"header\"] }\nlimits = [\"user\"]\n\
                    [[site.route]]\npath = \"/*\"\nrespond = { status = 204 }\n";
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    let server = Running::of(command);
    let [bob, eve] = ["bob", "eve"]
        .map(|user| issuer.token("1", &format!(r#","sub":"{user}","realm_access":{{"roles":["ops","dev"]}}"#)));
    let in_query = format!("/?a=1&t={bob}");
    let statuses = [
        server.ask(&in_query, &format!("Referer: https://a.example/?t={bob}\r\n")).status(),
        server.ask("/", &bearer(&bob)).status(),
        server.ask("/", &bearer(&bob)).status(),
        server.ask("/", &bearer(&eve)).status(),
        // Without a token, the limit of users does not count.
        server.ask("/", "").status(),
        server.ask("/", "").status(),
        server.ask("/", "").status(),
    ];
    assert_eq!(statuses, [204, 204, 429, 204, 401, 401, 401]);
    let lines = crate::running::lines_of(&folder.path().join("access.log"), 7);
    let expected = [
        "bob ops,dev *** /?a=1&t=*** https://a.example/?t=*** 204",
        "bob ops,dev - / - 204",
        "bob ops,dev - / - 429",
        "eve ops,dev - / - 204",
        "- - - / - 401",
        "- - - / - 401",
        "- - - / - 401",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn tokens_of_pyjwt_are_verified() {
    requires!("python:jwt", "python:cryptography");
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("/usr/bin/python3").args(["-c", PYJWT]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let settings = "listen = \"127.0.0.1:0\"\nworkers = 1\n\n[[site]]\njwt = { keys = \"public.pem\", issuer = \"https://a\", \
                    audience = \"api\" }\n[[site.route]]\npath = \"/secret\"\njwt = { secret-file = \"secret\", issuer = \
                    \"https://a\", audience = \"api\" }\nfiles = { root = \"public\" }\n[[site.route]]\npath = \"/*\"\n\
                    files = { root = \"public\" }\n";
    fs::create_dir(folder.path().join("public")).unwrap();
    for name in ["index.html", "secret"] {
        fs::write(folder.path().join("public").join(name), "a").unwrap();
    }
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    let serow = Running::of(command);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 17, "{text}");
    for line in lines {
        let [name, path, expected, token] = line[..] else { panic!("{line:?}") };
        assert_eq!(serow.ask(path, &bearer(token)).status().to_string(), expected, "{name}");
    }
}

/// Writes the keys, and prints tokens with what becomes of them.
const PYJWT: &str = r#"
import time, jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
now = int(time.time())
secret = "0123456789abcdef" * 4
keys = {"RS": rsa.generate_private_key(65537, 2048), "EC": ec.generate_private_key(ec.SECP256R1()),
        "E3": ec.generate_private_key(ec.SECP384R1()), "Ed": ed25519.Ed25519PrivateKey.generate()}
form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
open("public.pem", "wb").write(b"".join(key.public_key().public_bytes(*form) for key in keys.values()))
open("secret", "w").write(secret + "\n")
claims = {"iss": "https://a", "aud": "api", "exp": now + 60, "nbf": now, "iat": now, "sub": "bob"}
def show(name, path, expected, key, algorithm, claims=claims, **more):
    print(name, path, expected, jwt.encode(claims, key, algorithm=algorithm, **more))
for algorithm in ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]:
    show(algorithm, "/", 200, keys["RS"], algorithm)
show("ES256", "/", 200, keys["EC"], "ES256")
show("ES384", "/", 200, keys["E3"], "ES384")
show("EdDSA", "/", 200, keys["Ed"], "EdDSA", headers={"kid": "any"})
for algorithm in ["HS256", "HS384", "HS512"]:
    show(algorithm, "/secret", 200, secret, algorithm)
show("HS256-for-public", "/", 401, secret, "HS256")
show("RS256-for-secret", "/secret", 401, keys["RS"], "RS256")
show("none", "/", 401, None, None)
show("expired", "/", 401, keys["EC"], "ES256", {**claims, "exp": now - 120})
show("audience", "/", 401, keys["EC"], "ES256", {**claims, "aud": ["web"]})
"#;
