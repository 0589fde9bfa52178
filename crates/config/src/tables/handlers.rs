//! The handlers of routes, as they are written.

use std::path::PathBuf;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow_document::Problem;

use crate::{
    options::FolderOptions,
    tables::{FromTable, TableReading, applications::AppTable, cgi::CgiTable, php::PhpTable, upstreams::ProxyTable},
    values::{Count, Expandable, RedirectStatus, TextOr, choice},
};

/// The handler of a route.
#[derive(Debug)]
pub enum HandlerTable {
    /// The files of a folder.
    Files(Box<FilesTable>),
    /// An application.
    App(Box<AppTable>),
    /// CGI programs.
    Cgi(Box<CgiTable>),
    /// Other servers.
    Proxy(Box<ProxyTable>),
    /// A folder of PHP scripts.
    Php(Box<PhpTable>),
    /// Another place to go to.
    Redirect(RedirectTable),
    /// A response that is always the same.
    Respond(RespondTable),
    /// A route behind it, which gets the request with another path.
    Rewrite(RewriteSettings),
}

/// A folder whose files are served.
#[derive(Debug)]
pub struct FilesTable {
    /// Its own keys.
    pub settings: FilesSettings,
    /// How the folder is served.
    pub folder: FolderOptions,
}

/// Which folder is served.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FilesSettings {
    /// The folder to serve.
    pub root: PathBuf,

    /// Where requests go for which the folder has no file: not-found is the status 404, next the routes below.
    ///
    /// With next, the folder answers GET and HEAD for its files, their precompressed variants and index files, and shows
    /// no listing; an application below answers the rest.
    #[serde(default)]
    pub missing: MissingChoice,

    /// Whether the path of the route, up to its *, is left out of the path below the folder.
    ///
    /// With path = "/docs/*", /docs/a.html is the file a.html of the folder, and not docs/a.html.
    #[serde(default)]
    pub strip_prefix: bool,
}

/// Where requests go for which a folder has no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MissingChoice {
    /// The status 404, with the page or the fallback that the settings name.
    #[default]
    #[value(help = None)]
    NotFound,
    /// The routes below.
    #[value(help = None)]
    Next,
}

choice!(MissingChoice, "Missing");

/// Another place to go to.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RedirectTable {
    /// Target of the redirect: a path or a URL.
    ///
    /// Each * is replaced by the text that the corresponding * of the route's path matched, {host} by the
    /// host without the port, {path} by the whole path, and ?{query} by the query. Without a ? in the target,
    /// the query is appended; a ? at its end leaves it out. Variables can be a part of it, as in
    /// https://$host$request_uri; $$ is a dollar.
    pub to: String,

    /// Status: 301 and 308 are permanent, and browsers cache them; 302, 303 and 307 are temporary.
    ///
    /// 307 and 308 keep the method; 303 changes it to GET.
    #[serde(default)]
    pub status: RedirectStatus,
}

/// A response that is always the same.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct RespondTable {
    /// The status.
    pub status: Count<200, 599>,

    /// Body [default: none; for an error status, a line such as 404 Not Found]
    ///
    /// It can have variables, whose values are escaped if `type` is HTML, XML, JSON or JavaScript; $$ is a dollar.
    pub body: Option<String>,

    /// The media type of the body.
    #[serde(rename = "type")]
    pub media_type: String,

    /// Whether the connection is closed without a response, as with nginx's `return 444`: over HTTP/2 and 3, the stream is
    /// reset. The access log has the status 444.
    pub close: bool,
}

impl Default for RespondTable {
    fn default() -> Self {
        Self { status: Count::of(200), body: None, media_type: "text/plain; charset=utf-8".to_owned(), close: false }
    }
}

/// Another path.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RewriteSettings {
    /// New path of the request: that of the handler beside it, or, without a handler, of the routes below.
    ///
    /// Beside `app`, `cgi`, `files`, `php` or `proxy`, this handler alone gets the new path, as with nginx's `rewrite … break`;
    /// without one, the request continues with the routes below. $request_uri stays the client's, $uri is the new path. Each * is replaced by the text that the corresponding * of the route's path matched. Variables can be a part of it,
    /// and a query, which replaces that of the request: "/user?id=$id&$args".
    ///
    /// { to = "/index.php?$args", restart = true } tries all routes of the site again from the first, also those with
    /// internal = true, as nginx's `rewrite … last` and `try_files`: at most ten times for a request.
    pub rewrite: TextOr<RewriteTable>,
}

/// Another path, and the routes that get the request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RewriteTable {
    /// New path.
    pub to: String,

    /// Whether all routes of the site are tried again, from the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restart: bool,
}

impl Expandable for RewriteTable {
    const EXPECTED: &'static str =
        r#"a path, as in "/new/*", or a table, as in { to = "/index.php?$args", restart = true }"#;
}

