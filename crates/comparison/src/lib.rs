//! A comparison of nginx and Serow, each with its own form of one configuration, on requests that the configuration suggests.
//!
//! | step | file |
//! | --- | --- |
//! | the configuration becomes one that is safe to run: ports of loopback, a temporary folder, sample files | `rehearsal.rs`, `rehearsal/`, `printed.rs` |
//! | a server in this process takes the place of all servers that requests are passed to | `origin.rs`, `origin/` |
//! | its directives suggest requests | `requests.rs`, `requests/`, `sites.rs` |
//! | nginx and Serow start, and get each request | `servers.rs`, `exchange.rs` |
//! | differences are found, and those that are meant get their reason | `difference.rs`, `difference/` |
//! | all of them become a text | `outcome.rs` |
#![forbid(unsafe_code)]

mod deadline;
mod difference;
mod exchange;
mod folder;
#[cfg(test)]
mod memory;
mod origin;
mod outcome;
mod printed;
mod rehearsal;
mod requests;
mod servers;
mod sites;

use std::{
    borrow::Cow,
    collections::BTreeSet,
    error, fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

pub use self::{
    difference::Difference,
    outcome::{Comparison, Finding},
};
use self::{
    difference::{
        Named, Side,
        names::Names,
        reasons::{Context, reason},
        remarks::Remarks,
    },
    exchange::{Client, Outcome},
    folder::Folder,
    origin::Origins,
    printed::Printed,
    rehearsal::Rehearsal,
    requests::Request,
    servers::Server,
    sites::{Location, Site},
};
use serow_nginx_syntax::{directive::Directive, disk::Disk, error::ImportError, reading};

/// The programs of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The user's nginx.
    pub nginx: PathBuf,
    /// Serow itself.
    pub serow: PathBuf,
}

/// An error that leaves nothing to compare.
#[derive(Debug)]
pub enum ComparisonError {
    /// The configuration cannot be read.
    Import(ImportError),
    /// A server does not start, and says why.
    Server(String),
    /// Files and ports that a comparison needs cannot be made.
    System(std::io::Error),
}

impl fmt::Display for ComparisonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Import(error) => error.fmt(formatter),
            Self::Server(message) => formatter.write_str(message),
            Self::System(error) => write!(formatter, "cannot make the files and ports of a comparison: {error}"),
        }
    }
}

impl error::Error for ComparisonError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Import(error) => Some(error),
            Self::Server(_) => None,
            Self::System(error) => Some(error),
        }
    }
}

impl From<ImportError> for ComparisonError {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}

impl From<std::io::Error> for ComparisonError {
    fn from(error: std::io::Error) -> Self {
        Self::System(error)
    }
}

/// Compares nginx with Serow: both get requests that a configuration suggests, on ports of loopback.
///
/// Relative paths of the configuration start at `prefix`. Takes up to some minutes.
///
/// # Errors
///
/// A configuration that cannot be read, and a server that does not start.
pub fn compare(main: &Path, prefix: &Path, programs: &Programs) -> Result<Comparison, ComparisonError> {
    let (original, _) = reading::read(main, prefix, &Disk)?;
    let folder = Folder::new()?;
    for name in ["nginx", "serow"] {
        fs::create_dir_all(folder.path().join(name).join("cache"))?;
    }
    let mut origins = Origins::default();
    let mut rehearsal = Rehearsal::new(&original, prefix, &folder, &mut origins)?;
    let refused = servers::make_valid(&programs.nginx, folder.path(), &mut rehearsal.directives)
        .map_err(|message| ComparisonError::Server(format!("nginx refuses the configuration: {message}")))?;
    rehearsal.forget_unused_listeners();
    let mut nginx = start_nginx(&programs.nginx, &folder, &rehearsal)?;
    let (mut serow, remarks) = start_serow(&programs.serow, &folder, &rehearsal)?;
    let requests = requests::of(&rehearsal);
    let sites = sites::of(&rehearsal.directives);
    let names = Names::new(&rehearsal, origins.ports(), &original);
    let named = named(&rehearsal.directives);
    let mut comparison =
        Comparison { notes: rehearsal.notes.clone(), refused, left_out: requests.left_out, ..Comparison::default() };
    let mut clients = [Client::default(), Client::default()];
    for request in &requests.requests {
        let Some(listener) = rehearsal.listeners.get(request.listener).filter(|listener| listener.is_used) else {
            continue;
        };
        origins.take();
        let of_nginx = clients[0].send(listener.nginx, listener.is_tls, request);
        let nginx_received = origins.take();
        let of_serow = clients[1].send(listener.serow, listener.is_tls, request);
        let serow_received = origins.take();
        if let Some(message) = nginx.has_ended().or_else(|| serow.has_ended()) {
            return Err(ComparisonError::Server(message));
        }
        let sides = [
            Side { outcome: &of_nginx, received: &nginx_received },
            Side { outcome: &of_serow, received: &serow_received },
        ];
        let mut differences = difference::between(request, sides[0], sides[1], &named, &names);
        let site = sites.get(rehearsal.site_of(request));
        let paths = [Some(request.path()), request.accelerated()];
        let reached = |site: &Site<'_>| -> Vec<usize> {
            let starts = paths.iter().flatten().map(|path| site.location_of(path));
            match differences.is_empty() {
                true => starts.collect(),
                false => starts.flat_map(|location| site.reached_from(location)).collect(),
            }
        };
        let reached = site.map(reached).unwrap_or_default();
        let reached: Vec<&Location<'_>> =
            site.into_iter().flat_map(|site| reached.iter().filter_map(|number| site.locations.get(*number))).collect();
        let location = reached.first().copied();
        for difference in &mut differences {
            let context = context(&sites, &reached, request, sides, difference, &named);
            difference.reason = reason(difference, request, context)
                .map(Cow::Borrowed)
                .or_else(|| remarks.reason(difference, request, context.status, &reached).map(Cow::Owned));
        }
        let scheme = if listener.is_tls { "https" } else { "http" };
        comparison.add(request.curl(scheme, listener.port), location.and_then(Location::directive), differences);
    }
    Ok(comparison)
}

