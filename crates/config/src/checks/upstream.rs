//! Upstreams with servers or options that mean nothing together.

use serow_message::{Scheme, is_token_byte};

use super::health::health;
use crate::{
    SettingError,
    options::{
        BalanceChoice, BalancingOptions, CertificateChoice, StickyChoice, StickyOptions, UpstreamOptions,
        UpstreamTlsOptions, without_options,
    },
    values::ServerRule,
};

/// Refuses an upstream whose servers or options mean nothing together.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn upstream(servers: &[ServerRule], options: &UpstreamOptions) -> Result<(), SettingError> {
    refuse_servers(servers)?;
    balancing(&options.balancing)?;
    sticky(&options.sticky)?;
    health(&options.health)?;
    encryption(&options.tls, servers)
}

/// Servers that mean nothing together.
fn refuse_servers(servers: &[ServerRule]) -> Result<(), SettingError> {
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

fn balancing(options: &BalancingOptions) -> Result<(), SettingError> {
    let defaults: BalancingOptions = without_options();
    if options.balance != BalanceChoice::Hash && options.hash_key != defaults.hash_key {
        return Err(SettingError::new("hash-key", "`hash-key` needs `balance` hash: write both, or none"));
    }
    Ok(())
}

fn sticky(options: &StickyOptions) -> Result<(), SettingError> {
    if let Some(key) = cookie_setting_without_effect(options) {
        let text = match options.sticky {
            StickyChoice::Off => format!("`{key}` needs `sticky`: write insert, prefix or rewrite there"),
            _ => format!("`{key}` needs `sticky` insert: other cookies are set by the servers themselves"),
        };
        return Err(SettingError::new(key, text));
    }
    let is_token = !options.sticky_cookie.is_empty() && options.sticky_cookie.bytes().all(is_token_byte);
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
    Ok(())
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

fn encryption(options: &UpstreamTlsOptions, servers: &[ServerRule]) -> Result<(), SettingError> {
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
            None => Ok(()),
        };
    }
    if server_ca.is_some() && *server_insecure {
        let text = "`server-insecure` checks nothing, so `server-ca` has no effect: leave one out";
        return Err(SettingError::new("server-insecure", text));
    }
    if matches!(server_certificate, Some(CertificateChoice::SelfSigned)) {
        let text = "`server-certificate`: no server trusts a self-signed one; name the files of another";
        return Err(SettingError::new("server-certificate", text));
    }
    Ok(())
}