impl RewriteSettings {
    /// The new path.
    pub fn to(&self) -> &str {
        match &self.rewrite {
            TextOr::Text(to) | TextOr::Table(RewriteTable { to, .. }) => to,
        }
    }

    /// Whether all routes of the site are tried again.
    pub fn restarts(&self) -> bool {
        matches!(self.rewrite, TextOr::Table(RewriteTable { restart: true, .. }))
    }
}

impl HandlerTable {
    /// The keys, of which a route has one; `rewrite` may stand beside one that hands requests on.
    pub const KEYS: [&'static str; 8] = ["app", "cgi", "files", "php", "proxy", "redirect", "respond", "rewrite"];

    /// Reads the one that a route has, with the path that it gets in place of the client's.
    pub fn read(route: &mut TableReading<'_, '_>) -> Option<(Self, Option<RewriteSettings>)> {
        let app =
            route.table("app", "application").map(TableReading::read).map(|table| table.map(Box::new).map(Self::App));
        let files =
            route.table("files", "root").map(TableReading::read).map(|table| table.map(Box::new).map(Self::Files));
        let proxy =
            route.table("proxy", "upstream").map(TableReading::read).map(|table| table.map(Box::new).map(Self::Proxy));
        let php = route.table("php", "root").map(TableReading::read).map(|table| table.map(Box::new).map(Self::Php));
        let cgi = route.table("cgi", "root").map(TableReading::read).map(|table| table.map(Box::new).map(Self::Cgi));
        let redirect = route.table("redirect", "to").map(TableReading::read).map(|table| table.map(Self::Redirect));
        let respond = route.table("respond", "status").map(TableReading::read).map(|table| table.map(Self::Respond));
        let rewrite = route.has("rewrite").then(|| route.settings());
        route.know("rewrite");
        let given: Vec<_> = Self::KEYS.into_iter().filter(|key| route.has(key)).collect();
        match given[..] {
            ["rewrite"] => Some((Self::Rewrite(rewrite??), None)),
            [key, "rewrite"] if !matches!(key, "redirect" | "respond") => {
                let (handler, rewrite) = (app.or(cgi).or(files).or(php).or(proxy).flatten()?, rewrite??);
                handler.beside_rewrite(&rewrite, route).map(|handler| (handler, Some(rewrite)))
            }
            [key @ ("redirect" | "respond"), "rewrite"] => {
                let text = format!(
                    "`rewrite` has no effect beside `{key}`, which has no handler to get the path: leave it out"
                );
                route.problem(Problem::of_key(route.place().key("rewrite"), text));
                None
            }
            [_] => {
                let handler = app.or(cgi).or(files).or(php).or(proxy).or(redirect).or(respond).flatten();
                handler.map(|handler| (handler, None))
            }
            [] => {
                let text =
                    "the route has no handler: write one of app, cgi, files, php, proxy, redirect, respond, rewrite";
                route.problem(Problem::of_key(route.place().clone(), text));
                None
            }
            [first, ref others @ ..] => {
                for other in others.iter().filter(|other| **other != "rewrite") {
                    let text = format!("a route has either `{first}` or `{other}`: make a second route for the other");
                    route.problem(Problem::of_key(route.place().key(*other), text));
                }
                None
            }
        }
    }
}

impl HandlerTable {
    /// The same, unless it cannot have another path than its route.
    fn beside_rewrite(self, rewrite: &RewriteSettings, route: &TableReading<'_, '_>) -> Option<Self> {
        let text = match &self {
            Self::Files(files) if files.settings.strip_prefix => {
                "`strip-prefix` leaves out the path of the route, which `rewrite` has replaced: leave it out, and write the path \
                 below the folder in `rewrite`, as in rewrite = \"/$1\""
            }
            Self::Files(files) if files.is_written() => {
                "clients that change a folder name its paths themselves, also in fields: `rewrite` cannot stand beside `write`; \
                 write strip-prefix = true, or leave it out"
            }
            _ if rewrite.restarts() => {
                "`restart` leads to all routes, and not to the handler beside it: leave out `restart`, or the handler"
            }
            _ => return Some(self),
        };
        route.problem(Problem::of_key(route.place().key("rewrite"), text));
        None
    }
}

impl FilesTable {
    /// Whether clients may change the folder.
    pub fn is_written(&self) -> bool {
        self.folder.content.write.is_on()
    }
}

impl FromTable for FilesTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        let settings = table.settings();
        let (content, caching) = (table.settings(), table.settings());
        Some(Self { settings: settings?, folder: FolderOptions { content: content?, caching: caching? } })
    }
}

impl FromTable for RedirectTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        table.settings()
    }
}

impl FromTable for RespondTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        table.settings()
    }
}
