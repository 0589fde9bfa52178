//! The settings of a file in other words: all that differ from the defaults, each value in its shortest form. The text
//! can be read again as a settings file and means the same.

use std::path::PathBuf;

use serow_document::WrittenKeys as Keys;

use crate::{
    options::{FolderOptions, GeneralOptions, UpstreamOptions, without_options},
    tables::{
        access::LimitTable,
        applications::AppTable,
        cgi::CgiTable,
        docker::{DockerSettings, DockerTable},
        handlers::{FilesSettings, FilesTable, HandlerTable, MissingChoice, RedirectTable, RespondTable},
        maps::MapTable,
        php::{PhpProcessSettings, PhpSettings, PhpTable},
        redis::RedisTable,
        root::{AccountTable, MetricsTable, ReloadTable, RootTable, SandboxTable, ScriptsTable},
        sites::{RouteTable, SiteContent, SiteTable},
        upstreams::{ProxyTable, UpstreamTable},
    },
    values::RedirectStatus,
};

/// Writes the settings of a file as the text of another one.
pub fn of(table: &RootTable) -> String {
    let GeneralOptions { listening, tls, acme, http, logging, admin, limits, timeouts } = &table.general;
    let mut keys = Keys::default();
    keys.add(&table.account, &AccountTable::default());
    keys.add(&table.sandbox, &SandboxTable::default());
    keys.add(&table.reload, &ReloadTable::default());
    keys.add(listening, &without_options());
    keys.add(tls, &without_options());
    keys.add(http, &without_options());
    keys.add(logging, &without_options());
    keys.add(admin, &without_options());
    keys.add(&table.metrics, &MetricsTable::default());
    keys.add(limits, &without_options());
    keys.add(timeouts, &without_options());
    keys.add(&table.scripts, &ScriptsTable::default());
    let mut of_acme = Keys::default();
    of_acme.add(acme, &without_options());
    let of_acme = if of_acme.is_empty() { String::new() } else { format!("\n[acme]\n{}", of_acme.lines()) };
    let of_cache = table.cache.as_ref().map_or_else(String::new, |cache| {
        let mut keys = Keys::default();
        keys.add_all(cache);
        format!("\n[cache]\n{}", keys.lines())
    });
    let maps: String = table.maps.iter().map(of_map).collect();
    let redis: String = table.redis.iter().map(of_redis).collect();
    let docker: String = table.docker.iter().map(of_docker).collect();
    let rate_limits: String = table.limits.iter().map(of_limit).collect();
    let upstreams: String = table.upstreams.iter().map(of_upstream).collect();
    let sites: String = table.sites.iter().map(of_site).collect();
    format!("{}{of_acme}{of_cache}{maps}{redis}{docker}{rate_limits}{upstreams}{sites}", keys.lines())
}

fn of_map(map: &MapTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&map.settings);
    format!("\n[[map]]\n{}", keys.lines())
}

fn of_redis(redis: &RedisTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&redis.settings);
    format!("\n[redis]\n{}", keys.lines())
}

fn of_docker(docker: &DockerTable) -> String {
    let mut keys = Keys::default();
    keys.add(&docker.settings, &DockerSettings::default());
    format!("\n[docker]\n{}", keys.lines())
}

fn of_limit(limit: &LimitTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&limit.settings);
    format!("\n[[limit]]\n{}", keys.lines())
}

fn of_upstream(upstream: &UpstreamTable) -> String {
    let UpstreamOptions { balancing, sticky, timeouts, connections, tls, retries, health } = &upstream.arguments;
    let mut keys = Keys::default();
    keys.add_all(&upstream.settings);
    keys.add(balancing, &without_options());
    keys.add(sticky, &without_options());
    keys.add(timeouts, &without_options());
    keys.add(connections, &without_options());
    keys.add(tls, &without_options());
    keys.add(retries, &without_options());
    keys.add(health, &without_options());
    format!("\n[[upstream]]\n{}", keys.lines())
}

