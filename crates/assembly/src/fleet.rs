//! The fleet that shares limits through Redis.

use std::{path::Path, sync::Arc, time::Duration};

use serow_config::{
    checks,
    paths::resolved,
    tables::redis::{RedisSettings, RedisTable},
    values::FleetUrl,
};
use serow_document::{Place, Problem, Problems};
use serow_fleet::{DEFAULT_TIMEOUT, Fleet, FleetFileError, FleetSettings, RedisUrl, SharedTable};
use serow_limits::Limit;

/// The fleet of a table in a file in this folder; nothing where it means nothing.
pub(crate) fn of(table: RedisTable, folder: &Path, problems: &Problems) -> Option<Arc<Fleet>> {
    let RedisTable { settings, place } = table;
    let RedisSettings { url, username, password_file, ca, prefix, timeout, name, instances } = settings;
    let refuse = |problem: Problem| {
        problems.add(problem);
        None
    };
    // A place would show the line, and the password in it.
    let of_urls = |text: &str| Problem::of_file(format!("`url` of [redis]: {text}"));
    let urls = match url.iter().map(FleetUrl::parse).collect::<Result<Vec<_>, _>>() {
        Ok(urls) => urls,
        Err(error) => return refuse(of_urls(&format!("not the URL of Redis: {error}"))),
    };
    if let Some(text) = unusable(&urls) {
        return refuse(of_urls(text));
    }
    let prefix = prefix.unwrap_or_else(|| DEFAULT_PREFIX.to_owned());
    if let Err(text) = checks::redis_prefix(&prefix) {
        return refuse(Problem::of_value(place.key("prefix"), text));
    }
    let timeout = timeout.map_or(DEFAULT_TIMEOUT, |timeout| timeout.0);
    if !(MIN_TIMEOUT..=MAX_TIMEOUT).contains(&timeout) {
        let text = "a timeout is between 10ms and 10s: while Redis is waited for, each server has its share only";
        return refuse(Problem::of_value(place.key("timeout"), text));
    }
    let is_tls = urls.iter().any(RedisUrl::is_tls);
    if ca.is_some() && !is_tls {
        return refuse(Problem::of_key(place.key("ca"), "`ca` needs TLS: write a URL with rediss://"));
    }
    let password = password_file.map(|path| FleetSettings::read_password(&resolved(&path, folder)));
    let password = noted(password.transpose(), &place.key("password-file"), problems)?;
    let ca = ca.map(|path| resolved(&path, folder));
    let tls = is_tls.then(|| FleetSettings::encryption(ca.as_deref()));
    let tls = noted(tls.transpose(), &place.key("ca"), problems)?;
    let instances = instances.map_or(1, |instances| instances.in_memory() as u32);
    let settings = FleetSettings { urls, username, password, prefix, timeout, name, instances, tls };
    Some(Arc::new(Fleet::new(settings)))
}

/// Where the keys of a shared limit are; nothing where the fleet has errors of its own.
pub(crate) fn table(
    fleet: Option<&Option<Arc<Fleet>>>,
    name: &str,
    limit: Limit,
    keys: usize,
    place: &Place,
) -> Result<Option<Arc<SharedTable>>, Problem> {
    let Some(fleet) = fleet else {
        let text = "`shared` needs Redis: write [redis] and below it url = \"redis://10.0.0.1:6379\"";
        return Err(Problem::of_key(place.key("shared"), text));
    };
    Ok(fleet.as_ref().map(|fleet| {
        let table = Arc::new(SharedTable::new(name, limit, keys, Arc::clone(fleet.peers())));
        fleet.add(Arc::clone(&table));
        table
    }))
}

fn noted<T>(result: Result<T, FleetFileError>, place: &Place, problems: &Problems) -> Option<T> {
    result.map_err(|error| problems.add(Problem::of_value(place.clone(), error.to_string()))).ok()
}

/// Why these URLs cannot be used together.
fn unusable(urls: &[RedisUrl]) -> Option<&'static str> {
    match urls {
        [] => Some("there is no URL: write one, as in \"redis://10.0.0.1:6379\""),
        [_] => None,
        urls if !urls.iter().all(RedisUrl::can_be_cluster_node) => Some(
            "several URLs are nodes of a cluster: each is redis://HOST:PORT or rediss://HOST:PORT, without a database",
        ),
        [first, others @ ..] if others.iter().any(|url| url.is_tls() != first.is_tls()) => {
            Some("all nodes of a cluster have TLS, or none: write redis:// or rediss:// for all")
        }
        _ => None,
    }
}

const DEFAULT_PREFIX: &str = "serow:";

const MIN_TIMEOUT: Duration = Duration::from_millis(10);
const MAX_TIMEOUT: Duration = Duration::from_secs(10);
