//! The reference of settings files for people: docs/settings.md, generated from the schema.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    Shape,
    markdown::escaped,
    options::{AcmeOptions, LogTable},
    schema::{self, description},
    tables::{
        access::{AccessSettings, BasicTable, LimitSettings},
        cache::{CacheTable, RouteCacheTable},
        cgi::CgiTable,
        client_certificate::ClientCertificateTable,
        client_limits::BanTable,
        compression::CompressionTable,
        forward_auth::ForwardAuthTable,
        handlers::{RedirectTable, RespondTable, RewriteSettings},
        header_rules::{HeaderRuleSettings, HeaderRuleTable},
        jwt::JwtTable,
        login::LoginTable,
        logs::LogSettings,
        maps::MapSettings,
        matching::WhenTable,
        policies::{CorsTable, PolicySettings},
        redis::RedisSettings,
        sites::{RouteSettings, SiteSettings},
    },
};

/// The whole text.
pub fn text() -> String {
    let mut text = INTRODUCTION.replace("{SMALL}", SMALL.trim()).replace("{SITES}", SITES.trim());
    text.push_str("\n## Root\n\n");
    for (heading, shape) in schema::of_root() {
        push(&mut text, &format!("### {heading}"), &shape);
    }
    text.push_str("## `[acme]`\n\nAutomatic certificates; [the guide](certificates.md) explains them.\n\n");
    push(&mut text, "### Certificates", &Shape::of::<AcmeOptions>());
    text.push_str("## `[cache]`\n\nResponses of applications and other servers are cached where `cache` is set; [the guide](cache.md) explains it.\n\n");
    push(&mut text, "### Store", &Shape::of::<CacheTable>());
    text.push_str(
        "## `[[map]]`\n\nA variable that depends on the value of another text: see [matching](matching.md#maps).\n\n",
    );
    push(&mut text, "### Map", &Shape::of::<MapSettings>());
    text.push_str(
        "## `[redis]`\n\nRedis, through which several servers share limits: see [access](access.md#limits-that-several-servers-share).\n\n",
    );
    push(&mut text, "### Redis", &Shape::of::<RedisSettings>());
    text.push_str(
        "## `[[limit]]`\n\nHow often requests with the same key are served: see [access](access.md#rate-limits).\n\n",
    );
    push(&mut text, "### Rate limit", &Shape::of::<LimitSettings>());
    push(&mut text, "#### `ban = { … }`", &Shape::of::<BanTable>());
    text.push_str("## `[[upstream]]`\n\nA named group of servers, to which routes forward requests.\n\n");
    for (heading, shape) in schema::of_upstream() {
        push(&mut text, &format!("### {heading}"), &shape);
    }
    push(&mut text, "## `[[site]]`", &Shape::of::<SiteSettings>());
    text.push_str(
        "A site has either one of `app`, `cgi`, `files`, `php` and `proxy`, which is short for a single route with the path `/*`, or any \
         number of `[[site.route]]`.\n\n",
    );
    push_policy(&mut text);
    push_access(&mut text);
    push_header_rules(&mut text);
    push(&mut text, "## `[[site.route]]`", &Shape::of::<RouteSettings>());
    text.push_str(
        "The keys [around handlers](#around-handlers), those of [access](#access) and the [rules about header fields](#rules-about-header-fields) may \
         be written here, too.\n\n",
    );
    text.push_str("### `when = { … }`\n\nConditions of a request besides its path and method: see [matching](matching.md#conditions). \
         Others continue with the next routes.\n\n");
    push(&mut text, "#### Conditions", &Shape::of::<WhenTable>());
    text.push_str("A route has either `path` or `path-regex`, and exactly one of the following handlers:\n\n");
    push(&mut text, "### `rewrite`", &Shape::of::<RewriteSettings>());
    push(&mut text, "### `redirect = { … }`", &Shape::of::<RedirectTable>());
    push(&mut text, "### `respond = { … }`", &Shape::of::<RespondTable>());
    text.push_str("### `files = { … }`\n\nServes a folder.\n\n");
    for (heading, shape) in schema::of_files() {
        push(&mut text, &format!("#### {heading}"), &shape);
    }
    text.push_str("### `app = { … }`\n\nRuns an application.\n\n");
    for (heading, shape) in schema::of_app() {
        push(&mut text, &format!("#### {heading}"), &shape);
    }
    text.push_str("### `cgi = { … }`\n\nRuns CGI programs: see [CGI](cgi.md).\n\n");
    push(&mut text, "#### Programs", &Shape::of::<CgiTable>());
    text.push_str("### `php = { … }`\n\nRuns the PHP scripts of a folder in php-fpm, and sends its other files.\n\n");
    for (heading, shape) in schema::of_php() {
        push(&mut text, &format!("#### {heading}"), &shape);
    }
    text.push_str("### `proxy = { … }`\n\nForwards requests to the servers of an `upstream`, or to `servers`.\n\n");
    for (heading, shape) in schema::of_proxy() {
        push(&mut text, &format!("#### {heading}"), &shape);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The keys of sites and routes for what surrounds a handler, and the tables below them.
fn push_policy(text: &mut String) {
    text.push_str(
        "### Around handlers\n\nIn a site, for all its routes; in a route, in place of those of the site.\n\n",
    );
    push_keys(text, &Shape::of::<LogSettings>().and(Shape::of::<PolicySettings>()));
    push(text, "#### `access-log = { … }`", &Shape::of::<LogTable>());
    push(text, "#### `compress = { … }`", &Shape::of::<CompressionTable>());
    push(text, "#### `cache = { … }`", &Shape::of::<RouteCacheTable>());
    push(text, "#### `cors = { … }`", &Shape::of::<CorsTable>());
}

/// The rules about header fields that sites and routes have.
fn push_header_rules(text: &mut String) {
    text.push_str("### Rules about header fields\n\nIn a site, for all its routes; in a route, in addition to those of the site.\n\n");
    push_keys(text, &Shape::of::<HeaderRuleSettings>());
    push(text, "#### `response-headers = [{ … }]`, `request-headers = [{ … }]`", &Shape::of::<HeaderRuleTable>());
}

/// The keys of sites and routes for what requests must pass, and the table below them.
fn push_access(text: &mut String) {
    text.push_str("### Access\n\nIn a site, for all its routes; in a route, in place of those of the site: see [access](access.md).\n\n");
    push_keys(text, &Shape::of::<AccessSettings>());
    push(text, "#### `basic = { … }`", &Shape::of::<BasicTable>());
    push(text, "#### `forward-auth = { … }`", &Shape::of::<ForwardAuthTable>());
    push(text, "#### `jwt = { … }`", &Shape::of::<JwtTable>());
    push(text, "#### `client-certificate = { … }`", &Shape::of::<ClientCertificateTable>());
    push(text, "#### `login = { … }`", &Shape::of::<LoginTable>());
}

/// A heading and the keys below it.
fn push(text: &mut String, heading: &str, shape: &Shape) {
    // A String takes everything.
    let _ = write!(text, "{heading}\n\n");
    push_keys(text, shape);
}

fn push_keys(text: &mut String, shape: &Shape) {
    for (key, schema) in &shape.properties {
        let _ = write!(text, "**`{key}`**: {}\n\n", escaped(&value(schema)));
        let description = schema.get("description").and_then(Value::as_str).map(description::of_key);
        let _ = write!(text, "{}\n\n", escaped(&description.unwrap_or_default()));
        if let Some(default) = schema.get("default").filter(|default| **default != Value::Bool(false)) {
            let _ = write!(text, "Default: `{default}`.\n\n");
        }
    }
}

/// The form of the value that a key has.
fn value(schema: &Value) -> String {
    let is = |name: &str| schema.get("type").is_some_and(|kind| kind == name);
    if let Some(title) = schema.get("title").and_then(Value::as_str) {
        return title.to_owned();
    }
    match schema.get("anyOf").and_then(Value::as_array).and_then(|choices| choices.first()) {
        Some(first) => value(first),
        None if is("boolean") => "true or false".to_owned(),
        None if is("object") => r#"a table, as in { Name = "value" }"#.to_owned(),
        None => "text in quotes".to_owned(),
    }
}

const INTRODUCTION: &str = include_str!("introduction.md");
const SMALL: &str = include_str!("../../examples/serow.toml");
const SITES: &str = include_str!("../../examples/sites.toml");
