//! The servers that scripts ask: upstreams by their names, and any server by a URL.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Mutex, PoisonError},
};

use serow::{Body, Connection, KnownHeader, Request, RequestHead, Target, Version};
use serow_config::{
    SettingError,
    options::{ForwardedChoice, ForwardingOptions, without_options},
    values::{NetworkRule, ServerRule},
};
use serow_message::{Network, TargetForm};
use serow_proxy::{Proxy, Upstream};
use serow_scripts::{Fetch, FetchFailure, FetchRequest, Fetched};
use serow_variables::Scope;

use crate::{forwarding_settings, upstream_settings};

/// The servers that scripts ask.
pub struct ScriptServers {
    named: BTreeMap<String, Proxy>,
    /// Those of URLs, by scheme and authority; their connections are kept.
    by_origin: Mutex<HashMap<String, Proxy>>,
}

impl ScriptServers {
    /// These upstreams by their names, and any server by a URL.
    ///
    /// # Errors
    ///
    /// None that depends on the arguments.
    pub fn new<'a>(upstreams: impl Iterator<Item = (&'a str, &'a Upstream)>) -> Result<Self, SettingError> {
        let named = upstreams.map(|(name, upstream)| Ok((name.to_owned(), proxy(upstream.clone())?)));
        Ok(Self { named: named.collect::<Result<_, SettingError>>()?, by_origin: Mutex::default() })
    }

    /// The proxy that asks the server of a URL, or an upstream; and the target of the request and its host.
    fn find(&self, url: &str) -> Result<(Proxy, String, Option<String>), String> {
        let Some(scheme) = url.find("://") else {
            let (name, path) = url.find('/').map_or((url, "/"), |slash| url.split_at(slash));
            let proxy = self.named.get(name).ok_or_else(|| {
                format!("there is no upstream {name:?}: write a URL that begins with http:// or https://, or its name")
            })?;
            return Ok((proxy.clone(), path.to_owned(), None));
        };
        let authority = scheme + "://".len();
        let end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |length| authority + length);
        let (origin, path) = url.split_at(end);
        if !matches!(&url[..scheme], "http" | "https") {
            return Err(format!("{url:?}: the scheme is neither http nor https"));
        }
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok((self.of_origin(origin)?, path, Some(origin[authority..].to_owned())))
    }

    fn of_origin(&self, origin: &str) -> Result<Proxy, String> {
        let mut known = self.by_origin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(proxy) = known.get(origin) {
            return Ok(proxy.clone());
        }
        let server: ServerRule = origin.parse().map_err(|error| format!("{origin:?}: {error}"))?;
        let made =
            upstream_settings(origin.to_owned(), &[server], without_options()).map(Upstream::new).and_then(proxy);
        let made = made.map_err(|error| format!("{origin:?}: {error:?}"))?;
        if known.len() >= MAX_ORIGINS {
            known.clear();
        }
        known.insert(origin.to_owned(), made.clone());
        Ok(made)
    }

    fn start(&self, request: FetchRequest) -> Result<(Proxy, Request), String> {
        let FetchRequest { url, method, mut headers, body, depth, .. } = request;
        if depth >= MAX_DEPTH {
            return Err(format!(
                "the request has come through {depth} scripts that ask each other: does the script fetch its own URL?"
            ));
        }
        let (proxy, target, host) = self.find(&url)?;
        let target = Target::parse(target.into(), false).ok().filter(|target| target.form() == TargetForm::Origin);
        let target = target.ok_or_else(|| format!("{url:?} is not a URL: encode it, as in http://host/a%20b"))?;
        let invalid = |error| format!("{url:?}: {error}");
        if let Some(host) = host.filter(|_| !headers.contains(KnownHeader::Host)) {
            headers.append(KnownHeader::Host, host).map_err(invalid)?;
        }
        headers.replace(serow_scripts::DEPTH_FIELD, (depth + 1).to_string()).map_err(invalid)?;
        let head = RequestHead { method, target, version: Version::HTTP_11, headers };
        let body = if body.is_empty() { Body::empty() } else { Body::from(body) };
        Ok((proxy, Request::new(head, body, Connection::default())))
    }
}

impl Fetch for ScriptServers {
    fn fetch(&self, request: FetchRequest) -> Result<Fetched, FetchFailure> {
        let (proxy, request) = self.start(request).map_err(FetchFailure)?;
        Ok(proxy.respond(request))
    }
}

/// Passes on what a script has written, and nothing about a client.
fn proxy(upstream: Upstream) -> Result<Proxy, SettingError> {
    let forwarding = ForwardingOptions {
        forwarded: ForwardedChoice::Off,
        trust: Some(Network::EVERYWHERE.map(NetworkRule).to_vec()),
        ..without_options()
    };
    Ok(Proxy::new(upstream, forwarding_settings(forwarding, &Scope::default())?))
}

impl fmt::Debug for ScriptServers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ScriptServers").field("named", &self.named.keys()).finish_non_exhaustive()
    }
}

/// Servers of URLs whose connections are kept: a script that makes URLs of what clients send must not fill the memory.
const MAX_ORIGINS: usize = 64;

/// A request of a request of a request is unusual; one more is a loop.
const MAX_DEPTH: u32 = 5;
