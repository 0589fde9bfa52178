//! Sites and their routes, as they are written.

use std::{collections::BTreeMap, path::PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow_document::{Place, Problem};

use crate::{
    tables::{
        FromTable, TableReading,
        access::AccessSettings,
        applications::AppTable,
        cgi::CgiTable,
        handlers::{FilesTable, HandlerTable, RewriteSettings},
        header_rules::HeaderRuleSettings,
        logs::LogSettings,
        matching::WhenTable,
        mounting,
        php::PhpTable,
        policies::PolicySettings,
        upstreams::ProxyTable,
    },
    values::{ListenRule, Texts, choice},
};

/// A site.
#[derive(Debug)]
pub struct SiteTable {
    /// Its own keys.
    pub settings: SiteSettings,
    /// Rules that change header fields.
    pub header_rules: HeaderRuleSettings,
    /// Its access logs.
    pub log: LogSettings,
    /// Compression, error pages, redirects and the like.
    pub policy: PolicySettings,
    /// Access control.
    pub access: AccessSettings,
    /// Its handler, or its routes.
    pub content: SiteContent,
    /// Where it is in the file.
    pub place: Place,
}

/// The content of a site.
#[derive(Debug)]
pub enum SiteContent {
    /// One folder.
    Files(Box<FilesTable>),
    /// An application.
    App(Box<AppTable>),
    /// Other servers.
    Proxy(Box<ProxyTable>),
    /// A folder of PHP scripts.
    Php(Box<PhpTable>),
    /// CGI programs.
    Cgi(Box<CgiTable>),
    /// Routes, each with a handler of its own.
    Routes(Vec<RouteTable>),
}

impl SiteContent {
    /// Whether clients upload files to it.
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Files(files) if files.is_written())
    }
}

/// For whom a site is.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct SiteSettings {
    /// Hosts of the site: example.com, *.example.com for all its subdomains, or * for all that no other site has [default: all hosts of no other site]
    ///
    /// An exact name takes precedence over a pattern, and a longer pattern over a shorter one. A request for a host
    /// that no site has receives 421.
    pub hosts: Option<Vec<String>>,

    /// Addresses that the site is reached at, as at the root: [":443", "127.0.0.1:8080"] [default: those of the root]
    ///
    /// Each needs a port. It may be one of the root's or of another site; hosts select among the sites of an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<Vec<ListenRule>>,

    /// Certificates of the hosts: acme obtains and renews one for each, with the settings of `[acme]` [default: those
    /// of `tls`]
    pub tls: Option<SiteTlsChoice>,

    /// Script in Lua that gets the requests of the site before a route is selected, and their responses.
    ///
    /// The path is relative to the folder of the settings file. docs/scripts.md says what scripts can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<PathBuf>,

    /// Header fields to set in all responses of the site: { X-Frame-Options = "DENY" }. An empty value
    /// removes the field. Values can have variables, as in "$host".
    pub headers: BTreeMap<String, String>,
}

/// Where the certificates of a site's hosts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SiteTlsChoice {
    /// An authority, by ACME.
    #[value(help = None)]
    Acme,
}

choice!(SiteTlsChoice, "SiteTls");

/// A route.
#[derive(Debug)]
pub struct RouteTable {
    /// Its own keys.
    pub settings: RouteSettings,
    /// Rules that change header fields.
    pub header_rules: HeaderRuleSettings,
    /// Its access logs.
    pub log: LogSettings,
    /// Compression, error pages, redirects and the like.
    pub policy: PolicySettings,
    /// Access control.
    pub access: AccessSettings,
    /// Conditions beyond the path.
    pub when: Option<WhenTable>,
    /// Its handler.
    pub handler: HandlerTable,
    /// The path that the handler gets.
    pub rewrite: Option<RewriteSettings>,
    /// Where it is in the file.
    pub place: Place,
}

