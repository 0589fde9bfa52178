//! Forward authentication: a scripted server decides, as Authelia and oauth2-proxy do.

mod scripted_server;

use std::{fs, io::Write, sync::mpsc::Receiver};

use serow_requirements::requires;
use tempfile::TempDir;

use self::scripted_server::{Reply, reply, scripted};
use crate::running::{Answer, Running, TIMEOUT, serow};

/// Responds with the head of the request.
fn echo(head: &str) -> Reply {
    reply("200 OK", "Content-Type: text/plain\r\n", head)
}

struct Guarded {
    server: Running,
    _folder: TempDir,
    questions: Receiver<String>,
    /// The requests that the server behind receives.
    requests: Receiver<String>,
}

impl Guarded {
    /// `{to}` in the settings is the scripted server, `{origin}` the one behind.
    fn start(script: fn(&str) -> Reply, settings: &str) -> Self {
        let ((to, questions), (origin, requests)) = (scripted(script), scripted(echo));
        let folder = tempfile::tempdir().unwrap();
        let settings = settings.replace("{to}", &to.to_string()).replace("{origin}", &origin.to_string());
        fs::write(folder.path().join("serow.toml"), format!("listen = \"127.0.0.1:0\"\nworkers = 1\n{settings}\n"))
            .unwrap();
        let mut command = serow(["run"]);
        command.current_dir(folder.path());
        Self { server: Running::of(command), _folder: folder, questions, requests }
    }

    fn ask(&self, path: &str, fields: &str) -> Answer {
        self.server.ask(path, fields)
    }
}

/// As Authelia answers `/api/verify?rd=…`: users have a cookie, others are led to the portal.
fn authelia(head: &str) -> Reply {
    if head.contains("x-forwarded-uri: /public") {
        return reply("200 OK", "", "200 OK");
    }
    if head.contains("cookie: authelia_session=alice") {
        let fields =
            "Remote-User: alice\r\nRemote-Groups: admins,dev\r\nRemote-Name: Alice\r\nRemote-Email: a@b.example\r\n";
        return reply("200 OK", fields, "200 OK");
    }
    if head.contains("cookie: authelia_session=bob") {
        return reply("403 Forbidden", "", "403 Forbidden");
    }
    let fields = "Location: https://auth.example/?rd=https%3A%2F%2Flocalhost%2Fa&rm=GET\r\n\
                  Set-Cookie: authelia_session=new; HttpOnly; secure; SameSite=Lax\r\nContent-Type: text/html\r\n";
    reply("302 Found", fields, "<a href=\"https://auth.example/\">302 Found</a>")
}

const AUTHELIA: &str = "[[site]]\n\
    forward-auth = { to = \"{to}/api/verify?rd=https://auth.example/\", copy = [\"Remote-User\", \"Remote-Groups\"] }\n\
    [[site.route]]\npath = \"/open/*\"\nforward-auth = false\n\
    proxy = { servers = \"{origin}\", underscores-in-headers = true }\n\
    [[site.route]]\npath = \"/*\"\nproxy = { servers = \"{origin}\", underscores-in-headers = true }";

#[test]
fn authelia_leads_to_its_portal_and_names_users() {
    let guarded = Guarded::start(authelia, AUTHELIA);
    let stranger = guarded.ask("/a?b=c", "Accept: text/html\r\nUser-Agent: test\r\n");
    assert_eq!(stranger.status(), 302);
    assert_eq!(stranger.field("location"), Some("https://auth.example/?rd=https%3A%2F%2Flocalhost%2Fa&rm=GET"));
    assert_eq!(stranger.field("set-cookie"), Some("authelia_session=new; HttpOnly; secure; SameSite=Lax"));
    assert_eq!(stranger.text(), "<a href=\"https://auth.example/\">302 Found</a>");
    let question = guarded.questions.recv_timeout(TIMEOUT).unwrap();
    assert!(question.starts_with("get /api/verify?rd=https://auth.example/ http/1.1\r\n"), "{question}");
    for line in [
        "host: localhost",
        "accept: text/html",
        "user-agent: test",
        "x-forwarded-method: get",
        "x-forwarded-proto: http",
        "x-forwarded-host: localhost",
        "x-forwarded-uri: /a?b=c",
        "x-forwarded-for: 127.0.0.1",
        "x-original-url: http://localhost/a?b=c",
        "x-original-method: get",
    ] {
        assert_eq!(question.matches(&format!("\r\n{line}\r\n")).count(), 1, "{line} in {question}");
    }
    assert_eq!(guarded.ask("/a", "Cookie: authelia_session=bob\r\n").status(), 403);
    let user = guarded.ask("/a", "Cookie: authelia_session=alice\r\n");
    assert_eq!(user.status(), 200);
    for line in ["remote-user: alice", "remote-groups: admins,dev", "cookie: authelia_session=alice"] {
        assert!(user.text().contains(&format!("\r\n{line}\r\n")), "{line} in {}", user.text());
    }
    assert!(!user.text().contains("remote-email"), "{}", user.text());
}

