//! What the interpreters that are installed say of themselves.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod support;

use serow_apps::{Interface, Interpreter};
use support::settings;

#[test]
fn interpreters_say_which_version_they_are() {
    for (interface, expected) in [
        (Interface::Rack, "ruby "),
        (Interface::Psgi, "perl 5."),
        (Interface::Wsgi, "Python 3."),
        (Interface::Asgi, "Python 3."),
    ] {
        let (settings, _folder) = settings(interface, "app", "");
        let version = settings.interpreter_version().unwrap();
        assert!(version.starts_with(expected) && !version.contains('\n'), "{version}");
        assert_eq!(version.contains(" with Rack "), interface == Interface::Rack, "{version}");
    }
}

#[test]
fn those_that_are_not_there_or_lack_something_say_so() {
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", "");
    for (words, expected) in [
        (&["no-such-ruby"][..], "no-such-ruby cannot be started: No such file or directory"),
        (
            &["ruby", "-e", "abort 'no gem'"],
            "ruby -e abort 'no gem' (as configured) cannot run it (exit status: 1):\nno gem",
        ),
        (&[], " cannot be started: "),
    ] {
        settings.program.interpreter = Interpreter::from_command(words);
        let error = settings.interpreter_version().unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    drop(folder);
}
