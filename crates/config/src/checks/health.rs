//! Health checks that cannot be made.

use serow_message::is_token_byte;

use crate::{
    SettingError,
    options::{CheckChoice, HealthOptions, without_options},
};

pub(super) fn health(options: &HealthOptions) -> Result<(), SettingError> {
    let wanted = [
        (CheckChoice::Http, setting_of_http(options)),
        (CheckChoice::Grpc, options.check_service.as_ref().map(|_| "check-service")),
        (options.check, None),
    ];
    let wanted = wanted.into_iter().filter_map(|(kind, key)| Some((kind, key?)));
    if let Some((kind, key)) = wanted.into_iter().find(|(kind, _)| *kind != options.check) {
        return Err(SettingError::new(key, format!("`{key}` needs `check` {kind}: write both, or none")));
    }
    if options.check == CheckChoice::Off {
        return match setting_of_any(options) {
            Some(key) => Err(SettingError::new(key, format!("`{key}` needs `check`: write tcp, http or grpc there"))),
            None => Ok(()),
        };
    }
    for (key, time) in [("check-interval", options.check_interval.0), ("check-timeout", options.check_timeout.0)] {
        if time.is_zero() {
            return Err(SettingError::new(key, format!("`{key}` is zero: write a time, as in 1s")));
        }
    }
    if options.check == CheckChoice::Http { request(options) } else { Ok(()) }
}

fn request(options: &HealthOptions) -> Result<(), SettingError> {
    let defaults: HealthOptions = without_options();
    let HealthOptions { check_path, check_host, check_send, .. } = options;
    if check_send.is_some() && (*check_path != defaults.check_path || check_host.is_some()) {
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
    Ok(())
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
