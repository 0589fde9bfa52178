//! Upstreams: their servers, and how requests are sent to them.

use serow::{CertificateFiles, Scheme, StatusCode};
use serow_client::{Protocol, TlsClientSettings, TlsConnector, Trust};
use serow_config::{
    SettingError, checks,
    options::{
        BalanceChoice, BalancingOptions, CertificateChoice, RetryOptions, SendProxyChoice, StickyChoice, StickyOptions,
        StickyValueChoice, UpstreamOptions, UpstreamTlsOptions,
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
    checks::upstream(servers, &options)?;
    let UpstreamOptions { balancing, sticky, timeouts, connections, tls, retries, health } = options;
    let servers: Vec<_> = servers.iter().map(server_settings).collect();
    Ok(UpstreamSettings {
        name,
        cgi_protocol: None,
        balancing: self::balancing(&balancing),
        sticky: self::sticky(sticky),
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
        check: check_settings(health),
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
fn server_settings(rule: &ServerRule) -> ServerSettings {
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

fn balancing(options: &BalancingOptions) -> Balancing {
    match options.balance {
        BalanceChoice::RoundRobin => Balancing::RoundRobin,
        BalanceChoice::LeastRequests => Balancing::LeastRequests,
        BalanceChoice::Latency => Balancing::Latency,
        BalanceChoice::Hash => Balancing::Hash(hash_key(&options.hash_key)),
    }
}

fn sticky(options: StickyOptions) -> Option<StickySettings> {
    let mode = match options.sticky {
        StickyChoice::Off => None,
        StickyChoice::Insert => Some(StickyMode::Insert),
        StickyChoice::Prefix => Some(StickyMode::Prefix),
        StickyChoice::Rewrite => Some(StickyMode::Rewrite),
    };
    mode.map(|mode| StickySettings {
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
    })
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

/// How connections to servers with https are encrypted; `None` where there is none.
fn encryption(options: &UpstreamTlsOptions, servers: &[ServerSettings]) -> Result<Option<TlsConnector>, SettingError> {
    let UpstreamTlsOptions { server_ca, server_insecure, server_certificate } = options;
    if !servers.iter().any(|server| server.address.scheme == Scheme::Https) {
        return Ok(None);
    }
    let trust = match server_ca {
        Some(file) => Trust::File(file.clone()),
        None if *server_insecure => Trust::Unchecked,
        None => Trust::System,
    };
    let certificate = server_certificate.as_ref().and_then(|choice| match choice {
        CertificateChoice::Files(certificate, key) => {
            Some(CertificateFiles { certificate: certificate.clone(), key: key.clone(), ocsp_response: None })
        }
        CertificateChoice::SelfSigned => None,
    });
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
