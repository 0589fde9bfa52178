//! A configuration that is safe to run: on ports of loopback, with files in a temporary folder, and with origins of this
//! program in the place of all other servers.

mod addresses;
mod dropping;
mod passing;
mod paths;
mod samples;

pub(super) use self::{
    paths::lines_of_nginx,
    samples::{FILES as SAMPLES, with_values},
};

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use self::paths::Paths;
use super::{
    folder::Folder,
    origin::Origins,
    requests::{Request, UNKNOWN},
};
use serow_nginx_syntax::{directive::Directive, token::Argument};

/// A configuration that is safe to run.
#[derive(Debug)]
pub(super) struct Rehearsal {
    /// The directives, with the ports of nginx.
    pub(super) directives: Vec<Directive>,
    /// The addresses that both servers listen on.
    pub(super) listeners: Vec<Listener>,
    /// The address that each `listen` became: of each server, in the order of the file.
    pub(super) of_servers: Vec<Vec<usize>>,
    /// The listeners with a default server of their own, and the number of that server.
    defaults: Vec<(usize, usize)>,
    /// The folders that stand for missing ones: theirs, and the original.
    pub(super) moved: Vec<(String, String)>,
    /// The changes that a rehearsal needs, as sentences.
    pub(super) notes: Vec<String>,
}

/// An address of the original configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listener {
    /// As it was written: `*:80`.
    pub(super) original: String,
    /// The port of the original.
    pub(super) port: u16,
    pub(super) is_tls: bool,
    pub(super) nginx: u16,
    pub(super) serow: u16,
    /// Whether a server listens on it.
    pub(super) is_used: bool,
}

/// The parts of a rehearsal while it is made.
struct Making<'a> {
    origins: &'a mut Origins,
    paths: Paths,
    listeners: Vec<Listener>,
    by_address: BTreeMap<String, usize>,
    of_servers: Vec<Vec<usize>>,
    /// The names of upstreams.
    upstreams: Vec<String>,
    /// The variables that name servers, with the port behind them, and whether their values have a scheme.
    variables: Vec<passing::Variable>,
    /// The certificate for all servers with TLS, if the configuration's own are missing.
    certificate: Option<(PathBuf, PathBuf)>,
    has_tls: bool,
    /// The listeners with `default_server`, and the number of their server.
    defaults: Vec<(usize, usize)>,
    notes: Vec<String>,
}

impl Rehearsal {
    /// A rehearsal of a configuration.
    ///
    /// # Errors
    ///
    /// Ports and files that cannot be made.
    pub(super) fn new(
        directives: &[Directive],
        prefix: &Path,
        folder: &Folder,
        origins: &mut Origins,
    ) -> io::Result<Self> {
        let mut directives = whole(directives);
        let certificates = paths::certificates(&directives, prefix);
        let has_openssl = super::exchange::has_openssl();
        let certificate = match has_openssl && certificates.are_missing {
            true => paths::generate_certificate(folder.path(), &directives),
            false => None,
        };
        let mut making = Making {
            origins,
            paths: Paths::new(prefix, folder.path(), &directives),
            listeners: Vec::new(),
            by_address: BTreeMap::new(),
            of_servers: Vec::new(),
            upstreams: passing::upstreams(&directives),
            variables: passing::variables(&directives),
            has_tls: has_openssl && (certificate.is_some() || !certificates.are_missing),
            certificate,
            defaults: Vec::new(),
            notes: Vec::new(),
        };
        making.limit_notes(&directives, certificates.are_named);
        making.block("", None, &mut directives)?;
        making.listen(&mut directives)?;
        making.paths.replace_moved(&mut directives);
        making.add_to_http(&mut directives, folder.path());
        samples::write(&directives, &making.paths)?;
        Ok(Self {
            directives,
            listeners: making.listeners,
            of_servers: making.of_servers,
            defaults: making.defaults,
            moved: making.paths.moved(),
            notes: making.notes,
        })
    }
}

impl Rehearsal {
    /// The addresses that servers listen on.
    pub(super) fn used(&self) -> impl Iterator<Item = &Listener> {
        self.listeners.iter().filter(|listener| listener.is_used)
    }

    /// The number of the server that gets a request: the one that suggested it, or the default one of the address.
    pub(super) fn site_of(&self, request: &Request) -> usize {
        let listens = |of_server: &Vec<usize>| of_server.contains(&request.listener);
        let first = self.of_servers.iter().position(listens);
        match self.defaults.iter().find(|(listener, _)| *listener == request.listener) {
            _ if request.host != UNKNOWN => request.site,
            Some((_, server)) => *server,
            None => first.unwrap_or(request.site),
        }
    }

    /// Drops the addresses of servers that this nginx refuses.
    pub(super) fn forget_unused_listeners(&mut self) {
        let listens = |listener: &Listener, directive: &Directive| {
            directive.name() == "listen" && directive.word(0) == Some(format!("127.0.0.1:{}", listener.nginx).as_str())
        };
        for listener in &mut self.listeners {
            listener.is_used =
                self.directives.iter().any(|directive| any(directive, &|inner| listens(listener, inner)));
        }
    }
}

