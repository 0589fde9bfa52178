//! The admin socket of a server whose settings name none, and how commands find it.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::{Command, Output, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::running::{Running, serow, site};
use tempfile::TempDir;

/// A folder with a settings file, which begins with this text.
fn folder_with(text: &str) -> TempDir {
    let folder = site();
    write_settings(folder.path(), text, "one");
    folder
}

fn write_settings(folder: &Path, text: &str, body: &str) {
    let site = format!("[[site.route]]\npath = \"/*\"\nrespond = {{ body = \"{body}\" }}\n");
    fs::write(folder.join("serow.toml"), format!("listen = \"127.0.0.1:0\"\nworkers = 2\n{text}\n[[site]]\n{site}"))
        .unwrap();
}

/// A command in this folder, with the sockets of all servers in another one.
fn command(arguments: &[&str], folder: &Path, sockets: &Path) -> Command {
    let mut command = serow(arguments);
    command.current_dir(folder).env("RUNTIME_DIRECTORY", sockets);
    command
}

fn run(arguments: &[&str], folder: &Path, sockets: &Path) -> Output {
    command(arguments, folder, sockets).output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn servers_without_admin_are_found_by_their_settings_files() {
    let above = tempfile::tempdir().unwrap();
    let sockets = above.path().join("sockets");
    let folders = [folder_with(""), folder_with("")];
    let mut servers: Vec<_> =
        folders.iter().map(|folder| Running::of(command(&["run"], folder.path(), &sockets))).collect();
    let names: Vec<_> = fs::read_dir(&sockets).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|name| name.metadata().unwrap().mode() & 0o777 == 0o600), "{names:?}");
    for (number, (server, folder)) in servers.iter().zip(&folders).enumerate() {
        (0..=number).for_each(|_| assert_eq!(server.get("/").text(), "one"));
        let file = folder.path().join("serow.toml");
        for (arguments, current) in [
            (&["status", "--json"][..], folder.path()),
            (&["status", "--json", "-c", file.to_str().unwrap()], above.path()),
        ] {
            let output = run(arguments, current, &sockets);
            let status: serde_json::Value =
                serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", errors(&output)));
            assert_eq!(status["requests"]["total"], number + 1, "{arguments:?}");
        }
        assert!(run(&["reload"], folder.path(), &sockets).status.success());
    }
    let [folder, other] = &folders;
    assert!(run(&["stop"], folder.path(), &sockets).status.success());
    assert_eq!(servers[0].child.wait().unwrap().code(), Some(0));
    let output = run(&["reload"], folder.path(), &sockets);
    let (line, expected) = (
        errors(&output),
        "serow: no server of serow.toml is running, or another user started it: nothing \
                            listens on unix:",
    );
    assert!(line.starts_with(expected) && line.contains(sockets.to_str().unwrap()), "{line}");
    assert!(line.contains("start it with 'serow run -c serow.toml'"), "{line}");
    assert_eq!(output.status.code(), Some(1));
    assert!(run(&["status"], other.path(), &sockets).status.success());
}

#[test]
fn off_opens_no_socket_and_commands_say_so() {
    let above = tempfile::tempdir().unwrap();
    let folder = folder_with("admin = \"off\"");
    let _server = Running::of(command(&["run"], folder.path(), above.path()));
    assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
    let output = run(&["status"], folder.path(), above.path());
    assert!(errors(&output).starts_with("serow: serow.toml has admin = \"off\": remove it"), "{}", errors(&output));
}

#[test]
fn an_unusable_folder_for_the_socket_is_a_warning() {
    let above = tempfile::tempdir().unwrap();
    let (file, open) = (above.path().join("file"), above.path().join("open"));
    fs::write(&file, "").unwrap();
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    for (sockets, expected) in [(file, "/file: File exists"), (open, "others may write to ")] {
        let folder = folder_with("");
        let mut server = command(&["run"], folder.path(), &sockets).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
        let lines: Vec<_> = lines.take_while(|line| !line.contains("Serving ")).collect();
        kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
        assert_eq!(server.wait().unwrap().code(), Some(0));
        let warning = lines.iter().find(|line| line.contains("the admin socket is not open"));
        let warning = warning.unwrap_or_else(|| panic!("{}", lines.join("\n")));
        assert!(warning.contains(expected), "{warning}");
    }
}

#[test]
fn after_a_reload_no_request_gets_an_old_response() {
    let above = tempfile::tempdir().unwrap();
    let folder = folder_with("");
    let server = Running::of(command(&["run"], folder.path(), above.path()));
    for number in 0..20 {
        let body = format!("version {number}");
        // The port stays that of the first start: port 0 is the same address.
        write_settings(folder.path(), "", &body);
        let output = run(&["reload"], folder.path(), above.path());
        assert!(output.status.success(), "{}", errors(&output));
        assert_eq!(server.get("/").text(), body);
    }
}
