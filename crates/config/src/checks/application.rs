//! Options of applications that mean nothing for their kind.

use std::ffi::OsStr;

use crate::{
    SettingError,
    options::{ApplicationOptions, BindChoice, InterfaceChoice},
};

/// Refuses options that mean nothing for an application with this name, which an interpreter calls.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn application(name: Option<&str>, options: &ApplicationOptions) -> Result<(), SettingError> {
    let of_programs = [
        ("bind", options.bind != BindChoice::Port),
        ("check-path", options.check_path.is_some()),
        ("underscores-in-headers", options.underscores_in_headers),
    ];
    if !options.ini.is_empty() {
        return Err(SettingError::new("ini", "`ini` is for PHP only: leave it out"));
    }
    for (key, is_given) in of_programs {
        if is_given {
            let text = format!("`{key}` is for programs that serve HTTP themselves: leave it out");
            return Err(SettingError::new(key, text));
        }
    }
    if options.interpreter.as_ref().is_some_and(|words| words.trim().is_empty()) {
        return Err(SettingError::new("interpreter", "`interpreter` is empty: write a command, as in ruby"));
    }
    let by_name = || name.and_then(interface_by_name).unwrap_or(InterfaceChoice::Auto);
    let interface = if options.interface == InterfaceChoice::Auto { by_name() } else { options.interface };
    self::interface(options, interface)?;
    lifetime(options)?;
    root_path(options)
}

/// Refuses options that mean nothing for this interface; nothing is known of `auto`.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn interface(options: &ApplicationOptions, interface: InterfaceChoice) -> Result<(), SettingError> {
    if interface == InterfaceChoice::Auto {
        return Ok(());
    }
    meaningless(options, interface)?;
    if options.refork_after.is_empty() { Ok(()) } else { refuse_reforking(options, interface) }
}

/// Refuses options that mean nothing for a program that serves HTTP itself.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn program(name: Option<&OsStr>, options: &ApplicationOptions) -> Result<(), SettingError> {
    refuse_meaningless(options)?;
    if name.is_none_or(OsStr::is_empty) {
        return Err(SettingError::new("command", "`command` is empty: write a program and its arguments"));
    }
    if options.check_path.as_ref().is_some_and(|path| !path.starts_with('/')) {
        return Err(SettingError::new("check-path", "`check-path` has to begin with a slash, as in /up"));
    }
    lifetime(options)
}

