//! A php-fpm, and a folder whose scripts it runs.
#![allow(unreachable_pub, reason = "each test needs a part of this")]

use std::{
    fs,
    ops::Deref,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serow_files::{Files, FilesSettings};
use serow_programs::php::{PhpFolder, PhpSettings};
use serow_proxy::{
    BufferSettings, CgiProtocol, CheckSettings, ForwardingSettings, Proxy, ServerSettings, Upstream, UpstreamSettings,
};
use tempfile::TempDir;

use crate::answering::{Answering, wait_until};

/// A server in front of a folder, until this is dropped.
pub struct Running {
    answering: Answering,
    pub upstream: Upstream,
    settings: PhpSettings,
    pub folder: TempDir,
    fpm: Child,
}

impl Running {
    /// Serves a folder with these files, whose names may have folders.
    pub fn new(files: &[(&str, &str)], settings: PhpSettings) -> Self {
        Self::with_children(2, None, files, settings)
    }

    /// The same, with so many children, each of which gets one request at a time, and health checks.
    pub fn with_children(
        children: u32,
        check: Option<CheckSettings>,
        files: &[(&str, &str)],
        settings: PhpSettings,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join("site").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let socket = folder.path().join("fpm.sock");
        let fpm = start(folder.path(), &socket, children);
        let address = format!("unix:{}", socket.display()).parse().unwrap();
        let server = ServerSettings { max_requests: Some(children), ..ServerSettings::new(address) };
        let upstream = UpstreamSettings {
            cgi_protocol: Some(CgiProtocol::Fastcgi),
            check,
            ..UpstreamSettings::new("php", vec![server])
        };
        let upstream = Upstream::new(upstream);
        let answering = Answering::new(handler(&folder.path().join("site"), &upstream, settings.clone()));
        Self { answering, upstream, settings, folder, fpm }
    }

    /// A handler for the same folder, for this thread.
    pub fn handler(&self) -> PhpFolder {
        handler(&self.site(), &self.upstream, self.settings.clone())
    }

    /// The folder of the scripts.
    pub fn site(&self) -> PathBuf {
        self.folder.path().join("site")
    }

    /// Replaces the file at this path.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.site().join(name), text).unwrap();
    }
}

impl Deref for Running {
    type Target = Answering;

    fn deref(&self) -> &Answering {
        &self.answering
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its children end with it: they hold the socket, and nobody else could end them.
        let _ = Command::new("kill").args(["-TERM", &self.fpm.id().to_string()]).status();
        let _ = self.fpm.wait();
    }
}

fn handler(root: &Path, upstream: &Upstream, settings: PhpSettings) -> PhpFolder {
    let forwarding = ForwardingSettings { buffering: Some(BufferSettings::default()), ..ForwardingSettings::default() };
    let index = vec!["index.html".to_owned()];
    let files = Files::with_settings(root, FilesSettings { index, ..FilesSettings::default() }).unwrap();
    PhpFolder::new(files, Proxy::new(upstream.clone(), forwarding), settings)
}

/// Debian's php-fpm, of whichever version.
fn program() -> PathBuf {
    let programs = fs::read_dir("/usr/sbin").unwrap().map(|entry| entry.unwrap().path());
    let is_fpm = |path: &PathBuf| path.file_name().unwrap().as_encoded_bytes().starts_with(b"php-fpm");
    programs.filter(is_fpm).max().unwrap()
}

fn start(folder: &Path, socket: &Path, children: u32) -> Child {
    let settings = folder.join("fpm.conf");
    let text = format!(
        "[global]\nerror_log = {}/fpm.log\ndaemonize = no\n[test]\nlisten = {}\npm = static\nping.path = /ping\npm.max_children = {children}\n\
         catch_workers_output = no\n",
        folder.display(),
        socket.display()
    );
    fs::write(&settings, text).unwrap();
    let mut command = Command::new(program());
    // As root, it wants a user, or this.
    command.args(["-n", "-R", "-F", "-d", "output_buffering=4096", "-d", "display_errors=0", "-y"]).arg(settings);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("php-fpm listens", || UnixStream::connect(socket).is_ok());
    child
}
