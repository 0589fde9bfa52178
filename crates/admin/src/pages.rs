//! The requests that an admin endpoint answers.

use serow::{Handler, KnownHeader, Method, Request, Response, StatusCode};
use serow_acme::CertificateCommand;
use serow_supervisor::master::WantedProcess;

use super::{
    added_settings::{Precondition, SettingsChange},
    audit::{Caller, Command},
    ban_command::BanCommand,
    cache_inquiry::CacheInquiry,
    config_pages,
    fleet_command::FleetCommand,
    fleet_pages,
    maintenance_command::MaintenanceCommand,
    metrics,
    purge_command::PurgeCommand,
    server_command::ServerCommand,
    subject::{Refusal, Subject},
    token::Token,
    upstreams::Inquiry,
};

/// Answers the requests of an admin endpoint.
#[derive(Clone)]
pub(crate) struct Pages {
    subject: Subject,
    access: Access,
}

/// The clients that can connect to the endpoint.
#[derive(Clone, Debug)]
pub(super) enum Access {
    /// The user that runs the server, and root: the socket's file and the pages refuse everybody else.
    Owner {
        /// The user that the server runs as.
        user: u32,
    },
    /// All users and programs of this machine, browsers among them. Those who know the token may change something.
    Machine {
        /// The token, if there is one.
        token: Token,
    },
}

impl Pages {
    pub(super) fn new(subject: Subject, access: Access) -> Self {
        Self { subject, access }
    }

    /// Whether a foreign web page may be behind a request: one that gave its own name this machine's address (DNS
    /// rebinding), to read along; or one that sends a form here.
    fn is_of_a_page(&self, request: &Request) -> bool {
        let is_named = request.host().is_some_and(names_this_machine);
        matches!(self.access, Access::Machine { .. }) && (!is_named || request.headers.contains("origin"))
    }

    /// Whether another user is at the other end of the unix socket: its file may have got other permissions.
    fn is_of_another_user(&self, request: &Request) -> bool {
        let Access::Owner { user: owner } = self.access else { return false };
        let credentials = request.connection().credentials();
        credentials.is_none_or(|credentials| credentials.user != owner && credentials.user != ROOT)
    }

    /// The refusal of a request that must not change anything; `None` where it may.
    fn refusal(&self, request: &Request) -> Option<Response> {
        let Access::Machine { token } = &self.access else { return None };
        let given = request.headers.get(KnownHeader::Authorization).and_then(|value| value.strip_prefix(b"Bearer "));
        match token.is(given.unwrap_or_default()) {
            Some(true) => None,
            Some(false) => {
                let mut refused = refusal(StatusCode::UNAUTHORIZED, WRONG_TOKEN);
                set(&mut refused, KnownHeader::WwwAuthenticate, "Bearer");
                Some(refused)
            }
            None => Some(refusal(StatusCode::FORBIDDEN, WITHOUT_TOKEN)),
        }
    }

    async fn answer(self, request: Request) -> Response {
        if self.is_of_a_page(&request) {
            return Response::plain_status(StatusCode::FORBIDDEN);
        }
        if self.is_of_another_user(&request) {
            let refused = refusal(StatusCode::FORBIDDEN, OTHER_USER);
            Caller::of(request.connection()).log_refusal(&request, refused.status);
            return refused;
        }
        match request.method {
            Method::GET | Method::HEAD => self.read(&request).await,
            Method::PUT | Method::DELETE if config_pages::name_in(request.target.path()).is_some() => {
                self.change_config(request).await
            }
            Method::POST => self.change(request).await,
            _ => wrong_method(request.target.path()),
        }
    }

    /// Answers a request that changes nothing.
    async fn read(&self, request: &Request) -> Response {
        match request.target.path() {
            "/" => text("text/plain; charset=utf-8", CONTENTS),
            "/status" => self.status("application/json", |status| format!("{status:#}\n")).await,
            "/metrics" => self.status(metrics::MEDIA_TYPE, metrics::text).await,
            "/upstreams" => self.upstreams(request.target.query()).await,
            // URLs may contain secrets, which are not for all users of the machine.
            "/cache" => match self.refusal(request) {
                Some(refused) => refused,
                None => self.cache(request.target.query()).await,
            },
            path => match (config_pages::name_in(path), &self.subject) {
                (Some(_), _) if !self.is_of_owner() => refusal(StatusCode::FORBIDDEN, ONLY_BY_SOCKET),
                (Some(name), Subject::Master { added, .. }) => config_pages::read(added, name),
                (Some(_), Subject::Server { .. }) => refusal(StatusCode::NOT_IMPLEMENTED, WITHOUT_FILE),
                (None, _) => wrong_method(path),
            },
        }
    }

