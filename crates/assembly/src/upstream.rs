//! Upstreams: their servers, and how requests are sent to them.

use serow::{CertificateFiles, Scheme, StatusCode};
use serow_client::{Protocol, TlsClientSettings, TlsConnector, Trust};
use serow_config::{
    SettingError,
    options::{
        BalanceChoice, BalancingOptions, CertificateChoice, RetryOptions, SendProxyChoice, StickyChoice, StickyOptions,
        StickyValueChoice, UpstreamOptions, UpstreamTlsOptions, without_options,
    },
    values::{HashRule, RetryCause, ServerRule},
};
use serow_proxy::{
    Balancing, HashKey, KeepSettings, PassiveSettings, ProxyHeader, QueueSettings, RetrySettings, ServerSettings,
    StickyMode, StickySettings, StickyValue, UpstreamSettings, UpstreamTimeouts,
};

use super::check::check_settings;

/// The settings of an upstream with these servers.
pub fn upstream_settings(
    name: String,
    servers: &[ServerRule],
    options: UpstreamOptions,
) -> Result<UpstreamSettings, SettingError> {
    let UpstreamOptions { balancing, sticky, timeouts, connections, tls, retries, health } = options;
    let servers: Vec<_> = servers.iter().map(server_settings).collect();
    refuse_servers(&servers)?;
    Ok(UpstreamSettings {
        name,
        cgi_protocol: None,
        balancing: self::balancing(&balancing)?,
        sticky: self::sticky(sticky)?,
        timeouts: UpstreamTimeouts {
            connect: timeouts.connect_timeout.0,
            response: timeouts.response_timeout.0,
            transfer: timeouts.transfer_timeout.0,
            total: timeouts.total_timeout.map(|time| time.0),
        },
        keep: KeepSettings { idle: connections.keep_idle.in_memory(), idle_time: connections.keep_idle_timeout.0 },
        queue: QueueSettings { length: connections.queue.in_memory(), timeout: connections.queue_timeout.0 },
        waits_for_servers: false,
        slow_start: balancing.slow_start.0,
        crashes: None,
        holds_overdue: false,
        retries: self::retries(&retries),
        passive: PassiveSettings { failures: health.max_failures.get(), ejection: health.ejection_time.0 },
        check: check_settings(health)?,
        encryption: encryption(&tls, &servers)?,
        proxy_header: match connections.send_proxy {
            SendProxyChoice::Off => None,
            SendProxyChoice::V1 => Some(ProxyHeader::Version1),
            SendProxyChoice::V2 => Some(ProxyHeader::Version2),
        },
        servers,
    })
}

/// A server as the proxy knows it.
pub fn server_settings(rule: &ServerRule) -> ServerSettings {
    let ServerRule { address, weight, backup, max_requests, id } = rule.clone();
    ServerSettings { address, weight, backup, max_requests, id }
}

fn hash_key(rule: &HashRule) -> HashKey {
    match rule {
        HashRule::Client => HashKey::Client,
        HashRule::Path => HashKey::Path,
        HashRule::Target => HashKey::Target,
        HashRule::Host => HashKey::Host,
        HashRule::Header(name) => HashKey::Header(name.clone()),
        HashRule::Cookie(name) => HashKey::Cookie(name.clone()),
        HashRule::Query(name) => HashKey::Query(name.clone()),
    }
}

/// Servers that mean nothing together.
fn refuse_servers(servers: &[ServerSettings]) -> Result<(), SettingError> {
    for (number, server) in servers.iter().enumerate() {
        let before = &servers[..number];
        let text = if before.iter().any(|other| other.address.location == server.address.location) {
            let address = &server.address;
            format!("`servers`: duplicate server {address}: leave one out, and give the other a weight")
        } else if let Some(id) =
            server.id.as_ref().filter(|id| before.iter().any(|other| other.id.as_ref() == Some(id)))
        {
            format!("`servers`: duplicate id {id}: write another one")
        } else {
            continue;
        };
        return Err(SettingError::new("servers", text).of_element(number));
    }
    let text = match servers {
        [] => "`servers`: there is none: name one, as in 127.0.0.1:9000",
        servers if servers.iter().all(|server| server.backup) => {
            "`servers`: all servers are backups: remove `,backup` from at least one"
        }
        _ => return Ok(()),
    };
    Err(SettingError::new("servers", text))
}

fn balancing(options: &BalancingOptions) -> Result<Balancing, SettingError> {
    let defaults: BalancingOptions = without_options();
    if options.balance != BalanceChoice::Hash && options.hash_key != defaults.hash_key {
        return Err(SettingError::new("hash-key", "`hash-key` needs `balance` hash: write both, or none"));
    }
    Ok(match options.balance {
        BalanceChoice::RoundRobin => Balancing::RoundRobin,
        BalanceChoice::LeastRequests => Balancing::LeastRequests,
        BalanceChoice::Latency => Balancing::Latency,
        BalanceChoice::Hash => Balancing::Hash(hash_key(&options.hash_key)),
    })
}

