//! Help, version and manual.

use std::{fs, io::Read, process::Stdio};

use crate::running::{output, serow};

#[test]
fn help_goes_to_standard_output() {
    let cases: [(&[&str], &str); 6] = [
        (&["--help"], "Usage: serow [DIR] [OPTIONS]"),
        (&["help"], "Commands:\n  files"),
        (&["files", "--help"], "--access-log-format <FORMAT>"),
        (&["help", "files"], "--access-log-format <FORMAT>"),
        (&["files", "-h"], "Examples:\n  serow\n"),
        (&["--version"], concat!("serow ", env!("CARGO_PKG_VERSION"))),
    ];
    for (arguments, expected) in cases {
        let output = output(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(expected), "{text}");
        assert!(output.stderr.is_empty());
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_reader_may_close_the_help_before_its_end() {
    for arguments in [&["--help"][..], &["files", "--help"], &["--version"], &["manual"], &["schema"]] {
        let mut child = serow(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(child.wait().unwrap().code().is_some_and(|code| code <= 1 || code == 141));
    }
}

/// Its commands include `serow bench`.
#[cfg(feature = "bench")]
#[test]
fn the_manual_is_up_to_date() {
    let manual = String::from_utf8(output(["manual"]).stdout).unwrap();
    let kept = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual.md")).unwrap_or_default();
    assert!(kept == manual, "regenerate it with: cargo run -p serow-cli --features all -- manual > docs/manual.md");
}

#[cfg(not(feature = "bench"))]
#[test]
fn the_load_generator_is_in_packages() {
    for arguments in [&["bench", "http://127.0.0.1/"][..], &["bench", "--help"], &["bench"]] {
        let output = output(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("does not contain the load generator"), "{text}");
        assert!(text.contains("--features bench"), "{text}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn the_reference_of_settings_files_is_up_to_date() {
    let reference = String::from_utf8(output(["reference"]).stdout).unwrap();
    let kept = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md")).unwrap_or_default();
    assert!(kept == reference, "regenerate it with: cargo run -p serow-cli -- reference > docs/settings.md");
}

#[test]
fn a_reader_that_goes_away_ends_a_command_silently() {
    for command in ["schema", "reference", "manual"] {
        let (reader, writer) = std::io::pipe().unwrap();
        // Without a reader, the first byte fails, not only those that the pipe has no room for.
        drop(reader);
        let output = serow([command]).stdout(writer).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(141), &b""[..]), "{command}");
    }
}
