//! Health checks of servers.

use serow::is_token_byte;
use serow_config::{
    SettingError,
    options::{CheckChoice, CheckStartChoice, HealthOptions, without_options},
};
use serow_proxy::{CheckKind, CheckSettings, CheckStart, HttpCheck};

/// The health checks, if there are any.
pub(super) fn check_settings(options: HealthOptions) -> Result<Option<CheckSettings>, SettingError> {
    let wanted = [
        (CheckChoice::Http, setting_of_http(&options)),
        (CheckChoice::Grpc, options.check_service.as_ref().map(|_| "check-service")),
        (options.check, None),
    ];
    let wanted = wanted.into_iter().filter_map(|(kind, key)| Some((kind, key?)));
    if let Some((kind, key)) = wanted.into_iter().find(|(kind, _)| *kind != options.check) {
        return Err(SettingError::new(key, format!("`{key}` needs `check` {kind}: write both, or none")));
    }
    if options.check == CheckChoice::Off {
        return match setting_of_any(&options) {
            Some(key) => Err(SettingError::new(key, format!("`{key}` needs `check`: write tcp, http or grpc there"))),
            None => Ok(None),
        };
    }
    let (interval, timeout) = (options.check_interval.0, options.check_timeout.0);
    for (key, time) in [("check-interval", interval), ("check-timeout", timeout)] {
        if time.is_zero() {
            return Err(SettingError::new(key, format!("`{key}` is zero: write a time, as in 1s")));
        }
    }
    Ok(Some(CheckSettings {
        interval,
        timeout,
        rise: options.check_rise.get(),
        fall: options.check_fall.get(),
        start: match options.check_start {
            CheckStartChoice::Up => CheckStart::Up,
            CheckStartChoice::Down => CheckStart::Down,
        },
        port: options.check_port.and_then(|port| u16::try_from(port.get()).ok()),
        kind: match options.check {
            CheckChoice::Off | CheckChoice::Tcp => CheckKind::Tcp,
            CheckChoice::Http => CheckKind::Http(http_check(options)?),
            CheckChoice::Grpc => CheckKind::Grpc(options.check_service.unwrap_or_default()),
        },
    }))
}

fn http_check(options: HealthOptions) -> Result<HttpCheck, SettingError> {
    let defaults: HealthOptions = without_options();
    let HealthOptions { check_path, check_host, check_send, check_expect, check_body, check_header, .. } = options;
    if check_send.is_some() && (check_path != defaults.check_path || check_host.is_some()) {
        let text = "`check-send` is the whole request: leave out `check-path` and `check-host`";
        return Err(SettingError::new("check-send", text));
    }
    if !check_path.starts_with('/') || !check_path.bytes().all(|byte| byte.is_ascii_graphic()) {
        let text = format!("`check-path` {check_path:?} is not a path: write one as in /up");
        return Err(SettingError::new("check-path", text));
    }
    let is_host = |host: &String| host.bytes().all(|byte| is_token_byte(byte) || b":[]".contains(&byte));
    if let Some(host) = check_host.as_ref().filter(|host| host.is_empty() || !is_host(host)) {
        return Err(SettingError::new("check-host", format!("`check-host` {host:?} is not a host: write a name")));
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

/// The first setting that is given of those about an HTTP request.
fn setting_of_http(options: &HealthOptions) -> Option<&'static str> {
    let defaults: HealthOptions = without_options();
    let given = [
        ("check-path", options.check_path != defaults.check_path),
        ("check-host", options.check_host.is_some()),
        ("check-expect", options.check_expect != defaults.check_expect),
        ("check-body", options.check_body.is_some()),
        ("check-header", options.check_header.is_some()),
        ("check-send", options.check_send.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
}

/// The first setting that is given of those about any check.
fn setting_of_any(options: &HealthOptions) -> Option<&'static str> {
    let defaults: HealthOptions = without_options();
    let given = [
        ("check-interval", options.check_interval != defaults.check_interval),
        ("check-timeout", options.check_timeout != defaults.check_timeout),
        ("check-rise", options.check_rise != defaults.check_rise),
        ("check-fall", options.check_fall != defaults.check_fall),
        ("check-start", options.check_start != defaults.check_start),
        ("check-port", options.check_port.is_some()),
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
