//! How servers are asked whether they are well.

use serow::is_token_byte;
use serow_proxy::{CheckKind, CheckSettings, CheckStart, HttpCheck};

use super::SettingError;
use crate::options::{CheckArgument, CheckStartArgument, HealthArguments, without_options};

/// How servers are asked; nothing where they are not.
pub(super) fn check_settings(written: HealthArguments) -> Result<Option<CheckSettings>, SettingError> {
    let wanted = [
        (CheckArgument::Http, setting_of_http(&written)),
        (CheckArgument::Grpc, written.check_service.as_ref().map(|_| "check-service")),
        (written.check, None),
    ];
    let wanted = wanted.into_iter().filter_map(|(kind, key)| Some((kind, key?)));
    if let Some((kind, key)) = wanted.into_iter().find(|(kind, _)| *kind != written.check) {
        return Err(SettingError::new(key, format!("`{key}` needs `check` {kind}: write both, or none")));
    }
    if written.check == CheckArgument::Off {
        return match setting_of_any(&written) {
            Some(key) => Err(SettingError::new(key, format!("`{key}` needs `check`: write tcp, http or grpc there"))),
            None => Ok(None),
        };
    }
    let (interval, timeout) = (written.check_interval.0, written.check_timeout.0);
    for (key, time) in [("check-interval", interval), ("check-timeout", timeout)] {
        if time.is_zero() {
            return Err(SettingError::new(key, format!("`{key}` is nothing: write a time, as in 1s")));
        }
    }
    Ok(Some(CheckSettings {
        interval,
        timeout,
        rise: written.check_rise.get(),
        fall: written.check_fall.get(),
        start: match written.check_start {
            CheckStartArgument::Up => CheckStart::Up,
            CheckStartArgument::Down => CheckStart::Down,
        },
        port: written.check_port.and_then(|port| u16::try_from(port.get()).ok()),
        kind: match written.check {
            CheckArgument::Off | CheckArgument::Tcp => CheckKind::Tcp,
            CheckArgument::Http => CheckKind::Http(http_check(written)?),
            CheckArgument::Grpc => CheckKind::Grpc(written.check_service.unwrap_or_default()),
        },
    }))
}

fn http_check(written: HealthArguments) -> Result<HttpCheck, SettingError> {
    let defaults: HealthArguments = without_options();
    let HealthArguments { check_path, check_host, check_send, check_expect, check_body, check_header, .. } = written;
    if check_send.is_some() && (check_path != defaults.check_path || check_host.is_some()) {
        let text = "`check-send` is the whole request: leave out `check-path` and `check-host`";
        return Err(SettingError::new("check-send", text));
    }
    if !check_path.starts_with('/') || !check_path.bytes().all(|byte| byte.is_ascii_graphic()) {
        let text = format!("`check-path` {check_path:?} is no path: write one as in /up");
        return Err(SettingError::new("check-path", text));
    }
    let is_host = |host: &String| host.bytes().all(|byte| is_token_byte(byte) || b":[]".contains(&byte));
    if let Some(host) = check_host.as_ref().filter(|host| host.is_empty() || !is_host(host)) {
        return Err(SettingError::new("check-host", format!("`check-host` {host:?} is no host: write a name")));
    }
    Ok(HttpCheck {
        path: check_path,
        host: check_host,
        send: check_send.map(|text| unescaped(&text)),
        expect: check_expect.into_iter().flat_map(|statuses| statuses.0).map(|range| range.0).collect(),
        body: check_body,
        header: check_header.map(|field| (field.name, field.value)),
    })
}

/// What is about a request, and given.
fn setting_of_http(written: &HealthArguments) -> Option<&'static str> {
    let defaults: HealthArguments = without_options();
    let given = [
        ("check-path", written.check_path != defaults.check_path),
        ("check-host", written.check_host.is_some()),
        ("check-expect", written.check_expect != defaults.check_expect),
        ("check-body", written.check_body.is_some()),
        ("check-header", written.check_header.is_some()),
        ("check-send", written.check_send.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
}

/// What is about any check, and given.
fn setting_of_any(written: &HealthArguments) -> Option<&'static str> {
    let defaults: HealthArguments = without_options();
    let given = [
        ("check-interval", written.check_interval != defaults.check_interval),
        ("check-timeout", written.check_timeout != defaults.check_timeout),
        ("check-rise", written.check_rise != defaults.check_rise),
        ("check-fall", written.check_fall != defaults.check_fall),
        ("check-start", written.check_start != defaults.check_start),
        ("check-port", written.check_port.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
}

/// Ends of lines as they are written on command lines.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('\\', Some(next @ ('r' | 'n' | 't' | '\\'))) => {
                plain.push(match next {
                    'r' => '\r',
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
                characters.next();
            }
            _ => plain.push(character),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_lines() {
        for (text, expected) in [
            (r"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"),
            ("a\r\n", "a\r\n"),
            (r"a\\n\tb\x\", "a\\n\tb\\x\\"),
            ("", ""),
        ] {
            assert_eq!(unescaped(text), expected);
        }
    }
}
