//! The reference of settings files for people: docs/settings.md, generated from the schema.

use serow_document::Reference;

use crate::{
    Shape,
    options::{AcmeOptions, LogTable},
    schema,
    tables::{
        access::{AccessSettings, BasicTable, LimitSettings},
        cache::{CacheTable, RouteCacheTable},
        cgi::CgiTable,
        client_certificate::ClientCertificateTable,
        client_limits::BanTable,
        compression::CompressionTable,
        docker::DockerSettings,
        forward_auth::ForwardAuthTable,
        handlers::{RedirectTable, RespondTable, RewriteSettings},
        header_rules::{HeaderRuleSettings, HeaderRuleTable},
        jwt::JwtTable,
        kinds,
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
    let introduction = INTRODUCTION.replace("{SMALL}", SMALL.trim()).replace("{SITES}", SITES.trim());
    let mut text = Reference::new(introduction, kinds::is_key);
    text.push_text("\n## Root\n\n");
    text.push_groups("###", schema::of_root());
    text.push_text("## `[acme]`\n\nAutomatic certificates; [the guide](certificates.md) explains them.\n\n");
    text.push("### Certificates", &Shape::of::<AcmeOptions>());
    text.push_text("## `[cache]`\n\nResponses of applications and other servers are cached where `cache` is set; [the guide](cache.md) explains it.\n\n");
    text.push("### Store", &Shape::of::<CacheTable>());
    text.push_text(
        "## `[[map]]`\n\nA variable that depends on the value of another text: see [matching](matching.md#maps).\n\n",
    );
    text.push("### Map", &Shape::of::<MapSettings>());
    text.push_text(
        "## `[redis]`\n\nRedis, through which several servers share limits: see [access](access.md#limits-that-several-servers-share).\n\n",
    );
    text.push("### Redis", &Shape::of::<RedisSettings>());
    text.push_text(
        "## `[docker]`\n\nContainers of Docker and Podman become routes, by their labels; [the guide](containers.md) explains them.\n\n",
    );
    text.push("### Containers", &Shape::of::<DockerSettings>());
    text.push_text(
        "## `[[limit]]`\n\nHow often requests with the same key are served: see [access](access.md#rate-limits).\n\n",
    );
    text.push("### Rate limit", &Shape::of::<LimitSettings>());
    text.push("#### `ban = { … }`", &Shape::of::<BanTable>());
    text.push_text("## `[[upstream]]`\n\nA named group of servers, to which routes forward requests.\n\n");
    text.push_groups("###", schema::of_upstream());
    text.push("## `[[site]]`", &Shape::of::<SiteSettings>());
    text.push_text(
        "A site has either one of `app`, `cgi`, `files`, `php` and `proxy`, which is short for a single route with the path `/*`, or any \
         number of `[[site.route]]`.\n\n",
    );
    push_policy(&mut text);
    push_access(&mut text);
    push_header_rules(&mut text);
    text.push("## `[[site.route]]`", &Shape::of::<RouteSettings>());
    text.push_text(
        "The keys [around handlers](#around-handlers), those of [access](#access) and the [rules about header fields](#rules-about-header-fields) may \
         be written here, too.\n\n",
    );
    text.push_text("### `when = { … }`\n\nConditions of a request besides its path and method: see [matching](matching.md#conditions). \
         Others continue with the next routes.\n\n");
    text.push("#### Conditions", &Shape::of::<WhenTable>());
    text.push_text("A route has either `path` or `path-regex`, and exactly one of the following handlers:\n\n");
    text.push("### `rewrite`", &Shape::of::<RewriteSettings>());
    text.push("### `redirect = { … }`", &Shape::of::<RedirectTable>());
    text.push("### `respond = { … }`", &Shape::of::<RespondTable>());
    text.push_text("### `files = { … }`\n\nServes a folder.\n\n");
    text.push_groups("####", schema::of_files());
    text.push_text("### `app = { … }`\n\nRuns an application.\n\n");
    text.push_groups("####", schema::of_app());
    text.push_text("### `cgi = { … }`\n\nRuns CGI programs: see [CGI](cgi.md).\n\n");
    text.push("#### Programs", &Shape::of::<CgiTable>());
    text.push_text("### `php = { … }`\n\nRuns the PHP scripts of a folder in php-fpm, and sends its other files.\n\n");
    text.push_groups("####", schema::of_php());
    text.push_text("### `proxy = { … }`\n\nForwards requests to the servers of an `upstream`, or to `servers`.\n\n");
    text.push_groups("####", schema::of_proxy());
    text.finish()
}

/// The keys of sites and routes for what surrounds a handler, and the tables below them.
fn push_policy(text: &mut Reference) {
    text.push_text(
        "### Around handlers\n\nIn a site, for all its routes; in a route, in place of those of the site.\n\n",
    );
    text.push_keys(&Shape::of::<LogSettings>().and(Shape::of::<PolicySettings>()));
    text.push("#### `access-log = { … }`", &Shape::of::<LogTable>());
    text.push("#### `compress = { … }`", &Shape::of::<CompressionTable>());
    text.push("#### `cache = { … }`", &Shape::of::<RouteCacheTable>());
    text.push("#### `cors = { … }`", &Shape::of::<CorsTable>());
}

/// The rules about header fields that sites and routes have.
fn push_header_rules(text: &mut Reference) {
    text.push_text("### Rules about header fields\n\nIn a site, for all its routes; in a route, in addition to those of the site.\n\n");
    text.push_keys(&Shape::of::<HeaderRuleSettings>());
    text.push("#### `response-headers = [{ … }]`, `request-headers = [{ … }]`", &Shape::of::<HeaderRuleTable>());
}

/// The keys of sites and routes for what requests must pass, and the table below them.
fn push_access(text: &mut Reference) {
    text.push_text("### Access\n\nIn a site, for all its routes; in a route, in place of those of the site: see [access](access.md).\n\n");
    text.push_keys(&Shape::of::<AccessSettings>());
    text.push("#### `basic = { … }`", &Shape::of::<BasicTable>());
    text.push("#### `forward-auth = { … }`", &Shape::of::<ForwardAuthTable>());
    text.push("#### `jwt = { … }`", &Shape::of::<JwtTable>());
    text.push("#### `client-certificate = { … }`", &Shape::of::<ClientCertificateTable>());
    text.push("#### `login = { … }`", &Shape::of::<LoginTable>());
}

const INTRODUCTION: &str = include_str!("introduction.md");
const SMALL: &str = include_str!("../../examples/serow.toml");
const SITES: &str = include_str!("../../examples/sites.toml");