    /// Whether only the user of the server and root can connect.
    fn is_of_owner(&self) -> bool {
        matches!(self.access, Access::Owner { .. })
    }

    /// Changes an added settings file, and logs it. Settings name programs that the server runs, and files that it serves.
    async fn change_config(&self, mut request: Request) -> Response {
        let caller = Caller::of(request.connection());
        if !self.is_of_owner() {
            let refused = refusal(StatusCode::FORBIDDEN, ONLY_BY_SOCKET);
            caller.log_refusal(&request, refused.status);
            return refused;
        }
        let Subject::Master { control, .. } = &self.subject else {
            return refusal(StatusCode::NOT_IMPLEMENTED, WITHOUT_FILE);
        };
        let path = request.target.path().to_owned();
        let name = config_pages::name_in(&path).unwrap_or_default();
        let change = match config_pages::change(name, &mut request).await {
            Ok(change) => change,
            Err(answer) => return answer,
        };
        let (response, command) = match fleet_pages::is_meant(&request) {
            Ok(false) => (config_pages::make(control, &change).await, Command::Config(change)),
            Ok(true) => {
                let SettingsChange { name, text, precondition } = change;
                let command = FleetCommand::Config { name, text };
                let response = fleet_pages::execute(&self.subject, command.clone(), precondition).await;
                (response, Command::Fleet(command))
            }
            Err(reason) => return refusal(StatusCode::BAD_REQUEST, reason),
        };
        caller.log(&command, response.status);
        response
    }

    /// Executes the command of a caller who is allowed to, and logs it.
    async fn change(&self, mut request: Request) -> Response {
        let caller = Caller::of(request.connection());
        if let Some(refused) = self.refusal(&request) {
            caller.log_refusal(&request, refused.status);
            return refused;
        }
        let command = match request.target.path() {
            "/reload" => match wanted_process(request.target.query()) {
                Ok(process) => Command::Reload(process),
                Err(reason) => return refusal(StatusCode::BAD_REQUEST, reason),
            },
            "/stop" => Command::Stop,
            path @ ("/upstreams" | "/certificates" | "/maintenance" | "/bans" | "/purge") => {
                let is_for_fleet = fleet_pages::is_meant(&request);
                let Ok(body) = std::mem::take(&mut request.body).collect(MAX_COMMAND).await else {
                    return Response::plain_status(StatusCode::PAYLOAD_TOO_LARGE);
                };
                let command = match path {
                    "/upstreams" => ServerCommand::read(&body).map(Command::Server),
                    "/bans" => BanCommand::read(&body).map(Command::Ban),
                    "/maintenance" => MaintenanceCommand::read(&body).map(Command::Maintenance),
                    "/purge" => PurgeCommand::read(&body).map(Command::Purge),
                    _ => certificate_command(&body).map(Command::Certificate),
                };
                let command = command.and_then(|command| match is_for_fleet {
                    Ok(false) => Ok(command),
                    Ok(true) => fleet_pages::for_fleet(command),
                    Err(reason) => Err(reason.to_owned()),
                });
                match command {
                    Ok(command) => command,
                    Err(reason) => return refusal(StatusCode::BAD_REQUEST, &reason),
                }
            }
            path => return wrong_method(path),
        };
        let response = self.execute(command.clone()).await;
        caller.log(&command, response.status);
        response
    }

    async fn execute(&self, command: Command) -> Response {
        let done = match command {
            Command::Reload(process) => self.subject.reload(process).await,
            Command::Server(command) => self.subject.apply(command).await,
            Command::Certificate(command) => self.subject.apply_to_certificate(command).await,
            Command::Ban(command) => self.subject.apply_ban(command).await,
            Command::Maintenance(command) => self.subject.apply_maintenance(command).await,
            Command::Purge(command) => self.subject.apply_purge(command).await,
            Command::Fleet(command) => {
                return fleet_pages::execute(&self.subject, command, Precondition::None).await;
            }
            // It has a method and an answer of its own.
            Command::Config(_) => return wrong_method("/config"),
            Command::Stop => {
                self.subject.stop().await;
                Ok("stopping: the server finishes the requests in progress\n".to_owned())
            }
        };
        answer("text/plain; charset=utf-8", done)
    }

