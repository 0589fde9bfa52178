//! A folder with a handler, and what requests to it get.

use std::{fs, path::PathBuf};

use serow_files::{CacheLimits, Files, FilesSettings};
use serow_message::{Body, Method, Request, Response, Target};
use serow_webdav::{Dav, DavSite, WriteSettings};
use tempfile::TempDir;
use tokio::{
    runtime::{Builder, Runtime},
    task::LocalSet,
};

/// A folder that clients may change, and its handler.
pub(crate) struct Site {
    place: TempDir,
    dav: Dav,
    runtime: Runtime,
}

impl Site {
    pub(crate) fn new(settings: impl Into<WriteSettings>) -> Self {
        Self::with(settings, "", FilesSettings::default())
    }

    pub(crate) fn with(write: impl Into<WriteSettings>, prefix: &str, settings: FilesSettings) -> Self {
        Self::in_site(write, prefix, settings, DavSite::default())
    }

    pub(crate) fn in_site(
        write: impl Into<WriteSettings>,
        prefix: &str,
        settings: FilesSettings,
        site: DavSite,
    ) -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("root")).unwrap();
        let cache = CacheLimits { fresh_for: 0, ..CacheLimits::default() };
        let files = Files::with_settings(place.path().join("root"), FilesSettings { cache, ..settings }).unwrap();
        let dav = Dav::in_site(files, write, prefix.as_bytes(), site);
        Self { place, dav, runtime: Builder::new_current_thread().build().unwrap() }
    }

    /// The path of something in the folder; `../` leads out of it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join("root").join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    /// The content of a file; nothing if there is no file.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// The names in a folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The response to `METHOD /path`, with fields in the form `Name: value`, and its body.
    pub(crate) fn ask(&self, line: &str, fields: &[&str], body: impl Into<Body>) -> (Response, String) {
        let (method, target) = line.split_once(' ').unwrap();
        let mut request = Request::get("/");
        request.method = Method::from_bytes(method.as_bytes()).unwrap();
        request.target = Target::parse(target.to_owned().into(), false).unwrap();
        request.headers.append("host", "h").unwrap();
        for field in fields {
            let (name, value) = field.split_once(": ").unwrap();
            request.headers.append(name, value).unwrap();
        }
        request.body = body.into();
        self.runtime.block_on(async {
            let mut response = self.dav.respond(request).await;
            let body = std::mem::take(&mut response.body).collect(1 << 20).await.unwrap();
            (response, String::from_utf8(body.to_vec()).unwrap())
        })
    }

    /// The statuses of uploads of these bodies, each to a name of its own.
    pub(crate) fn upload_at_once(&self, bodies: Vec<Body>) -> Vec<u16> {
        let tasks = LocalSet::new();
        let uploads = bodies.into_iter().enumerate().map(|(number, body)| {
            let mut request = Request::get("/");
            request.method = Method::PUT;
            request.target = Target::parse(format!("/{number}").into(), false).unwrap();
            request.body = body;
            tasks.spawn_local(self.dav.respond(request))
        });
        let uploads: Vec<_> = uploads.collect();
        self.runtime.block_on(tasks.run_until(async {
            let mut statuses = Vec::new();
            for upload in uploads {
                statuses.push(upload.await.unwrap().status.as_u16());
            }
            statuses
        }))
    }

    /// Its status.
    pub(crate) fn status(&self, line: &str, fields: &[&str], body: &'static str) -> u16 {
        self.ask(line, fields, body).0.status.as_u16()
    }

    /// The value of a field of its response; empty if there is none.
    pub(crate) fn field(&self, line: &str, fields: &[&str], name: &str) -> String {
        self.ask(line, fields, "").0.headers.get_str(name).unwrap_or_default().to_owned()
    }
}