fn start_nginx(program: &Path, folder: &Folder, rehearsal: &Rehearsal) -> Result<Server, ComparisonError> {
    let ports: Vec<u16> = rehearsal.used().map(|listener| listener.nginx).collect();
    let mut command = Command::new(program);
    command.arg("-p").arg(folder.path()).arg("-c").arg(folder.path().join("nginx.conf"));
    Server::start("nginx", &mut command, folder.path().join("nginx/output"), &ports).map_err(ComparisonError::Server)
}

/// Starts Serow with the settings that the import makes from nginx's file, on its own ports. Returns the import's remarks, too.
fn start_serow(program: &Path, folder: &Folder, rehearsal: &Rehearsal) -> Result<(Server, Remarks), ComparisonError> {
    let path = |name: &str| folder.path().join(name);
    let (of_nginx, of_serow) = (format!("{}/", path("nginx").display()), format!("{}/", path("serow").display()));
    let change = |name: &str, word: &str| {
        let listener = rehearsal.listeners.iter().find(|listener| word == format!("127.0.0.1:{}", listener.nginx));
        match listener.filter(|_| name == "listen") {
            Some(listener) => Some(format!("127.0.0.1:{}", listener.serow)),
            None => word.starts_with(&of_nginx).then(|| word.replacen(&of_nginx, &of_serow, 1)),
        }
    };
    let conf = path("serow/nginx.conf");
    let printed = Printed::of(&rehearsal.directives, &change);
    fs::write(&conf, &printed.text)?;
    let imported = serow_import::nginx(&conf, folder.path(), &Disk)?;
    let remarks = Remarks::of(&imported.report, &printed);
    create_folders(&imported.settings, folder.path())?;
    let settings = path("serow/serow.toml");
    fs::write(&settings, imported.settings)?;
    let ports: Vec<u16> = rehearsal.used().map(|listener| listener.serow).collect();
    let mut command = Command::new(program);
    command.arg("run").arg("--config").arg(&settings).current_dir(path("serow"));
    Server::start("Serow", &mut command, path("serow/output"), &ports)
        .map(|server| (server, remarks))
        .map_err(ComparisonError::Server)
}