    async fn upstreams(&self, query: Option<&str>) -> Response {
        let inquiry = match Inquiry::read(query) {
            Ok(inquiry) => inquiry,
            Err(reason) => return refusal(StatusCode::BAD_REQUEST, reason),
        };
        let Some(status) = self.subject.status().await else {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, STOPPING);
        };
        let (media_type, answer) = inquiry.answer(&status);
        let mut response = text(media_type, &answer);
        set(&mut response, KnownHeader::ContentSecurityPolicy, POLICY);
        response
    }

    async fn cache(&self, query: Option<&str>) -> Response {
        match CacheInquiry::read(query) {
            Ok(inquiry) => answer("application/json", self.subject.cache(inquiry).await),
            Err(reason) => refusal(StatusCode::BAD_REQUEST, reason),
        }
    }

    async fn status(&self, media_type: &str, written: impl Fn(&serde_json::Value) -> String) -> Response {
        match self.subject.status().await {
            Some(status) => text(media_type, &written(&status)),
            None => refusal(StatusCode::SERVICE_UNAVAILABLE, STOPPING),
        }
    }
}

impl Handler for Pages {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.clone().answer(request)
    }
}

/// Reads the query of a reload, or returns what is wrong with it.
fn wanted_process(query: Option<&str>) -> Result<WantedProcess, &'static str> {
    match query.unwrap_or_default() {
        "" => Ok(WantedProcess::IfNeeded),
        "process=new" => Ok(WantedProcess::New),
        _ => Err("write POST /reload, or POST /reload?process=new for a new process in any case"),
    }
}

/// Reads a command for a certificate from JSON, or returns what is wrong with the text.
fn certificate_command(json: &[u8]) -> Result<CertificateCommand, String> {
    serde_json::from_slice(json).map_err(|error| {
        let example = r#"{"certificate":"example.com","action":"renew"}"#;
        format!("invalid command ({error}); write it as in {example}")
    })
}

/// The response to what was tried.
pub(super) fn answer(media_type: &str, done: Result<String, Refusal>) -> Response {
    match done {
        Ok(done) => text(media_type, &done),
        Err(Refusal::Impossible(reason)) => refusal(StatusCode::NOT_IMPLEMENTED, reason),
        Err(Refusal::Failed(reason)) => refusal(StatusCode::UNPROCESSABLE_ENTITY, &reason),
    }
}

pub(super) fn text(media_type: &str, text: &str) -> Response {
    let mut response = Response::text(text.to_owned());
    set(&mut response, KnownHeader::ContentType, media_type);
    set(&mut response, KnownHeader::CacheControl, "no-store");
    response
}

pub(super) fn refusal(status: StatusCode, reason: &str) -> Response {
    let mut response = text("text/plain; charset=utf-8", &format!("{}\n", reason.trim_end()));
    response.status = status;
    response
}

/// There is such a page, for other methods; or there is none.
fn wrong_method(path: &str) -> Response {
    match path {
        "/" | "/status" | "/metrics" | "/cache" => not_allowed("GET, HEAD"),
        "/upstreams" => not_allowed("GET, HEAD, POST"),
        path if config_pages::name_in(path).is_some() => not_allowed("GET, HEAD, PUT, DELETE"),
        "/reload" | "/stop" | "/certificates" | "/maintenance" | "/bans" | "/purge" => not_allowed("POST"),
        _ => Response::plain_status(StatusCode::NOT_FOUND),
    }
}

pub(super) fn not_allowed(methods: &str) -> Response {
    let mut refused = Response::plain_status(StatusCode::METHOD_NOT_ALLOWED);
    set(&mut refused, KnownHeader::Allow, methods);
    refused
}

pub(super) fn set(response: &mut Response, name: KnownHeader, value: &str) {
    // Constants of this file are valid values.
    let _ = response.headers.insert(name, value);
}