#[test]
fn fields_that_are_set_replace_those_of_the_client() {
    let set = "forward-auth = { to = \"{to}/api\", set-header = [\"Host: auth.example\", \"X-Original-URI: $request_uri\", \
               \"X-Cookie: $cookie_authelia_session\", \"User-Agent:\", \"Accept: $$x\"] }\n";
    let settings = format!("[[site]]\n{set}[[site.route]]\npath = \"/*\"\nproxy = {{ servers = \"{{origin}}\" }}");
    let guarded = Guarded::start(authelia, &settings);
    let forged = "X-Original-URI: /public\r\nx_original_uri: /public\r\nUser-Agent: test\r\nAccept: text/html\r\n";
    let user = guarded.ask("/a%20b?c=d", &format!("{forged}Cookie: authelia_session=alice\r\n"));
    assert_eq!(user.status(), 200);
    let question = guarded.questions.recv_timeout(TIMEOUT).unwrap();
    for line in ["host: auth.example", "x-original-uri: /a%20b?c=d", "x-cookie: alice", "accept: $x"] {
        assert_eq!(question.matches(&format!("\r\n{line}\r\n")).count(), 1, "{line} in {question}");
    }
    for name in ["user-agent", "/public", "host: localhost\r\n"] {
        assert!(!question.replace("x-forwarded-host: localhost", "").contains(name), "{name} in {question}");
    }
    // The request itself keeps the client's fields.
    assert!(user.text().contains("user-agent: test"), "{}", user.text());
}

#[test]
fn clients_cannot_name_users_in_any_spelling() {
    let guarded = Guarded::start(authelia, AUTHELIA);
    let forged = "Remote-User: admin\r\nREMOTE-USER: admin\r\nRemote_User: admin\r\nremote_user: admin\r\n\
                  Remote.User: admin\r\nRemote_Groups: admin\r\nRemote-Groups: admin\r\n";
    for (path, cookie) in [("/a", "Cookie: authelia_session=alice\r\n"), ("/public", ""), ("/open/a", "")] {
        let answer = guarded.ask(path, &format!("{forged}{cookie}X-Other: 1\r\n"));
        assert_eq!(answer.status(), 200, "{path}");
        assert!(!answer.text().contains("admin\r\n") && answer.text().contains("x-other: 1"), "{}", answer.text());
    }
    for question in guarded.questions.try_iter() {
        assert!(!question.contains("admin\r\n"), "{question}");
    }
}

#[test]
fn clients_cannot_name_users_in_trailers() {
    let guarded = Guarded::start(authelia, AUTHELIA);
    for path in ["/a", "/open/a"] {
        let mut stream = guarded.server.connect();
        let head = "Host: localhost\r\nCookie: authelia_session=alice\r\nTransfer-Encoding: chunked\r\n";
        let body = "1\r\na\r\n0\r\nRemote-User: admin\r\nRemote_Groups: admin\r\nX-Sum: 1\r\n\r\n";
        write!(stream, "POST {path} HTTP/1.1\r\n{head}\r\n{body}").unwrap();
        let _head = guarded.requests.recv_timeout(TIMEOUT).unwrap();
        let body = guarded.requests.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(body, "1\r\na\r\n0\r\nx-sum: 1\r\n\r\n", "{path}");
    }
}

/// As oauth2-proxy answers `/oauth2/auth`, and `/` where it is the upstream itself.
fn oauth2_proxy(head: &str) -> Reply {
    if head.contains("cookie: _oauth2_proxy=old") {
        let fields = "X-Auth-Request-User: 1234\r\nX-Auth-Request-Email: a@b.example\r\nGap-Auth: a@b.example\r\n\
                      Set-Cookie: _oauth2_proxy=new; Path=/; HttpOnly; Secure\r\nSet-Cookie: _oauth2_proxy_1=; Max-Age=0\r\n";
        return reply("202 Accepted", fields, "");
    }
    let fields = "Location: /oauth2/start?rd=%2Fa\r\nContent-Type: text/html\r\nWWW-Authenticate: Bearer\r\n";
    reply("401 Unauthorized", fields, "<title>Sign In</title>")
}