/// Creates the folders that settings name in the folder of the comparison: nginx starts without them, and Serow does not.
fn create_folders(settings: &str, folder: &Path) -> std::io::Result<()> {
    let roots = settings.split("root = \"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut missing = roots.map(Path::new).filter(|root| root.starts_with(folder) && !root.exists());
    missing.try_for_each(fs::create_dir_all)
}

/// The fields and variables that a configuration names.
fn named(directives: &[Directive]) -> Named {
    let mut named = Named::default();
    collect(directives, &mut named);
    named
}

fn collect(directives: &[Directive], named: &mut Named) {
    for directive in directives {
        let Some(word) = directive.word(0) else {
            collect(directive.children(), named);
            continue;
        };
        match directive.name() {
            // Lengths are those of what else is compared.
            "add_header" if word.eq_ignore_ascii_case("content-length") => false,
            "add_header" => named.response.insert(word.to_ascii_lowercase()),
            "proxy_set_header" => named.request.insert(word.to_ascii_lowercase()),
            "fastcgi_param" | "uwsgi_param" | "scgi_param" => named.variables.insert(word.to_owned()),
            _ => false,
        };
        collect(directive.children(), named);
    }
}

/// The conditions of the reasons for a difference.
fn context(
    sites: &[Site<'_>],
    reached: &[&Location<'_>],
    request: &Request,
    sides: [Side<'_>; 2],
    difference: &Difference,
    named: &Named,
) -> Context {
    let location = reached.first().copied();
    let nearest = |name: &str| location.map(|location| location.nearest(name)).unwrap_or_default();
    let has = |location: &Location<'_>, name: &str| {
        location.nearest(name).iter().any(|directive| directive.word(0) != Some("off"))
    };
    let asks = reached.iter().any(|location| has(location, "auth_request"));
    let is_marked = |side: Side<'_>| match side.outcome {
        Outcome::Answered(answer) => answer.field("x-origin").is_some(),
        _ => false,
    };
    // An origin also gets the requests that ask.
    let answers = |side: Side<'_>| if asks { is_marked(side) } else { !side.received.is_empty() };
    let is_on = |name: &str| nearest(name).iter().any(|directive| directive.word(0) == Some("on"));
    let known: BTreeSet<&str> = sites.iter().flat_map(|site| site.names.iter().copied()).collect();
    let is_known_host = known.contains(request.host.as_str())
        || known.iter().any(|name| name.starts_with(['~', '*', '.']) || name.ends_with(".*"))
            && request.host != requests::UNKNOWN;
    let candidates: Vec<&str> = nearest("try_files").first().iter().flat_map(|directive| directive.texts()).collect();
    let last = candidates.last();
    let status = |side: Side<'_>| match side.outcome {
        Outcome::Answered(answer) => answer.status,
        _ => 0,
    };
    let is_default_type = nearest("default_type").iter().any(|own| own.word(0) == Some(difference.nginx.as_str()));
    let authenticates = nearest("auth_basic").iter().any(|own| own.word(0) != Some("off"))
        && !nearest("satisfy").iter().any(|own| own.word(0) == Some("any"));
    Context {
        status: status(sides[1]),
        is_known_host,
        lists: is_on("autoindex"),
        limits_methods: !nearest("limit_except").is_empty(),
        limits_requests: !nearest("limit_req").is_empty() || !nearest("limit_conn").is_empty(),
        ends_at_script: last.is_some_and(|last| last.contains(".php")),
        ends_at_page: last.is_some_and(|last| last.contains(".html")),
        leads_on: candidates.iter().any(|candidate| !candidate.starts_with("$uri") && !candidate.starts_with('=')),
        tries_files: !candidates.is_empty(),
        is_folder_without_index: candidates.iter().any(|candidate| candidate.ends_with("$uri/"))
            && location.is_some_and(|location| is_folder_without_index(location, request.path())),
        responds: location.is_some_and(|location| returns_text(location.directive())),
        is_default_type,
        authenticates,
        is_added: named.response.contains(&difference.part),
        is_of_origin: answers(sides[0]),
        is_of_serows_origin: answers(sides[1]),
        asks,
        is_script: location.is_some_and(|location| location.own("fastcgi_pass").next().is_some()),
        caches: reached.iter().any(|location| CACHES.iter().any(|name| has(location, name))),
        is_named_variable: ["fastcgi_param", "uwsgi_param", "scgi_param"].iter().any(|name| {
            let variable = difference.part.trim_start_matches("origin: ");
            reached.iter().any(|location| location.nearest(name).iter().any(|param| param.word(0) == Some(variable)))
        }),
        has_error_pages: reached.iter().any(|location| !location.nearest("error_page").is_empty()),
        withholds_body: request.body.is_some()
            && nearest("proxy_pass_request_body").iter().any(|directive| directive.word(0) == Some("off")),
        indexes_scripts: nearest("index").iter().any(|index| index.texts().any(|name| name.ends_with(".php"))),
        lacks_error_script: location.is_some_and(|location| lacks_error_script(location, status(sides[0]))),
    }
}

/// Whether a script that does not exist is to make the page of an error.
fn lacks_error_script(location: &Location<'_>, status: u16) -> bool {
    let status = status.to_string();
    let page = location.nearest("error_page").into_iter().find(|page| page.texts().any(|word| word == status));
    let script = page.and_then(|page| page.texts().last()).filter(|page| page.ends_with(".php"));
    let folder = location.folder().map(|(folder, _)| Path::new(folder));
    script.zip(folder).is_some_and(|(script, folder)| !folder.join(script.trim_start_matches('/')).exists())
}

/// Directives that store responses.
const CACHES: &[&str] = &["proxy_cache", "fastcgi_cache", "uwsgi_cache", "scgi_cache"];

/// Whether a path is a folder of the location that has no index.
fn is_folder_without_index(location: &Location<'_>, path: &str) -> bool {
    let Some((root, is_alias)) = location.folder() else { return false };
    let prefix = location.directive().and_then(|directive| directive.texts().last()).filter(|_| is_alias);
    let path = path.strip_prefix(prefix.unwrap_or_default()).unwrap_or(path);
    let folder = Path::new(&rehearsal::with_values(root, location)).join(path.trim_start_matches('/'));
    let mut names: Vec<&str> = location.nearest("index").iter().flat_map(|directive| directive.texts()).collect();
    if names.is_empty() {
        names.push("index.html");
    }
    folder.is_dir() && names.iter().all(|name| !name.contains('$') && !folder.join(name).exists())
}

/// Whether a block, or an `if` in it, responds with a text.
fn returns_text(block: Option<&Directive>) -> bool {
    block.into_iter().flat_map(Directive::children).any(|inner| match inner.name() {
        "return" => inner.word(1).is_some(),
        "if" => returns_text(Some(inner)),
        _ => false,
    })
}
