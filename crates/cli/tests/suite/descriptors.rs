//! Few descriptors: many folders, and starts that are refused.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::running::{Running, output, serow};
use tempfile::TempDir;

/// `serow run` with so many folders, in a process that may open so many descriptors.
struct Limited {
    folder: TempDir,
    server: Running,
}

impl Limited {
    fn start(descriptors: usize, folders: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..folders {
            let root = folder.path().join(number.to_string());
            fs::create_dir(&root).unwrap();
            fs::write(root.join("a.txt"), number.to_string()).unwrap();
            // Too large to be kept in memory: these files are kept open.
            fs::write(root.join("large.txt"), "x".repeat(LARGE)).unwrap();
        }
        write_settings(folder.path(), 2, folders);
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {descriptors}; exec \"$0\" run -c \"$1\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_serow")]).arg(folder.path().join("serow.toml"));
        Self { server: Running::of(command), folder }
    }

    /// Each folder serves both of its files.
    fn assert_served(&self, folders: usize) {
        for number in 0..folders {
            let (small, large) = (format!("/{number}/a.txt"), format!("/{number}/large.txt"));
            assert_eq!(self.server.get(&small).text(), number.to_string());
            assert_eq!(self.server.get(&large).body.len(), LARGE, "{large}");
        }
    }

    fn control(&self, command: &str) -> (Option<i32>, String) {
        let output = output([command, "-c", self.settings().to_str().unwrap()]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    }

    fn settings(&self) -> PathBuf {
        self.folder.path().join("serow.toml")
    }
}

fn write_settings(folder: &Path, workers: usize, folders: usize) {
    let admin = folder.join("admin.sock");
    let mut text =
        format!("listen = \"127.0.0.1:0\"\nadmin = \"unix:{}\"\nworkers = {workers}\n[[site]]\n", admin.display());
    for number in 0..folders {
        let files = format!("files = {{ root = \"{number}\", strip-prefix = true }}");
        writeln!(text, "[[site.route]]\npath = \"/{number}/*\"\n{files}").unwrap();
    }
    fs::write(folder.join("serow.toml"), text).unwrap();
}

#[test]
fn more_folders_than_descriptors_are_served() {
    let limited = Limited::start(128, FOLDERS);
    limited.assert_served(FOLDERS);
    let (code, said) = limited.control("reload");
    assert_eq!(code, Some(0), "{said}");
    limited.assert_served(FOLDERS);
    let (code, status) = limited.control("status");
    assert!(code == Some(0) && status.contains("1 done, 0 failed, 0 crashes"), "{status}");
}

#[test]
fn a_reload_that_needs_more_descriptors_fails_and_changes_nothing() {
    let limited = Limited::start(64, 1);
    write_settings(limited.folder.path(), 40, 1);
    let (code, said) = limited.control("reload");
    assert!(code == Some(1) && said.contains("more file descriptors than are open"), "{said}");
    limited.assert_served(1);
}

#[test]
fn with_too_few_descriptors_no_server_starts() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("0")).unwrap();
    write_settings(folder.path(), 2, 1);
    let settings = folder.path().join("serow.toml");
    let [settings, path] = [&settings, folder.path()].map(|path| path.to_str().unwrap());
    let of_files = format!("files {path} --listen 127.0.0.1:0 --workers 2");
    let of_proxy = "proxy 127.0.0.1:1 --listen 127.0.0.1:0 --workers 2".to_owned();
    for arguments in [of_files, of_proxy, format!("run -c {settings}"), "supervise -- true".to_owned()] {
        for limit in [8, 16] {
            let script = format!("ulimit -n {limit}; exec \"$0\" {arguments}");
            let output = Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_serow")]).output().unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{limit} {arguments}: {error}");
            assert!(error.contains("more file descriptors than are open"), "{limit} {arguments}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
    assert!(serow(["check", "-c", settings]).output().unwrap().status.success());
}

const FOLDERS: usize = 300;

/// More than the 64 KiB that are kept in memory.
const LARGE: usize = 70_000;
