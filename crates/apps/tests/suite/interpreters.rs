//! Versions of the installed interpreters.

use crate::support::settings;
use serow_apps::{Interface, Interpreter};
use serow_requirements::requires;

#[test]
fn interpreters_report_their_version() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for (interface, expected) in [
        (Interface::Rack, "ruby "),
        (Interface::Psgi, "perl 5."),
        (Interface::Wsgi, "Python 3."),
        (Interface::Asgi, "Python 3."),
        (Interface::PhpWorker, "PHP 8."),
    ] {
        let (settings, _folder) = settings(interface, "app", "");
        let version = settings.interpreter_version().unwrap();
        assert!(version.starts_with(expected) && !version.contains('\n'), "{version}");
        assert_eq!(version.contains(" with Rack "), interface == Interface::Rack, "{version}");
    }
}

#[test]
fn missing_interpreters_and_libraries_are_reported() {
    requires!("ruby:rack");
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", "");
    for (words, expected) in [
        (&["no-such-ruby"][..], "no-such-ruby cannot be started: No such file or directory"),
        (
            &["ruby", "-e", "abort 'no gem'"],
            "ruby -e abort 'no gem' (as configured) cannot run the application (exit status: 1):\nno gem",
        ),
        (&[], " cannot be started: "),
    ] {
        settings.program.interpreter = Interpreter::from_command(words);
        let error = settings.interpreter_version().unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    drop(folder);
}