/// Which requests a route is for.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RouteSettings {
    /// Paths that the route matches: /assets/* matches the whole path, *.css the file name.
    ///
    /// Each * matches any text, including slashes; without one, only that very path matches. Several paths share a
    /// route: ["/grafana", "/grafana/*"]. The first matching route handles the request. Texts of the route can name what
    /// the stars match: $1, $2.
    #[serde(default)]
    pub path: Option<Texts>,

    /// Regular expression that the path matches, in place of `path`: "^/users/([0-9]+)$".
    ///
    /// Texts of the route can name what its groups match: $1, or $ and the name of a group. The syntax is that of Rust's
    /// crate regex, without look-around and backreferences; (?i) at the start ignores case.
    #[serde(default)]
    pub path_regex: Option<String>,

    /// Methods that the route matches [default: all]
    ///
    /// GET includes HEAD. Requests with other methods continue with the next routes.
    #[serde(default)]
    pub methods: Option<Vec<String>>,

    /// Whether only responses of applications and upstream servers lead to the route, and rewrites with `restart = true`,
    /// but no requests of clients.
    ///
    /// A response with X-Accel-Redirect: /protected/a.pdf is replaced by what the first matching internal route of the site
    /// responds to this path; X-Sendfile names a file in the folder of an internal route instead. See `accel-redirect`
    /// in `app` and `proxy`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub internal: bool,

    /// Name by which a script of the site, or of the root, can choose the route: request.route = "NAME". [default: none]
    ///
    /// Of the routes of the site, only those with this name are looked at then; paths, methods and conditions have to
    /// match as always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,

    /// Script in Lua that gets the requests of the route and their responses, after those of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<PathBuf>,

    /// Header fields to set in the responses of the route; they override those of the site. An empty value
    /// removes the field. Values can have variables, as in "$host".
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

impl RouteSettings {
    /// Its path, if there is only one.
    pub fn only_path(&self) -> Option<&str> {
        match &self.path.as_ref()?.0[..] {
            [path] => Some(path),
            _ => None,
        }
    }

    /// Its paths or its expression, as logs and metrics name the route.
    pub fn paths(&self) -> String {
        let paths = self.path.as_ref().map(|paths| paths.0.join(", "));
        paths.or_else(|| self.path_regex.clone()).unwrap_or_default()
    }
}

impl FromTable for SiteTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        let (settings, header_rules, access) = (table.settings(), table.settings(), table.settings());
        let (log, policy) = (table.settings(), table.settings());
        let app = table.table("app", "application").map(TableReading::read);
        let files = table.table("files", "root").map(TableReading::read);
        let proxy = table.table("proxy", "upstream").map(TableReading::read);
        let php = table.table("php", "root").map(TableReading::read);
        let cgi = table.table("cgi", "root").map(TableReading::read);
        let routes: Vec<_> = table.tables("route").into_iter().map(TableReading::read).collect();
        let given: Vec<_> = ["app", "cgi", "files", "php", "proxy"].into_iter().filter(|key| table.has(key)).collect();
        let content = match (&given[..], table.has_something("route")) {
            (["app"], false) => SiteContent::App(Box::new(app??)),
            (["cgi"], false) => SiteContent::Cgi(Box::new(cgi??)),
            (["files"], false) => SiteContent::Files(Box::new(files??)),
            (["php"], false) => SiteContent::Php(Box::new(php??)),
            (["proxy"], false) => SiteContent::Proxy(Box::new(proxy??)),
            ([], true) => SiteContent::Routes(routes.into_iter().collect::<Option<_>>()?),
            // These are told as unknown keys, with the place where they belong.
            ([], false) if HandlerTable::KEYS.into_iter().any(|key| table.has(key)) => return None,
            ([], false) => {
                let text = "the site has no handler: write `files` with the folder's `root`, `app`, `cgi`, `php`, `proxy`, or \
                            [[site.route]]";
                table.problem(Problem::of_key(table.place().clone(), text));
                return None;
            }
            ([first, others @ ..], _) => {
                let (key, other) = match others {
                    [] => (*first, format!("`{first}` or routes")),
                    [.., last] => (*last, format!("`{first}` or `{last}`")),
                };
                let text = format!("a site has either {other}; write it as a route: path = \"/*\" and `{key}`");
                table.problem(Problem::of_key(table.place().key(key), text));
                return None;
            }
        };
        let (settings, header_rules, log, policy, access) = (settings?, header_rules?, log?, policy?, access?);
        Some(Self { settings, header_rules, log, policy, access, content, place: table.place().clone() })
    }
}

impl FromTable for RouteTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        let (settings, header_rules, access) = (table.settings(), table.settings(), table.settings());
        let (log, policy) = (table.settings(), table.settings());
        let when = table.table("when", "header").map(TableReading::read);
        let handler = HandlerTable::read(table);
        mounting::of_route(table);
        match (table.has("path"), table.has("path-regex")) {
            (false, false) => {
                table.misses("path", "`path` is missing: write one, as in path = \"/*\", or `path-regex`")
            }
            (true, true) => {
                let text = "a route has either `path` or `path-regex`: leave one out";
                table.problem(Problem::of_key(table.place().key("path-regex"), text));
                return None;
            }
            _ => {}
        }
        let when = match when {
            None => None,
            Some(read) => Some(read?),
        };
        let place = table.place().clone();
        let (settings, header_rules, log, policy, access) = (settings?, header_rules?, log?, policy?, access?);
        let (handler, rewrite) = handler?;
        Some(Self { settings, header_rules, log, policy, access, when, handler, rewrite, place })
    }
}
