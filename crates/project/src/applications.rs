//! Applications in a folder, and the commands that run them.

use std::path::{Path, PathBuf};

use super::{php, programs, python};

/// An application in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundApplication {
    /// The file by which it was found.
    pub file: String,
    /// Its kind, as in `a Rack application`.
    pub kind: &'static str,
    /// How it is started.
    pub start: Start,
    /// Whether this runs a server for development, which builds pages while a browser waits.
    pub is_for_development: bool,
}

/// How an application is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// As an application of this name, in workers.
    Application(String),
    /// As a program that serves HTTP.
    Program(Vec<String>),
    /// By php-fpm, which runs the scripts of this folder below.
    Php(String),
}

impl FoundApplication {
    pub(super) fn new(file: &str, kind: &'static str, start: Start) -> Self {
        Self { file: file.to_owned(), kind, start, is_for_development: false }
    }

    /// The command that runs it, for a shell in this folder, or anywhere if none is given.
    #[must_use]
    pub fn command(&self, folder: Option<&Path>) -> String {
        let place = folder.map(|folder| format!(" --chdir {}", quoted(&folder.display().to_string())));
        let place = place.unwrap_or_default();
        match &self.start {
            Start::Application(name) if name.contains('.') && !name.contains(':') => {
                // A file, whose folder is the application's.
                let path = folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
                format!("serow app {}", quoted(&path.display().to_string()))
            }
            Start::Application(name) => format!("serow app {}{place}", quoted(name)),
            Start::Php(_) => {
                let path = folder.map_or_else(|| ".".to_owned(), |folder| folder.display().to_string());
                format!("serow app {}", quoted(&path))
            }
            Start::Program(command) => {
                let words: Vec<_> = command.iter().map(|word| quoted(word)).collect();
                format!("serow app{place} -- {}", words.join(" "))
            }
        }
    }
}

/// The applications in a folder, the most likely one first.
#[must_use]
pub fn applications(folder: &Path) -> Vec<FoundApplication> {
    let mut found = Vec::new();
    if folder.join("config.ru").is_file() {
        let kind = match folder.join("config/application.rb").is_file() {
            true => "a Rails application",
            false => "a Rack application",
        };
        found.push(FoundApplication::new("config.ru", kind, Start::Application("config.ru".to_owned())));
    }
    if folder.join("app.psgi").is_file() {
        found.push(FoundApplication::new("app.psgi", "a PSGI application", Start::Application("app.psgi".to_owned())));
    }
    found.extend(php::application(folder));
    found.extend(python::applications(folder));
    found.extend(programs::procfile(folder));
    found.extend(programs::package(folder));
    found
}

/// A word for a shell.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A folder with these files.
    pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn commands(files: &[(&str, &str)]) -> Vec<String> {
        applications(folder(files).path()).iter().map(|found| found.command(None)).collect()
    }

    #[test]
    fn applications_are_found_by_their_files() {
        let manage = "os.environ.setdefault('DJANGO_SETTINGS_MODULE', \"shop.settings\")\n";
        for (files, expected) in [
            (&[("config.ru", "")][..], &["serow app config.ru"][..]),
            (&[("app.psgi", "")], &["serow app app.psgi"]),
            (&[("index.php", ""), ("composer.json", "")], &["serow app ."]),
            (&[("public/index.php", ""), ("artisan", "")], &["serow app ."]),
            (&[("contact.php", ""), ("index.html", "")], &[]),
            (&[("manage.py", manage), ("shop/wsgi.py", "")], &["serow app shop.wsgi:application"]),
            (&[("manage.py", manage), ("shop/asgi.py", "")], &["serow app shop.asgi:application"]),
            (&[("manage.py", manage)], &[]),
            (&[("manage.py", "DJANGO_SETTINGS_MODULE = '../../etc'")], &[]),
            (
                &[("manage.py", "'DJANGO_SETTINGS_MODULE', 'config.settings.local'"), ("config/wsgi.py", "")],
                &["serow app config.wsgi:application"],
            ),
            (&[("app.py", "import flask\napp = flask.Flask(__name__)\n")], &["serow app app:app"]),
            (&[("main.py", "from fastapi import FastAPI\napi = FastAPI(title='a')\n")], &["serow app main:api"]),
            (&[("main.py", "def make():\n    app = FastAPI()\n")], &[]),
            (&[("wsgi.py", "def application(environ, start_response):\n")], &["serow app wsgi:application"]),
            (&[("asgi.py", "async def app(scope, receive, send):\n")], &["serow app asgi:app"]),
            (&[("app.py", "print('hello')\n")], &[]),
            (&[("package.json", r#"{"scripts": {"start": "node server.js"}}"#)], &["serow app -- npm start"]),
            (
                &[("package.json", r#"{"scripts": {"start": "node a.js"}}"#), ("yarn.lock", "")],
                &["serow app -- yarn start"],
            ),
            (&[("package.json", r#"{"scripts": {"test": "jest"}}"#)], &[]),
            (&[("package.json", "{")], &[]),
            (
                &[("Procfile", "# a\nweb: bin/web -p $PORT\nworker: x\n")],
                &["serow app -- sh -c 'exec bin/web -p $PORT'"],
            ),
            (&[("Procfile", "worker: x\n")], &[]),
            (
                &[("config.ru", ""), ("Procfile", "web: puma\n"), ("package.json", r#"{"scripts": {"start": "x"}}"#)],
                &["serow app config.ru", "serow app -- sh -c 'exec puma'", "serow app -- npm start"],
            ),
        ] {
            assert_eq!(commands(files), expected, "{files:?}");
        }
    }

    #[test]
    fn commands_for_another_folder_name_it() {
        let here = Path::new("/srv/my shop");
        for (start, expected) in [
            (Start::Application("config.ru".to_owned()), "serow app '/srv/my shop/config.ru'"),
            (Start::Application("a.wsgi:b".to_owned()), "serow app a.wsgi:b --chdir '/srv/my shop'"),
            (Start::Php("public".to_owned()), "serow app '/srv/my shop'"),
            (Start::Program(vec!["it's".to_owned()]), r"serow app --chdir '/srv/my shop' -- 'it'\''s'"),
        ] {
            assert_eq!(FoundApplication::new("", "", start).command(Some(here)), expected);
        }
    }
}
