//! The settings file as a JSON schema, for editors; and for the reference, which is made of it.

pub(crate) mod reference;

use std::{collections::BTreeSet, sync::LazyLock};

use serde_json::{Value, json};
use serow_document::{
    description,
    shape::{list_of, not_both, one_of},
};

use crate::{
    Shape,
    options::{
        AcmeOptions, AdminOptions, ApplicationOptions, BalancingOptions, CachingOptions, ContentOptions,
        ForwardingOptions, HealthOptions, HttpOptions, LimitOptions, ListeningOptions, LoggingOptions, RetryOptions,
        StickyOptions, TimeoutOptions, TlsOptions, UpstreamConnectionOptions, UpstreamTimeoutOptions,
        UpstreamTlsOptions,
    },
    tables::{
        access::{AccessSettings, LimitSettings},
        applications::AppSettings,
        cache::CacheTable,
        cgi::CgiTable,
        docker::DockerSettings,
        handlers::{FilesSettings, HandlerTable, RedirectTable, RespondTable, RewriteSettings},
        header_rules::HeaderRuleSettings,
        kinds,
        logs::LogSettings,
        maps::MapSettings,
        matching::WhenTable,
        php::{PhpProcessSettings, PhpRequestSettings, PhpSettings},
        policies::PolicySettings,
        redis::RedisSettings,
        root::{AccountTable, IncludeTable, MetricsTable, ReloadTable, SandboxTable, ScriptsTable},
        sites::{RouteSettings, SiteSettings},
        upstreams::{ProxySettings, UpstreamSettings},
    },
};

/// The schema of a settings file (JSON Schema, draft 2020-12).
pub fn schema() -> Value {
    let site = Shape::of::<SiteSettings>()
        .and(Shape::of::<HeaderRuleSettings>())
        .and(Shape::of::<LogSettings>())
        .and(Shape::of::<PolicySettings>())
        .and(Shape::of::<AccessSettings>())
        .with("files", "The folder that the site serves: short for one route with the path /*.", files())
        .with("app", "The application that answers for the site: short for one route with the path /*.", app())
        .with("proxy", "The handler of the site: short for one route with the path /*.", proxy())
        .with("php", "The folder of PHP scripts of the site: short for one route with the path /*.", php())
        .with("cgi", "The CGI programs of the site: short for one route with the path /*.", cgi())
        .with(
            "route",
            "Routes: which handler answers under which path. The first one that fits counts.",
            list_of(route()),
        );
    let site = one_of(site.schema(), &["app", "cgi", "files", "php", "proxy", "route"]);
    let mut root = Shape::together(of_root());
    let upstream = Shape::together(of_upstream()).schema();
    let map = one_of(Shape::of::<MapSettings>().schema(), &["values", "shares", "networks"]);
    root = root.with("acme", "Automatic certificates (ACME).", Shape::of::<AcmeOptions>().schema());
    root = root.with("cache", "Where responses are cached.", Shape::of::<CacheTable>().schema());
    root = root.with("map", "Variables that depend on the value of another text, as nginx's maps.", list_of(map));
    let redis = Shape::of::<RedisSettings>().schema();
    root = root.with("redis", "Redis, through which several servers share limits.", redis);
    let docker = Shape::of::<DockerSettings>().schema();
    root = root.with("docker", "Containers of Docker and Podman that become routes, by their labels.", docker);
    let limit = Shape::of::<LimitSettings>().schema();
    root = root.with("limit", "How often requests with the same key are served.", list_of(limit));
    root = root.with("upstream", "Groups of servers that answer for this one, for `proxy`.", list_of(upstream));
    root = root.with("site", "The sites: what is answered under which hosts.", list_of(site));
    let mut schema = root.schema();
    description::explain(&mut schema, kinds::is_key);
    if let Value::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        // Containers are sites as well.
        schema.insert("anyOf".to_owned(), json!([{ "required": ["site"] }, { "required": ["docker"] }]));
        schema.insert("title".to_owned(), json!("The settings file of Serow"));
        schema.sort_keys();
    }
    schema
}

/// The keys of routes and of upstreams that labels of containers may be allowed to set: all but those by which a route is found
/// and handled.
pub fn label_keys() -> &'static LabelKeys {
    static KEYS: LazyLock<LabelKeys> = LazyLock::new(LabelKeys::of_schema);
    &KEYS
}