/// Whether a Host field has one of this machine's own names, which no page of others can have.
fn names_this_machine(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Root may do everything on its machine.
const ROOT: u32 = 0;

const OTHER_USER: &str = "this socket is for the user that runs the server, and for root";

const STOPPING: &str = "the server is stopping";

const WITHOUT_TOKEN: &str = "over TCP, changes need a token: give the server --admin-token-file, or a unix socket";

const ONLY_BY_SOCKET: &str =
    "added settings files are read and changed by the unix socket only: they can name programs to run";

const WITHOUT_FILE: &str = "only 'serow run' has settings files";

const WRONG_TOKEN: &str = "the token is missing or wrong: give the server's --admin-token-file";

/// The page brings all it needs, and asks for itself only.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";

/// A command has three short texts.
const MAX_COMMAND: usize = 16 * 1024;

const CONTENTS: &str = "\
Serow's admin endpoint.

GET /status      how the server is doing, in JSON; 'serow status --help' explains the fields
GET /metrics     the same for Prometheus
GET /upstreams   the servers of all upstreams, as a page; ?format=csv, json or prometheus as Tengine's, ?status=up or down
GET /cache       what the cache holds, in JSON; ?by=largest, host or tag
POST /upstreams  take one of them out, bring it back, and so on, as docs/proxy.md describes: 200, or 422 and what is wrong
POST /bans       ban a client or lift a ban, as docs/access.md describes
POST /purge      purge the cache, as docs/cache.md describes: 200, or 422 where the server has none
POST /maintenance  begin or end maintenance, as docs/running.md describes
?fleet           with POST /upstreams, /bans, /purge and /maintenance, PUT and DELETE: for all servers that share [redis]
POST /reload     read the settings file again (serow run): 200, or 422 and what is wrong; ?process=new starts a new process
GET /config      the settings files that were added, in JSON; GET /config/NAME one of them
PUT /config/NAME add a settings file or change it, at once and for later starts, as docs/running.md describes; DELETE removes it
POST /stop       finish the requests in progress, then end

Over TCP, POST and GET /cache need 'Authorization: Bearer' with the token of --admin-token-file.
";

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        task::{Context, Poll, Waker},
    };

    use serow::{Body, Connection, Headers, Peer, PeerCredentials, RequestHead, Scheme, Server, Target, Version};

    use super::*;
    use crate::Sources;

    /// The status of a request that a process of this user makes at the socket of the user 1000.
    fn status_at_the_socket(method: Method, path: &str, user: Option<u32>) -> u16 {
        let server = Server::new().listen("127.0.0.1:0").ignore_signals().bind().unwrap();
        let sandbox = Arc::from("off");
        let (upstreams, applications) = (Vec::new(), Vec::new());
        let sources = Sources {
            mirrors: Vec::new(),
            cache: None,
            fleet: None,
            containers: None,
            routes: crate::CountedRoutes::default(),
            status: server.status(),
            log: Default::default(),
            upstreams,
            applications,
            sandbox,
            certificates: Default::default(),
            bans: Default::default(),
            access: Default::default(),
            maintenance: Default::default(),
            former: Default::default(),
        };
        let subject = Subject::Server { sources, stopper: server.stopper(), reloader: None };
        let pages = Pages::new(subject, Access::Owner { user: 1000 });
        let credentials = user.map(|user| PeerCredentials { process: None, user });
        let connection = Connection::new(Peer::Unix, None, Scheme::Http).with_credentials(credentials);
        let target = Target::parse(path.to_owned().into(), false).unwrap();
        let head = RequestHead { method, target, version: Version::HTTP_11, headers: Headers::default() };
        let mut answer = std::pin::pin!(pages.call(Request::new(head, Body::empty(), connection)));
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => response.status.as_u16(),
            Poll::Pending => panic!("nothing to wait for"),
        }
    }

    #[test]
    fn only_the_owner_and_root_are_answered_at_a_unix_socket() {
        for (method, path) in [(Method::GET, "/status"), (Method::POST, "/stop")] {
            for (user, expected) in [(Some(1000), 200), (Some(0), 200), (Some(1001), 403), (None, 403)] {
                assert_eq!(status_at_the_socket(method.clone(), path, user), expected, "{method} {path} {user:?}");
            }
        }
    }

    #[test]
    fn a_reload_has_a_query_that_is_known_or_none() {
        for (path, expected) in [
            // There are no settings to read again.
            ("/reload", 501),
            ("/reload?", 501),
            ("/reload?process=new", 501),
            ("/reload?process=old", 400),
            ("/reload?process=new&more", 400),
            ("/reload?new", 400),
        ] {
            assert_eq!(status_at_the_socket(Method::POST, path, Some(1000)), expected, "{path}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_accepted() {
        for host in ["localhost", "LocalHost:9000", "127.0.0.1", "127.0.0.1:9000", "[::1]", "[::1]:9000"] {
            assert!(names_this_machine(host), "{host}");
        }
        for host in ["", "example.com", "example.com:9000", "10.0.0.1", "localhost.example.com:9000", "[::2]:80", ":80"]
        {
            assert!(!names_this_machine(host), "{host}");
        }
    }
}