fn sticky(options: StickyOptions) -> Result<Option<StickySettings>, SettingError> {
    let mode = match options.sticky {
        StickyChoice::Off => None,
        StickyChoice::Insert => Some(StickyMode::Insert),
        StickyChoice::Prefix => Some(StickyMode::Prefix),
        StickyChoice::Rewrite => Some(StickyMode::Rewrite),
    };
    if let Some(key) = cookie_setting_without_effect(&options) {
        let text = match mode {
            None => format!("`{key}` needs `sticky`: write insert, prefix or rewrite there"),
            Some(_) => format!("`{key}` needs `sticky` insert: other cookies are set by the servers themselves"),
        };
        return Err(SettingError::new(key, text));
    }
    let is_token = !options.sticky_cookie.is_empty() && options.sticky_cookie.bytes().all(serow::is_token_byte);
    if !is_token {
        let text =
            format!("`sticky-cookie` {:?} is not a cookie name: write letters and digits", options.sticky_cookie);
        return Err(SettingError::new("sticky-cookie", text));
    }
    for (key, text) in [("sticky-domain", options.sticky_domain.as_ref()), ("sticky-path", Some(&options.sticky_path))]
    {
        // RFC 6265 §4.1.1: whatever an attribute's value may be.
        let is_value = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b';');
        if let Some(text) = text.filter(|text| !is_value(text)) {
            let text = format!("`{key}` {text:?} cannot be in a cookie: write letters and digits");
            return Err(SettingError::new(key, text));
        }
    }
    Ok(mode.map(|mode| StickySettings {
        cookie: options.sticky_cookie,
        mode,
        value: match options.sticky_value {
            StickyValueChoice::Plain => StickyValue::Plain,
            StickyValueChoice::Hashed => StickyValue::Hashed,
        },
        domain: options.sticky_domain,
        path: options.sticky_path,
        max_age: options.sticky_max_age.map(|time| time.0),
        fallback: options.sticky_fallback.is_on(),
    }))
}

/// A setting of a cookie that has no effect: without cookies, or for attributes that the servers set.
fn cookie_setting_without_effect(options: &StickyOptions) -> Option<&'static str> {
    let defaults: StickyOptions = without_options();
    let attributes = [
        ("sticky-max-age", options.sticky_max_age.is_some()),
        ("sticky-domain", options.sticky_domain.is_some()),
        ("sticky-path", options.sticky_path != defaults.sticky_path),
    ];
    let others = [
        ("sticky-cookie", options.sticky_cookie != defaults.sticky_cookie),
        ("sticky-value", options.sticky_value != defaults.sticky_value),
        ("sticky-fallback", !options.sticky_fallback.is_on()),
    ];
    let given: Vec<_> = match options.sticky {
        StickyChoice::Insert => Vec::new(),
        StickyChoice::Prefix | StickyChoice::Rewrite => attributes.into(),
        StickyChoice::Off => attributes.into_iter().chain(others).collect(),
    };
    given.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
}

fn retries(options: &RetryOptions) -> RetrySettings {
    let causes: Vec<_> = options.retry_on.iter().flat_map(|causes| &causes.0).collect();
    let statuses = causes.iter().filter_map(|cause| match cause {
        RetryCause::Status(range) => Some(range.0.clone()),
        RetryCause::Connect | RetryCause::Timeout | RetryCause::Broken => None,
    });
    RetrySettings {
        tries: options.tries.get(),
        on_connect: causes.contains(&&RetryCause::Connect),
        on_timeout: causes.contains(&&RetryCause::Timeout),
        on_broken: causes.contains(&&RetryCause::Broken),
        on_status: statuses.flatten().filter_map(|status| StatusCode::from_u16(status).ok()).collect(),
        all_methods: options.retry_all_methods,
        budget: options.retry_budget.get(),
    }
}

/// How connections to servers with https are encrypted; nothing where there is none.
fn encryption(options: &UpstreamTlsOptions, servers: &[ServerSettings]) -> Result<Option<TlsConnector>, SettingError> {
    let UpstreamTlsOptions { server_ca, server_insecure, server_certificate } = options;
    if !servers.iter().any(|server| server.address.scheme == Scheme::Https) {
        let given = [
            ("server-ca", server_ca.is_some()),
            ("server-insecure", *server_insecure),
            ("server-certificate", server_certificate.is_some()),
        ];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => {
                Err(SettingError::new(key, format!("`{key}` needs a server with TLS: write https:// before one")))
            }
            None => Ok(None),
        };
    }
    let trust = match (server_ca, server_insecure) {
        (Some(_), true) => {
            let text = "`server-insecure` checks nothing, so `server-ca` has no effect: leave one out";
            return Err(SettingError::new("server-insecure", text));
        }
        (Some(file), false) => Trust::File(file.clone()),
        (None, true) => Trust::Unchecked,
        (None, false) => Trust::System,
    };
    let certificate = match server_certificate {
        None => None,
        Some(CertificateChoice::Files(certificate, key)) => {
            Some(CertificateFiles { certificate: certificate.clone(), key: key.clone(), ocsp_response: None })
        }
        Some(CertificateChoice::SelfSigned) => {
            let text = "`server-certificate`: no server trusts a self-signed one; name the files of another";
            return Err(SettingError::new("server-certificate", text));
        }
    };
    let protocols = vec![Protocol::Http2, Protocol::Http1];
    let settings = TlsClientSettings { trust, certificate, protocols, ..TlsClientSettings::default() };
    let key = match server_ca {
        Some(_) => "server-ca",
        None if server_certificate.is_some() => "server-certificate",
        None => "servers",
    };
    let connector = TlsConnector::new(settings);
    connector.map(Some).map_err(|error| SettingError::new(key, format!("`{key}`: {error}")))
}
