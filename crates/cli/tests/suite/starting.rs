//! `serow app` while its application is loaded, and as process 1.

use std::{fs, process::Stdio};

use crate::running::{Running, eventually, serow};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serow_requirements::requires;

#[test]
fn signals_end_a_server_whose_application_is_being_loaded() {
    requires!("program:perl");
    let application = "open my $file, '>', 'loading' or die; ACTION; sub { [200, [], []] }";
    let cases: [(&str, &[&str]); 4] = [
        ("sleep 1000", &["app.psgi"]),
        ("sleep 1000", &["app.psgi", "--preload"]),
        ("exit 1", &["app.psgi"]),
        ("", &["--", "sh", "-c", "touch loading; exec sleep 1000"]),
    ];
    for (action, words) in cases {
        for signal in [Signal::TERM, Signal::INT] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("app.psgi"), application.replace("ACTION", action)).unwrap();
            let mut command = serow(["app", "--listen", "127.0.0.1:0", "--start-timeout", "1000s"]);
            command.args(words).current_dir(folder.path()).stderr(Stdio::null());
            let mut server = command.spawn().unwrap();
            eventually("the application is being loaded", || folder.path().join("loading").exists().then_some(()));
            kill_process(Pid::from_child(&server), signal).unwrap();
            let status = eventually("the server has ended", || server.try_wait().unwrap());
            assert_eq!(status.code(), Some(0), "{action} {words:?} {signal:?}");
        }
    }
}

#[test]
fn orphans_are_reaped_by_process_1() {
    requires!("program:perl", "program:unshare");
    if !geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Each request leaves an orphan that ends later; the answer counts the zombies that are there.
    let code = r#"
use POSIX ();
sub {
    if ($_[0]{PATH_INFO} eq '/zombies') {
        my @stats = map { open my $file, '<', $_ or (); $file ? scalar <$file> : () } glob '/proc/[0-9]*/stat';
        return [200, [], [scalar grep { /\) Z / } @stats]];
    }
    my $child = fork;
    if (!$child) {
        if (!fork) { select undef, undef, undef, 0.05; open my $file, '>>', 'ended'; syswrite $file, '.'; POSIX::_exit(5) }
        POSIX::_exit(0);
    }
    waitpid $child, 0;
    [200, [], ['.']];
}
"#;
    fs::write(folder.path().join("app.psgi"), code).unwrap();
    let serow = serow(["app", "app.psgi", "--processes", "1", "--listen", "127.0.0.1:0"]);
    let mut command = std::process::Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    command.arg(serow.get_program()).args(serow.get_args()).current_dir(folder.path());
    for (name, value) in serow.get_envs() {
        value.into_iter().for_each(|value| {
            command.env(name, value);
        });
    }
    let server = Running::of(command);
    for _ in 0..3 {
        assert_eq!(server.get("/").text(), ".");
    }
    let file = folder.path().join("ended");
    eventually("the orphans have ended", || (fs::read(&file).ok()?.len() == 3).then_some(()));
    eventually("no zombie is there", || (server.get("/zombies").text() == "0").then_some(()));
}