/// Refuses options that are given and mean nothing here.
fn refuse_meaningless(options: &ApplicationOptions) -> Result<(), SettingError> {
    let of_interpreters = [
        ("interface", options.interface != InterfaceChoice::Auto),
        ("interpreter", options.interpreter.is_some()),
        ("ini", !options.ini.is_empty()),
        ("preload", options.preload),
        ("root-path", options.root_path.is_some()),
        ("request-start", options.request_start),
        ("refork-after", !options.refork_after.is_empty()),
        ("out-of-band-gc", options.out_of_band_gc.is_some()),
        ("websocket-ping", options.websocket_ping.is_some()),
        ("max-message", options.max_message.is_some()),
        ("websocket-compression", options.websocket_compression.is_some()),
        ("dev", options.dev),
    ];
    let of_known_copies =
        [("max-requests", options.max_requests.is_some()), ("memory-limit", options.memory_limit.is_some())];
    let first = |given: &[(&'static str, bool)]| given.iter().find(|(_, is_given)| *is_given).map(|(key, _)| *key);
    if let Some(key) = first(&of_interpreters) {
        let text = format!("`{key}` is for applications that are not programs of their own: leave it out");
        return Err(SettingError::new(key, text));
    }
    match first(&of_known_copies) {
        Some(key) if options.bind == BindChoice::Inherit => {
            let text = format!(
                "`{key}` needs `bind` port or unix: with one socket for all copies, the server does not know which of them answers"
            );
            Err(SettingError::new(key, text))
        }
        _ => Ok(()),
    }
}

/// Refuses settings that mean nothing for this interface.
fn meaningless(options: &ApplicationOptions, interface: InterfaceChoice) -> Result<(), SettingError> {
    const RUBY: &str = "is for Ruby only";
    const ONE: &str = "is not for PHP, whose workers respond to one request at a time: set `processes`";
    const WEBSOCKETS: &str = "is for ASGI's WebSockets only";
    const SYNCHRONOUS: &str = "is not for ASGI, whose event loop waits for parts of a response without blocking others";
    let (is_ruby, is_asgi) = (interface == InterfaceChoice::Rack, interface == InterfaceChoice::Asgi);
    let given = [
        ("out-of-band-gc", options.out_of_band_gc.is_some(), is_ruby, RUBY),
        (
            "threads",
            options.threads.is_some_and(|threads| threads.get() > 1),
            interface != InterfaceChoice::PhpWorker,
            ONE,
        ),
        ("app-transfer-timeout", options.app_transfer_timeout.is_some(), !is_asgi, SYNCHRONOUS),
        ("websocket-ping", options.websocket_ping.is_some(), is_asgi, WEBSOCKETS),
        ("max-message", options.max_message.is_some(), is_asgi, WEBSOCKETS),
        ("websocket-compression", options.websocket_compression.is_some(), is_asgi, WEBSOCKETS),
    ];
    match given.iter().find(|(_, is_given, is_right, _)| *is_given && !is_right) {
        Some((key, _, _, why)) => Err(SettingError::new(key, format!("`{key}` {why}: leave it out"))),
        None => Ok(()),
    }
}

/// The reason why workers cannot be reforked.
fn refuse_reforking(options: &ApplicationOptions, interface: InterfaceChoice) -> Result<(), SettingError> {
    let text = match interface {
        InterfaceChoice::Rack if !options.preload => "`refork-after` needs `preload`: write both, or none",
        InterfaceChoice::Rack if options.threads.is_some_and(|threads| threads.get() > 1) => {
            "`refork-after` is for one request at a time: leave out `threads`, since a fork takes one thread along only"
        }
        InterfaceChoice::Rack => return Ok(()),
        _ => "`refork-after` is for Ruby only: leave it out",
    };
    Err(SettingError::new("refork-after", text))
}

/// The interface that a name stands for. By Django's custom, a project has a module named for each of Python's.
#[must_use]
pub fn interface_by_name(text: &str) -> Option<InterfaceChoice> {
    match text.rsplit_once('.') {
        Some((_, "ru")) => return Some(InterfaceChoice::Rack),
        Some((_, "psgi")) => return Some(InterfaceChoice::Psgi),
        _ => {}
    }
    let place = text.split_once(':').map_or(text, |(place, _)| place);
    let module = place.strip_suffix(".py").unwrap_or(place);
    match module.rsplit(['.', '/']).next() {
        Some("asgi") => Some(InterfaceChoice::Asgi),
        Some("wsgi") => Some(InterfaceChoice::Wsgi),
        _ => (place != text || module != place).then_some(InterfaceChoice::Wsgi),
    }
}

/// After how many requests workers are replaced.
///
/// # Errors
///
/// Numbers that contradict each other, and the remedy.
pub fn lifetime(options: &ApplicationOptions) -> Result<(), SettingError> {
    let wrong = |text| Err(SettingError::new("min-requests", text));
    match (options.min_requests, options.max_requests) {
        (Some(_), None) => wrong("`min-requests` needs `max-requests`: write both, or none"),
        (Some(least), Some(most)) if least.get() > most.get() => {
            wrong("`min-requests` is more than `max-requests`: write a smaller number")
        }
        _ => Ok(()),
    }
}

/// Only a plain path can be compared with those of requests.
fn root_path(options: &ApplicationOptions) -> Result<(), SettingError> {
    let Some(written) = &options.root_path else { return Ok(()) };
    let root = written.trim_end_matches('/');
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    if (root.is_empty() || root.starts_with('/')) && !root.contains("//") && root.bytes().all(is_plain) {
        return Ok(());
    }
    let text = format!("`root-path`: {written:?} is not a path of letters, digits and -._~: write one as in /shop");
    Err(SettingError::new("root-path", text))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        options::without_options,
        values::{Count, Span},
    };

    const INTERFACES: [InterfaceChoice; 5] = [
        InterfaceChoice::Rack,
        InterfaceChoice::Psgi,
        InterfaceChoice::Wsgi,
        InterfaceChoice::Asgi,
        InterfaceChoice::PhpWorker,
    ];

    #[test]
    fn settings_of_other_interfaces_are_refused() {
        let of_options = |change: fn(&mut ApplicationOptions)| {
            let mut options = without_options::<ApplicationOptions>();
            change(&mut options);
            INTERFACES.map(|choice| {
                let refused = interface(&options, choice);
                refused.map_or_else(|error| error.to_string().contains(": leave it out"), |()| false)
            })
        };
        assert_eq!(of_options(|_| {}), [false; 5]);
        let transfer = of_options(|options| options.app_transfer_timeout = Some(Span(Duration::from_secs(9))));
        assert_eq!(transfer, [false, false, false, true, false]);
        assert_eq!(of_options(|options| options.websocket_compression = Some(false)), [true, true, true, false, true]);
        let threads = of_options(|options| options.threads = Some(Count::of(2)));
        assert_eq!(threads, [false, false, false, false, true]);
        let collections = of_options(|options| options.out_of_band_gc = Some(Count::of(5)));
        assert_eq!(collections, [false, true, true, true, true]);
    }

    #[test]
    fn names_say_which_interface() {
        let cases = [
            ("config.ru", Some(InterfaceChoice::Rack)),
            ("a.asgi/config.ru", Some(InterfaceChoice::Rack)),
            ("site/app.psgi", Some(InterfaceChoice::Psgi)),
            ("main:app", Some(InterfaceChoice::Wsgi)),
            ("main:make(\"a.asgi\")", Some(InterfaceChoice::Wsgi)),
            ("main.py", Some(InterfaceChoice::Wsgi)),
            ("site/main.py:app", Some(InterfaceChoice::Wsgi)),
            ("project.wsgi", Some(InterfaceChoice::Wsgi)),
            ("project.wsgi:application", Some(InterfaceChoice::Wsgi)),
            ("project.asgi", Some(InterfaceChoice::Asgi)),
            ("project.asgi:application", Some(InterfaceChoice::Asgi)),
            ("project/asgi.py", Some(InterfaceChoice::Asgi)),
            ("asgi.py:app", Some(InterfaceChoice::Asgi)),
            ("myasgi:app", Some(InterfaceChoice::Wsgi)),
            ("main", None),
            ("server.js", None),
        ];
        for (name, expected) in cases {
            assert_eq!(interface_by_name(name), expected, "{name}");
        }
    }
}