impl LabelKeys {
    fn of_schema() -> Self {
        let keys = |schema: Value| match schema.get("properties") {
            Some(Value::Object(properties)) => properties.keys().cloned().collect::<BTreeSet<_>>(),
            _ => BTreeSet::new(),
        };
        let mut route = keys(route());
        let own = ["path", "path-regex", "internal", "name", "script", "when"];
        route.retain(|key| !HandlerTable::KEYS.iter().chain(&own).any(|other| other == key));
        let mut upstream = keys(Shape::together(of_upstream()).schema());
        upstream.retain(|key| !["name", "servers"].contains(&key.as_str()));
        Self { route, upstream }
    }
}

/// Keys that labels may be allowed to set, see [`label_keys`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelKeys {
    /// Those of routes.
    pub route: BTreeSet<String>,
    /// Those of upstreams.
    pub upstream: BTreeSet<String>,
}

/// The keys at the root, beside the sites, under headings.
pub(crate) fn of_root() -> Vec<(String, Shape)> {
    vec![
        ("Files".to_owned(), Shape::of::<IncludeTable>()),
        ("User".to_owned(), Shape::of::<AccountTable>()),
        ("Sandbox".to_owned(), Shape::of::<SandboxTable>()),
        ("Reloading".to_owned(), Shape::of::<ReloadTable>()),
        Shape::of_options::<ListeningOptions>(),
        Shape::of_options::<TlsOptions>(),
        Shape::of_options::<HttpOptions>(),
        Shape::of_options::<LoggingOptions>(),
        administration(),
        Shape::of_options::<LimitOptions>(),
        Shape::of_options::<TimeoutOptions>(),
        ("Scripts".to_owned(), Shape::of::<ScriptsTable>()),
    ]
}

/// The admin endpoint, and what it has to tell.
fn administration() -> (String, Shape) {
    let (heading, shape) = Shape::of_options::<AdminOptions>();
    (heading, shape.and(Shape::of::<MetricsTable>()))
}

/// The keys of an `[[upstream]]`, under headings.
pub(crate) fn of_upstream() -> Vec<(String, Shape)> {
    vec![
        ("Servers".to_owned(), Shape::of::<UpstreamSettings>()),
        Shape::of_options::<BalancingOptions>(),
        Shape::of_options::<StickyOptions>(),
        Shape::of_options::<UpstreamTimeoutOptions>(),
        Shape::of_options::<UpstreamConnectionOptions>(),
        Shape::of_options::<UpstreamTlsOptions>(),
        Shape::of_options::<RetryOptions>(),
        Shape::of_options::<HealthOptions>(),
    ]
}

/// The keys of a table `proxy`, under headings.
pub(crate) fn of_proxy() -> Vec<(String, Shape)> {
    vec![("Servers".to_owned(), Shape::of::<ProxySettings>()), Shape::of_options::<ForwardingOptions>()]
}

/// The keys of a table `app`, under headings.
pub(crate) fn of_app() -> Vec<(String, Shape)> {
    vec![
        ("Application".to_owned(), Shape::of::<AppSettings>()),
        ("Workers".to_owned(), Shape::of_options::<ApplicationOptions>().1),
    ]
}

/// The keys of a table `php`, under headings.
pub(crate) fn of_php() -> Vec<(String, Shape)> {
    vec![
        ("Scripts".to_owned(), Shape::of::<PhpSettings>()),
        ("Requests".to_owned(), Shape::of::<PhpRequestSettings>()),
        ("php-fpm of Serow".to_owned(), Shape::of::<PhpProcessSettings>()),
        Shape::of_options::<CachingOptions>(),
    ]
}

/// The keys of a table `files`, under headings.
pub(crate) fn of_files() -> Vec<(String, Shape)> {
    vec![
        ("Folder".to_owned(), Shape::of::<FilesSettings>()),
        Shape::of_options::<ContentOptions>(),
        Shape::of_options::<CachingOptions>(),
    ]
}

fn files() -> Value {
    Shape::together(of_files()).schema()
}

fn proxy() -> Value {
    one_of(Shape::together(of_proxy()).schema(), &["upstream", "servers"])
}

fn php() -> Value {
    not_both(Shape::together(of_php()).schema(), &["upstream", "servers"])
}

fn cgi() -> Value {
    one_of(Shape::of::<CgiTable>().schema(), &["root", "program"])
}

fn app() -> Value {
    Shape::together(of_app()).schema()
}

