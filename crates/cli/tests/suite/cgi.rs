//! CGI programs of a settings file, started by the launcher.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use rustix::process::{Pid, Signal, kill_process};
use serow_requirements::requires;
use tempfile::TempDir;

use crate::running::{Running, eventually, output, serow};

/// A server whose only site has these keys and routes.
fn start(folder: &Path, site: &str) -> Running {
    fs::write(folder.join("serow.toml"), format!("listen = \"127.0.0.1:0\"\nworkers = 1\n[[site]]\n{site}")).unwrap();
    let mut command = serow(["run", "-c"]);
    command.arg(folder.join("serow.toml")).env("SECRET", "of the server");
    Running::of(command)
}

/// A folder with an executable script at `bin/a`.
fn with_program(text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    fs::write(folder.path().join("bin/a"), format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(folder.path().join("bin/a"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Sockets that a process passes on to all programs that it starts: another test may have one open for its own server.
fn inherited_sockets(process: u32) -> Vec<String> {
    let names = fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
    let open = names.filter_map(|entry| {
        let target = fs::read_link(entry.path()).ok()?.to_str()?.to_owned();
        let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{}", entry.file_name().to_str()?)).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?.trim();
        let closes = u32::from_str_radix(flags, 8).ok()? & O_CLOEXEC != 0;
        (target.starts_with("socket:") && !closes).then_some(target)
    });
    open.collect()
}

/// open(2).
const O_CLOEXEC: u32 = 0o200_0000;

#[test]
fn a_program_runs_below_the_path_of_its_route_and_its_errors_are_in_the_log() {
    let folder = with_program(
        "printf '\\n%s %s %s %s|%s|' \"$SCRIPT_NAME\" \"$PATH_INFO\" \"$COLOUR\" \"${SECRET-none}\" \
         \"$(ls -l /proc/$$/fd | grep -o 'socket:.*')\"; echo 'it is wrong' >&2",
    );
    let site = "[[site.route]]\npath = \"/cgi-bin/*\"\ncgi = { root = \"bin\", env = [\"COLOUR=red\"] }\n";
    let server = start(folder.path(), site);
    let answer = server.get("/cgi-bin/a/b?c");
    // Nothing of the server: neither its environment nor its sockets.
    let parts: Vec<_> = answer.text().split('|').collect();
    let [variables, sockets, _] = parts[..] else { panic!("{}", answer.text()) };
    assert!(variables.ends_with("/cgi-bin/a /b red none"), "{variables}");
    let inherited = inherited_sockets(server.child.id());
    assert!(sockets.lines().all(|socket| inherited.iter().any(|other| other == socket)), "{sockets}");
    assert_eq!(server.get("/cgi-bin/none").status(), 404);
    server.line_with("GET /cgi-bin/a/b: it is wrong");
    let file = folder.path().join("serow.toml");
    let said = output(["check", "--request", "GET /cgi-bin/a/b", "-c", file.to_str().unwrap()]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("bin/a runs, PATH_INFO is /b"), "{said}");
}

#[test]
fn programs_end_with_a_generation_that_is_killed() {
    let folder = with_program("printf '\\nbegun'; echo $$ >pid; exec sleep 1000");
    let server = start(folder.path(), "cgi = { root = \"bin\" }\n");
    let mut connection = server.connect();
    std::io::Write::write_all(&mut connection, b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let pid = eventually("a program", || {
        fs::read_to_string(folder.path().join("bin/pid")).ok().filter(|pid| pid.ends_with('\n'))
    });
    // The generation has started the program; the master starts another one.
    let status = fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    kill_process(Pid::from_raw(parent.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    eventually("its end", || fs::read_to_string(&stat).map_or(Some(()), |text| text.contains(") Z ").then_some(())));
}

fn git(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "init.defaultBranch=main"]);
    command.args(words).current_dir(folder).env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.output().unwrap()
}

#[test]
fn git_clones_and_pushes_through_git_http_backend() {
    requires!("program:git");
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let done = |words: &[&str]| {
        let output = git(folder, words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    };
    let backend = String::from_utf8(done(&["--exec-path"]).stdout).unwrap();
    done(&["init", "--bare", "repositories/project.git"]);
    fs::write(folder.join("users"), "ann:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n").unwrap();
    let server = start(
        folder,
        &format!(
            "[[site.route]]\npath = \"/git/*\"\nmax-body = \"100M\"\nbasic = {{ file = \"users\" }}\n\
             cgi = {{ program = \"{}/git-http-backend\", env = [\"GIT_PROJECT_ROOT={}\", \"GIT_HTTP_EXPORT_ALL=1\"] }}\n",
            backend.trim(),
            folder.join("repositories").display()
        ),
    );
    let url = |user: &str| format!("http://{user}{}/git/project.git", server.address());
    assert!(!git(folder, &["clone", &url(""), "refused"]).status.success());
    done(&["clone", &url("ann:test@"), "one"]);
    // More than one buffer of a body, which git sends in chunks beyond a megabyte.
    let large: Vec<u8> =
        (0..400_000_u64).flat_map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    fs::write(folder.join("one/large"), &large).unwrap();
    done(&["-C", "one", "add", "large"]);
    done(&["-C", "one", "commit", "-m", "one"]);
    done(&["-C", "one", "push", "origin", "HEAD:refs/heads/main"]);
    done(&["clone", "--branch", "main", &url("ann:test@"), "two"]);
    assert!(fs::read(folder.join("two/large")).unwrap() == large);
}