impl Making<'_> {
    fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn limit_notes(&mut self, directives: &[Directive], names_certificates: bool) {
        if names_certificates && !self.has_tls {
            self.note("TLS needs the program openssl: the servers are compared without it");
        }
        if self.certificate.is_some() {
            self.note("the certificates do not exist here: a self-signed one is in their place");
        }
        let has = |name: &str| directives.iter().any(|directive| contains(directive, name));
        if has("limit_req_zone") || has("limit_conn_zone") {
            self.note("limits of requests and connections are raised, and not compared");
        }
    }

    /// Changes the directives of a block, and drops those that a rehearsal does not have.
    fn block(&mut self, around: &str, prefix: Option<&str>, directives: &mut Vec<Directive>) -> io::Result<()> {
        directives.retain(|directive| !self.is_dropped(around, directive));
        for directive in directives.iter_mut() {
            self.directive(around, prefix, directive)?;
            let name = directive.name.text.clone();
            let prefix = prefix_of(directive);
            if let Some(block) = &mut directive.block {
                self.block(&name, prefix.as_deref(), block)?;
            }
        }
        Ok(())
    }

    fn directive(&mut self, around: &str, prefix: Option<&str>, directive: &mut Directive) -> io::Result<()> {
        let name = directive.name.text.clone();
        match (around, name.as_str()) {
            ("upstream", "server") => self.upstream_server(directive)?,
            ("map" | "geo" | "split_clients", _) => {}
            (_, "worker_processes") => set_word(directive, 0, "1"),
            (_, "set") => {
                self.set(directive)?;
                self.paths.set(directive);
            }
            (_, "map" | "geo" | "split_clients") => self.map(directive)?,
            (_, "limit_req_zone") => raise(directive, "rate=", "100000r/s"),
            (_, "limit_conn") => set_word(directive, 1, "1000"),
            (_, "proxy_redirect") => self.redirect(directive),
            (_, pass) if super::sites::PASSES.contains(&pass) => self.pass(directive)?,
            _ => self.paths.directive(prefix, directive)?,
        }
        Ok(())
    }

    /// Adds what keeps a server within its folder.
    fn add_to_http(&mut self, directives: &mut [Directive], folder: &Path) {
        let Some(http) = directives.iter_mut().find(|directive| directive.name() == "http") else { return };
        let certificate = self.certificate.clone();
        let has_own = http.children().iter().any(|directive| directive.name() == "ssl_certificate");
        let block = http.block.get_or_insert_default();
        let mut added = Vec::new();
        added.push(made("access_log", &["off"]));
        for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            let path = folder.join("nginx").join(kind).display().to_string();
            added.push(made(&format!("{kind}_temp_path"), &[&path]));
        }
        if let Some((certificate, key)) = certificate
            && !has_own
        {
            added.push(made("ssl_certificate", &[&certificate.display().to_string()]));
            added.push(made("ssl_certificate_key", &[&key.display().to_string()]));
        }
        added.append(block);
        *block = added;
    }
}

/// A configuration with `events` and `http`, also if the original only has servers, as files of `sites-enabled` do.
fn whole(directives: &[Directive]) -> Vec<Directive> {
    let is_of_http = |directive: &Directive| {
        matches!(
            directive.name(),
            "server" | "upstream" | "map" | "geo" | "log_format" | "proxy_cache_path" | "limit_req_zone"
        )
    };
    let mut all = directives.to_vec();
    if !all.iter().any(|directive| directive.name() == "http") && all.iter().any(is_of_http) {
        let mut http = made("http", &[]);
        http.block = Some(all);
        all = vec![http];
    }
    if !all.iter().any(|directive| directive.name() == "events") {
        let mut events = made("events", &[]);
        events.block = Some(Vec::new());
        all.insert(0, events);
    }
    all
}

/// A directive that the original does not have.
fn made(name: &str, words: &[&str]) -> Directive {
    let word = |text: &str| Argument { text: text.to_owned(), line: 0, is_quoted: false };
    Directive {
        name: word(name),
        words: words.iter().copied().map(word).collect(),
        block: None,
        place: serow_nginx_syntax::place::Place { file: Path::new("rehearsal").into(), line: 0 },
        number: usize::MAX,
    }
}

fn set_word(directive: &mut Directive, position: usize, text: &str) {
    if let Some(word) = directive.words.get_mut(position) {
        text.clone_into(&mut word.text);
    }
}

fn raise(directive: &mut Directive, start: &str, value: &str) {
    for word in directive.words.iter_mut().filter(|word| word.text.starts_with(start)) {
        word.text = format!("{start}{value}");
    }
}

fn contains(directive: &Directive, name: &str) -> bool {
    any(directive, &|inner| inner.name() == name)
}
/// The prefix of a location for one.
fn prefix_of(directive: &Directive) -> Option<String> {
    if directive.name() != "location" {
        return None;
    }
    let words: Vec<&str> = directive.texts().collect();
    match words.as_slice() {
        ["^~", path] => Some((*path).to_owned()),
        [path] if path.starts_with('/') => Some((*path).to_owned()),
        _ => None,
    }
}

fn any(directive: &Directive, is_sought: &dyn Fn(&Directive) -> bool) -> bool {
    is_sought(directive) || directive.children().iter().any(|inner| any(inner, is_sought))
}