#[test]
fn oauth2_proxy_renews_cookies_and_names_users() {
    let guarded = Guarded::start(
        oauth2_proxy,
        "[[upstream]]\nname = \"oauth2-proxy\"\nservers = \"{to}\"\n\
         [[site]]\nproxy = { servers = \"{origin}\" }\nforward-auth = { to = \"oauth2-proxy/oauth2/auth\", \
         copy = [\"X-Auth-Request-User\", \"X-Auth-Request-Email\"], copy-response = [\"Set-Cookie\"], \
         user = \"X-Auth-Request-User\", cache = \"1m\" }",
    );
    let stranger = guarded.ask("/a", "");
    assert_eq!((stranger.status(), stranger.text()), (401, "<title>Sign In</title>"));
    for (name, expected) in [("location", "/oauth2/start?rd=%2Fa"), ("www-authenticate", "Bearer")] {
        assert_eq!(stranger.field(name), Some(expected));
    }
    // A response with a new cookie is not remembered.
    for _ in 0..2 {
        let user = guarded.ask("/a", "Cookie: _oauth2_proxy=old\r\n");
        assert_eq!(user.status(), 200);
        assert_eq!(user.head.matches("Set-Cookie: _oauth2_proxy").count(), 2, "{}", user.head);
        assert!(user.text().contains("x-auth-request-user: 1234"), "{}", user.text());
    }
    assert_eq!(guarded.questions.try_iter().count(), 3);
}

#[test]
fn decisions_are_remembered_for_the_same_request_only() {
    let guarded = Guarded::start(
        authelia,
        "[[site]]\nproxy = { servers = \"{origin}\" }\n\
         forward-auth = { to = \"{to}\", copy = [\"Remote-User\"], cache = \"1m\" }",
    );
    let alice = "Cookie: authelia_session=alice\r\n";
    for (path, fields, status, questions) in [
        ("/a", alice, 200, 1),
        ("/a", alice, 200, 0),
        ("/b", alice, 200, 1),
        ("/a", "", 302, 1),
        ("/a", "", 302, 1),
        ("/public", "", 200, 1),
        ("/secret", "", 302, 1),
        ("/a", "Cookie: authelia_session=bob\r\n", 403, 1),
    ] {
        let answer = guarded.ask(path, fields);
        assert_eq!(answer.status(), status, "{path} {fields}");
        assert_eq!(guarded.questions.try_iter().count(), questions, "{path} {fields}");
        assert_eq!(answer.body.windows(18).any(|text| text == b"remote-user: alice"), fields == alice, "{path}");
    }
}

/// Replies to the number in the path.
fn hostile(head: &str) -> Reply {
    let number = head.split("x-forwarded-uri: /").nth(1).and_then(|rest| rest.split('\r').next()).unwrap_or_default();
    match number {
        "bare-cr" => reply("200 OK", "Remote-User: alice\rX-Admin: 1\r\n", ""),
        "bare-lf" => reply("200 OK", "Remote-User: alice\nX-Admin: 1\r\n", ""),
        "folded" => reply("200 OK", "Remote-User: alice\r\n X-Admin: 1\r\n", ""),
        "nul" => reply("200 OK", "Remote-User: al\0ice\r\n", ""),
        "two-users" => reply("200 OK", "Remote-User: alice\r\nRemote-User: admin\r\n", ""),
        "long-field" => reply("200 OK", &format!("Remote-User: {}\r\n", "a".repeat(20_000)), ""),
        "huge-head" => reply("200 OK", &format!("X-Other: {}\r\n", "a".repeat(1 << 20)), ""),
        "two-lengths" => reply("200 OK", "Content-Length: 5\r\n", ""),
        "long-body" => reply("401 Unauthorized", "", &"a".repeat((1 << 20) + 1)),
        "short-body" => Reply::Close("HTTP/1.1 401 Unauthorized\r\nContent-Length: 10\r\n\r\nabc".to_owned()),
        "short-head" => Reply::Close("HTTP/1.1 200 OK\r\nRemote-".to_owned()),
        "not-http" => Reply::Close("220 mail.example ESMTP\r\n".to_owned()),
        "closes" => Reply::Close(String::new()),
        "silent" => Reply::Silence,
        "slow-body" => Reply::Text("HTTP/1.1 401 Unauthorized\r\nContent-Length: 10\r\n\r\nabc".to_owned()),
        "switches" => Reply::Text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n".to_owned()),
        "redirect-nowhere" => reply("302 Found", "", ""),
        "not-modified" => reply("304 Not Modified", "Location: /\r\n", ""),
        "teapot" => reply("418 I'm a teapot", "", ""),
        "error" => reply("500 Internal Server Error", "Remote-User: alice\r\n", "secret trace"),
        _ => reply("200 OK", "Remote-User: alice\r\n", ""),
    }
}

