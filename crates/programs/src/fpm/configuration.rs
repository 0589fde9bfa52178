//! The configuration with which php-fpm is started.

use std::{
    ffi::OsString,
    fmt::Write,
    path::{Path, PathBuf},
};

/// The text of the configuration of a master with a pool of one child for each of these sockets.
///
/// php-fpm's own limits stay off, since they count idle connections as running requests.
pub(crate) fn text(sockets: &[PathBuf]) -> String {
    let mut text = GLOBAL.to_owned();
    for (index, socket) in sockets.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = write!(text, "[{}]\nlisten = {}\n{POOL}", pool_name(index), socket.display());
    }
    text
}

/// The name of a pool, which its child has in its title.
pub(crate) fn pool_name(index: usize) -> String {
    format!("child{}", index + 1)
}

/// The arguments of php-fpm: this file, and these settings of `php.ini`.
pub(crate) fn arguments(file: &Path, is_root: bool, ini: &[(String, String)]) -> Vec<OsString> {
    let mut arguments = vec!["--nodaemonize".into(), "--fpm-config".into(), file.into()];
    if is_root {
        arguments.push("--allow-to-run-as-root".into());
    }
    for (name, value) in ini {
        arguments.push("-d".into());
        arguments.push(format!("{name}={}", quoted(value)).into());
    }
    arguments
}

/// The settings of `php.ini` that differ from those of the file: these, after the usual ones.
pub(crate) fn ini(is_development: bool, own: &[(String, String)]) -> Vec<(String, String)> {
    let usual = if is_development { DEVELOPMENT } else { PRODUCTION };
    usual.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).chain(own.iter().cloned()).collect()
}

/// A value for PHP's parser of ini files, which would take `~`, `|`, `;` and others for operators.
fn quoted(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:,".contains(&byte);
    match !value.is_empty() && value.bytes().all(is_plain) {
        true => value.to_owned(),
        false => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// Whether a name and a value of `php.ini` can be given to php-fpm on its command line, where `${…}` would be replaced by a
/// variable of the environment.
#[must_use]
pub fn is_ini_setting(name: &str, value: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && name.bytes().all(is_name) && !value.contains(['\n', '\r', '\0']) && !value.contains("${")
}

/// Messages of the master go to its standard error, which is a pipe: php-fpm opens its log by a path. Its default for the
/// length of messages, 1024 bytes, cuts backtraces.
const GLOBAL: &str = "[global]
daemonize = no
error_log = /proc/self/fd/2
log_level = notice
log_limit = 65536
";

/// Variables of the environment reach scripts unchanged (`env[…]` would replace `$` in their values), and so do lines that
/// they write to `php://stderr`.
const POOL: &str = "pm = static
pm.max_children = 1
clear_env = no
catch_workers_output = yes
decorate_workers_output = no
";

/// Without a `php.ini`, as in images of Docker, PHP shows errors to visitors and logs none.
const PRODUCTION: &[(&str, &str)] = &[("display_errors", "0"), ("log_errors", "1")];

/// A changed file is used at once.
const DEVELOPMENT: &[(&str, &str)] =
    &[("display_errors", "1"), ("display_startup_errors", "1"), ("log_errors", "1"), ("opcache.revalidate_freq", "0")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_socket_has_a_pool_with_one_child() {
        let text = text(&["/run/a/1.sock".into(), "/run/a/2.sock".into()]);
        let pools: Vec<_> =
            text.lines().filter(|line| line.starts_with("[child") || line.starts_with("listen")).collect();
        assert_eq!(pools, ["[child1]", "listen = /run/a/1.sock", "[child2]", "listen = /run/a/2.sock"]);
        assert_eq!(text.matches("pm.max_children = 1\n").count(), 2);
    }

    #[test]
    fn ini_values_are_quoted_where_php_would_change_them() {
        for (value, expected) in [
            ("256M", "256M"),
            ("", "\"\""),
            ("E_ALL & ~E_NOTICE", "\"E_ALL & ~E_NOTICE\""),
            ("a\"b\\c", "\"a\\\"b\\\\c\""),
            ("/var/tmp:/srv", "/var/tmp:/srv"),
        ] {
            assert_eq!(quoted(value), expected);
        }
        for (name, value, expected) in [
            ("memory_limit", "1G", true),
            ("opcache.jit", "tracing", true),
            ("memory limit", "1G", false),
            ("", "1", false),
            ("x", "a\nb", false),
            ("x", "${PATH}", false),
        ] {
            assert_eq!(is_ini_setting(name, value), expected, "{name}={value}");
        }
    }
}
