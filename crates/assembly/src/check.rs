//! Health checks of servers.

use serow_config::options::{CheckChoice, CheckStartChoice, HealthOptions};
use serow_proxy::{CheckKind, CheckSettings, CheckStart, HttpCheck};

/// The health checks, if there are any.
pub(super) fn check_settings(options: HealthOptions) -> Option<CheckSettings> {
    if options.check == CheckChoice::Off {
        return None;
    }
    let (interval, timeout) = (options.check_interval.0, options.check_timeout.0);
    Some(CheckSettings {
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
            CheckChoice::Http => CheckKind::Http(http_check(options)),
            CheckChoice::Grpc => CheckKind::Grpc(options.check_service.unwrap_or_default()),
        },
    })
}

fn http_check(options: HealthOptions) -> HttpCheck {
    let HealthOptions { check_path, check_host, check_send, check_expect, check_body, check_header, .. } = options;
    HttpCheck {
        path: check_path,
        host: check_host,
        send: check_send.map(|text| unescaped(&text)),
        expect: check_expect.into_iter().flat_map(|statuses| statuses.0).map(|range| range.0).collect(),
        body: check_body,
        header: check_header.map(|field| (field.name, field.value)),
    }
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