#[test]
fn errors_of_the_other_server_let_nobody_in() {
    let guarded = Guarded::start(
        hostile,
        "[[site]]\nproxy = { servers = \"{origin}\" }\n\
         forward-auth = { to = \"{to}\", copy = [\"Remote-User\"], timeout = \"500ms\" }",
    );
    for (path, status) in [
        ("/bare-cr", 502),
        ("/bare-lf", 502),
        ("/folded", 502),
        ("/nul", 502),
        ("/two-users", 502),
        ("/long-field", 502),
        ("/huge-head", 502),
        ("/two-lengths", 502),
        ("/long-body", 502),
        ("/short-body", 502),
        ("/short-head", 502),
        ("/not-http", 502),
        ("/closes", 502),
        ("/silent", 504),
        ("/slow-body", 504),
        ("/switches", 502),
        ("/redirect-nowhere", 502),
        ("/not-modified", 502),
        ("/teapot", 502),
        ("/error", 502),
    ] {
        let answer = guarded.ask(path, "");
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(answer.status() == status && !body.contains("secret"), "{path}: {} {body}", answer.head);
        assert!(guarded.requests.try_recv().is_err(), "{path} reached the server behind");
    }
    guarded.server.line_with("requests are refused: ");
    // It recovers, and the log has one line for all of them.
    assert_eq!(guarded.ask("/usual", "").status(), 200);
    assert_eq!(guarded.server.warned("requests are refused: "), None);
}

#[test]
fn requests_are_refused_while_the_other_server_is_down() {
    let guarded = Guarded::start(
        echo,
        "[[site]]\nproxy = { servers = \"{origin}\" }\nforward-auth = { to = \"127.0.0.1:1/verify\", copy = [\"Remote-User\"] }",
    );
    for _ in 0..5 {
        assert!(matches!(guarded.ask("/a", "Remote-User: admin\r\n").status(), 502 | 503));
    }
    assert!(guarded.requests.try_recv().is_err());
    guarded.server.line_with("forward-auth 127.0.0.1:1/verify: requests are refused: ");
}

#[test]
fn applications_know_the_user_and_no_forged_name() {
    requires!("program:/usr/bin/python3");
    let folder = tempfile::tempdir().unwrap();
    let application = "def application(environ, start_response):\n\
                       \x20   start_response('200 OK', [('Content-Type', 'text/plain')])\n\
                       \x20   names = ('REMOTE_USER', 'HTTP_REMOTE_USER', 'HTTP_REMOTE_GROUPS')\n\
                       \x20   return [' '.join(environ.get(name, '-') for name in names).encode()]\n";
    fs::write(folder.path().join("app.py"), application).unwrap();
    let app = folder.path().join("app.py");
    let settings = format!(
        "[[site]]\nforward-auth = {{ to = \"{{to}}\", copy = [\"Remote-User\", \"Remote-Groups\"] }}\n\
         app = {{ application = \"{}\" }}",
        app.display()
    );
    let guarded = Guarded::start(authelia, &settings);
    let forged = "Remote-User: admin\r\nRemote_User: admin\r\nRemote_Groups: admin\r\n";
    let alice = guarded.ask("/a", &format!("{forged}Cookie: authelia_session=alice\r\n"));
    assert_eq!(alice.text(), "alice alice admins,dev");
    assert_eq!(guarded.ask("/public", forged).text(), "- - -");
}

#[test]
fn files_for_users_stay_out_of_caches_in_front() {
    let settings = "[[site]]\n[[site.route]]\npath = \"/public/*\"\nfiles = { root = \".\" }\n\
        [[site.route]]\npath = \"/long/*\"\nforward-auth = { to = \"{to}\" }\n\
        files = { root = \".\", strip-prefix = true }\nheaders = { Cache-Control = \"public, max-age=60\" }\n\
        [[site.route]]\npath = \"/*\"\nforward-auth = { to = \"{to}\" }\nfiles = { root = \".\" }";
    let guarded = Guarded::start(authelia, settings);
    let cookie = "Cookie: authelia_session=alice\r\n";
    for (path, status, expected) in [
        ("/serow.toml", 200, Some("private")),
        ("/none", 404, Some("private")),
        ("/long/serow.toml", 200, Some("public, max-age=60")),
        ("/public/serow.toml", 404, None),
    ] {
        let answer = guarded.ask(path, cookie);
        assert_eq!((answer.status(), answer.field("cache-control")), (status, expected), "{path}");
    }
}