fn route() -> Value {
    let route = Shape::of::<RouteSettings>()
        .and(Shape::of::<HeaderRuleSettings>())
        .and(Shape::of::<LogSettings>())
        .and(Shape::of::<PolicySettings>())
        .and(Shape::of::<AccessSettings>())
        .with("when", "Conditions of a request besides its path and method.", Shape::of::<WhenTable>().schema())
        .with("files", "Answers with the files of a folder.", files())
        .with("app", "Answers with the responses of an application.", app())
        .with("proxy", "Answers with the responses of other servers.", proxy())
        .with("php", "Answers with a folder of PHP scripts.", php())
        .with("cgi", "Answers with CGI programs.", cgi())
        .with("redirect", "Sends the client elsewhere.", Shape::of::<RedirectTable>().schema())
        .with("respond", "Answers always the same.", Shape::of::<RespondTable>().schema())
        .and(Shape::of::<RewriteSettings>().optional());
    let paths = one_of(json!({}), &["path", "path-regex"]);
    let mut route = route.schema();
    if let Value::Object(route) = &mut route {
        route.insert("oneOf".to_owned(), handler_choices());
        route.insert("allOf".to_owned(), json!([paths]));
    }
    route
}

/// The handlers of a route: exactly one, beside which `rewrite` may stand if it hands requests on.
fn handler_choices() -> Value {
    let required = |key: &str| json!({ "required": [key] });
    let choice = |key: &&str| match *key {
        "redirect" | "respond" => json!({ "required": [key], "not": required("rewrite") }),
        "rewrite" => {
            let others: Vec<_> =
                HandlerTable::KEYS.iter().filter(|other| *other != key).map(|key| required(key)).collect();
            json!({ "required": [key], "not": { "anyOf": others } })
        }
        key => required(key),
    };
    HandlerTable::KEYS.iter().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use serow_document::{Document, Sources, Table, Value as TomlValue};
    use toml::de::DeValue;

    use super::*;
    use crate::{
        explanation, root_table,
        tables::{
            FromTable,
            access::LimitTable,
            applications::AppTable,
            docker::DockerTable,
            handlers::FilesTable,
            maps::MapTable,
            php::PhpTable,
            redis::RedisTable,
            root::RootTable,
            sites::{RouteTable, SiteTable},
            upstreams::{ProxyTable, UpstreamTable},
        },
    };

    fn list<'t>(table: &'t Table<'t>, key: &str) -> Vec<&'t Table<'t>> {
        let values = table.get(key).and_then(|value| value.get_ref().as_array());
        values.into_iter().flat_map(|values| values.iter()).filter_map(|value| value.get_ref().as_table()).collect()
    }

    fn below<'t>(table: &'t Table<'t>, key: &str) -> Option<&'t Table<'t>> {
        table.get(key)?.get_ref().as_table()
    }

    fn json(value: &TomlValue<'_>) -> Value {
        match value.get_ref() {
            DeValue::String(text) => json!(text),
            DeValue::Integer(number) => json!(number.as_str().parse::<i64>().ok()),
            DeValue::Boolean(value) => json!(value),
            DeValue::Array(values) => values.iter().map(json).collect(),
            other => panic!("no default is like this: {other:?}"),
        }
    }

    const SITE: &str = "/properties/site/items/properties";
    const ROUTE: &str = "/properties/site/items/properties/route/items/properties";

    fn properties(pointer: &str) -> Map<String, Value> {
        match schema().pointer(pointer) {
            Some(Value::Object(properties)) => properties.clone(),
            other => panic!("{pointer}: {other:?}"),
        }
    }

    /// The keys of a kind of table: as the schema has them, and as the reader does.
    fn kinds() -> Vec<(String, Vec<&'static str>)> {
        vec![
            ("/properties".to_owned(), RootTable::keys()),
            ("/properties/acme/properties".to_owned(), AcmeOptions::keys()),
            ("/properties/map/items/properties".to_owned(), MapTable::keys()),
            ("/properties/redis/properties".to_owned(), RedisTable::keys()),
            ("/properties/docker/properties".to_owned(), DockerTable::keys()),
            ("/properties/limit/items/properties".to_owned(), LimitTable::keys()),
            ("/properties/upstream/items/properties".to_owned(), UpstreamTable::keys()),
            (SITE.to_owned(), SiteTable::keys()),
            (format!("{SITE}/app/properties"), AppTable::keys()),
            (format!("{SITE}/cgi/properties"), CgiTable::keys()),
            (format!("{SITE}/files/properties"), FilesTable::keys()),
            (format!("{SITE}/php/properties"), PhpTable::keys()),
            (format!("{SITE}/proxy/properties"), ProxyTable::keys()),
            (ROUTE.to_owned(), RouteTable::keys()),
            (format!("{ROUTE}/when/properties"), WhenTable::keys()),
            (format!("{ROUTE}/app/properties"), AppTable::keys()),
            (format!("{ROUTE}/cgi/properties"), CgiTable::keys()),
            (format!("{ROUTE}/files/properties"), FilesTable::keys()),
            (format!("{ROUTE}/php/properties"), PhpTable::keys()),
            (format!("{ROUTE}/proxy/properties"), ProxyTable::keys()),
            (format!("{ROUTE}/redirect/properties"), RedirectTable::keys()),
            (format!("{ROUTE}/respond/properties"), RespondTable::keys()),
        ]
    }

    #[test]
    fn schema_and_reader_know_the_same_keys() {
        for (pointer, keys) in kinds() {
            let properties = properties(&pointer);
            let in_schema: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            assert_eq!(in_schema, keys.into_iter().collect(), "{pointer}");
        }
    }

    #[test]
    fn every_key_is_explained() {
        for (pointer, _) in kinds() {
            for (key, schema) in properties(&pointer) {
                let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
                assert!(description.ends_with('.'), "{pointer} {key}: {description:?}");
            }
        }
    }

    #[test]
    fn the_defaults_of_the_schema_change_nothing() {
        let written_out = |pointer: &str, separator: &str| {
            let defaults = properties(pointer).into_iter().filter_map(|(key, mut schema)| {
                let default = schema.get_mut("default")?.take();
                Some(format!("{key} = {default}"))
            });
            defaults.collect::<Vec<_>>().join(separator)
        };
        let files = format!("{SITE}/files/properties");
        let text = format!(
            "{}\n[[site]]\nfiles = {{ root = \".\", {} }}\n",
            written_out("/properties", "\n"),
            written_out(&files, ", ")
        );
        assert!(text.matches(" = ").count() > 25, "{text}");
        let explanation = root_table(&Sources::of("", text.clone())).map(|table| explanation::of(&table));
        assert_eq!(explanation.as_deref(), Ok("\n[[site]]\nfiles = { root = \".\" }\n"), "{text}");
    }

    #[test]
    fn the_complete_example_has_every_key_and_its_default() {
        let text = include_str!("../examples/complete.toml");
        let document = Document::parse(text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let sites = list(document.root(), "site");
        let routes: Vec<_> = sites.iter().flat_map(|site| list(site, "route")).collect();
        let of_routes = |key| routes.iter().filter_map(|route| below(route, key)).collect::<Vec<_>>();
        let (files, redirects, responses) = (of_routes("files"), of_routes("redirect"), of_routes("respond"));
        let of_sites = |key| sites.iter().filter_map(|site| below(site, key)).collect::<Vec<_>>();
        let proxies = [of_sites("proxy"), of_routes("proxy")].concat();
        let php = [of_sites("php"), of_routes("php")].concat();
        let cgi = [of_sites("cgi"), of_routes("cgi")].concat();
        let applications = [of_sites("app"), of_routes("app")].concat();
        let (root, upstreams) = (vec![document.root()], list(document.root(), "upstream"));
        let (maps, limits) = (list(document.root(), "map"), list(document.root(), "limit"));
        let conditions = of_routes("when");
        let acme = below(document.root(), "acme").into_iter().collect();
        let below_site = [applications.clone(), cgi.clone(), files.clone(), php.clone(), proxies.clone()];
        let below_route = [applications, cgi, files, php, proxies, redirects, responses];
        let redis = below(document.root(), "redis").into_iter().collect();
        let docker = below(document.root(), "docker").into_iter().collect();
        let tables = [root, acme, maps, redis, docker, limits, upstreams, sites]
            .into_iter()
            .chain(below_site)
            .chain([routes, conditions])
            .chain(below_route);
        for ((pointer, keys), tables) in kinds().into_iter().zip(tables) {
            let known: BTreeSet<_> = tables.iter().flat_map(|table| table.keys()).map(|key| &**key.get_ref()).collect();
            assert_eq!(known, keys.into_iter().collect(), "{pointer}");
            for (key, schema) in properties(&pointer) {
                let Some(default) = schema.get("default") else { continue };
                let values: Vec<_> = tables.iter().filter_map(|table| table.get(key.as_str())).map(json).collect();
                let is_default = |value: &Value| value == default || json!([value]) == *default;
                assert!(values.iter().any(is_default), "{key} is {values:?} in place of {default}");
            }
        }
    }
}