fn of_site(site: &SiteTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&site.settings);
    keys.add_all(&site.header_rules);
    keys.add_all(&site.log);
    keys.add_all(&site.policy);
    keys.add_all_and(&site.access, MEANT_IF_EMPTY);
    let routes = match &site.content {
        SiteContent::Files(files) => {
            keys.add_table("files", of_files(files));
            String::new()
        }
        SiteContent::App(app) => {
            keys.add_table("app", of_app(app));
            String::new()
        }
        SiteContent::Proxy(proxy) => {
            keys.add_table("proxy", of_proxy(proxy));
            String::new()
        }
        SiteContent::Cgi(cgi) => {
            keys.add_table("cgi", of_cgi(cgi));
            String::new()
        }
        SiteContent::Php(php) => {
            keys.add_table("php", of_php(php));
            String::new()
        }
        SiteContent::Routes(routes) => routes.iter().map(of_route).collect(),
    };
    format!("\n[[site]]\n{}{routes}", keys.lines())
}

fn of_route(route: &RouteTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&route.settings);
    keys.add_all(&route.header_rules);
    keys.add_all(&route.log);
    keys.add_all(&route.policy);
    keys.add_all_and(&route.access, MEANT_IF_EMPTY);
    if let Some(when) = &route.when {
        let mut table = Keys::default();
        table.add_all(when);
        keys.add_table("when", table);
    }
    route.rewrite.iter().for_each(|rewrite| keys.add_all(rewrite));
    match &route.handler {
        HandlerTable::Files(files) => keys.add_table("files", of_files(files)),
        HandlerTable::App(app) => keys.add_table("app", of_app(app)),
        HandlerTable::Proxy(proxy) => keys.add_table("proxy", of_proxy(proxy)),
        HandlerTable::Cgi(cgi) => keys.add_table("cgi", of_cgi(cgi)),
        HandlerTable::Php(php) => keys.add_table("php", of_php(php)),
        HandlerTable::Redirect(redirect) => {
            let mut table = Keys::default();
            table.add(redirect, &RedirectTable { to: String::new(), status: RedirectStatus::default() });
            keys.add_table("redirect", table);
        }
        HandlerTable::Respond(response) => {
            let mut table = Keys::default();
            table.add(response, &RespondTable::default());
            keys.add_table("respond", table);
        }
        HandlerTable::Rewrite(rewrite) => keys.add_all(rewrite),
    }
    format!("\n[[site.route]]\n{}", keys.lines())
}

fn of_files(files: &FilesTable) -> Keys {
    let FolderOptions { content, caching } = &files.folder;
    let mut keys = Keys::default();
    let default = FilesSettings { root: PathBuf::new(), missing: MissingChoice::default(), strip_prefix: false };
    keys.add(&files.settings, &default);
    keys.add(content, &without_options());
    keys.add(caching, &without_options());
    keys
}

fn of_app(app: &AppTable) -> Keys {
    let mut keys = Keys::default();
    keys.add_all(&app.settings);
    keys.add(&app.arguments, &without_options());
    keys
}

fn of_proxy(proxy: &ProxyTable) -> Keys {
    let mut keys = Keys::default();
    keys.add_all(&proxy.settings);
    keys.add(&proxy.forwarding, &without_options());
    keys
}

fn of_cgi(cgi: &CgiTable) -> Keys {
    let mut keys = Keys::default();
    keys.add(cgi, &CgiTable::default());
    keys
}

fn of_php(php: &PhpTable) -> Keys {
    let mut keys = Keys::default();
    keys.add(&php.settings, &PhpSettings::default());
    keys.add_all(&php.requests);
    keys.add(&php.processes, &PhpProcessSettings::default());
    keys.add(&php.caching, &without_options());
    keys
}

/// A table without conditions: any certificate is enough.
const MEANT_IF_EMPTY: &str = "client-certificate";
