//! The text of a new settings file. Lines that begin with `#` and a letter, without a space, are settings for the reader
//! to enable; each of them is valid.

use super::{
    applications::{FoundApplication, Start},
    folder_contents::{FolderContents, Handler},
    python::DJANGO,
};

/// The text for a folder with these contents.
pub(super) fn of(contents: &FolderContents) -> String {
    let mut text = HEAD.to_owned();
    text.push_str(&section(contents));
    for other in &contents.others {
        text.push_str(&format!("\n# Instead of the site above:\n{}", explanation(other)));
        let lines = match other {
            Handler::Application(application) => app(application),
            Handler::Site(folder) => files(folder),
            Handler::Folder => files("."),
        };
        text.push_str(&format!("#[[site]]\n#{lines}\n"));
    }
    text
}

/// The site.
fn section(contents: &FolderContents) -> String {
    let explained = explanation(&contents.chosen);
    let mut text = format!("\n{explained}[[site]]                              # without hosts: every host\n");
    match (&contents.chosen, contents.assets) {
        (Handler::Application(application), _) if application.kind == DJANGO => {
            text.push_str(&format!("{}\n{DJANGO_FILES}#{}\n", app(application), app(application)));
        }
        (Handler::Application(application), _) if application.start == Start::Php(".".to_owned()) => {
            text.push_str(&format!("{HIDDEN_SETTINGS}{}\n", app(application)));
        }
        (Handler::Application(application), None) => text.push_str(&format!("{}\n", app(application))),
        (Handler::Application(application), Some(folder)) => {
            text.push_str(&format!(
                "{}\n\n# Serow itself serves the files in {folder} faster. For that, write these lines instead of the one above:\n",
                app(application)
            ));
            let (path, files) = match folder {
                "static" => ("/static/*", r#"root = ".", expires = "1h""#),
                _ => ("/*", r#"root = "public", missing = "next""#),
            };
            text.push_str(&format!("#[[site.route]]\n#path = \"{path}\"\n#files = {{ {files} }}\n"));
            text.push_str(&format!("#[[site.route]]\n#path = \"/*\"\n#{}\n", app(application)));
        }
        (Handler::Site("."), _) => text.push_str(&format!("{HIDDEN_SETTINGS}{}\n", files("."))),
        (Handler::Site(folder), _) => text.push_str(&format!(
            "{}\n\n# For a single-page application, whose paths have no files of their own, write instead of the line above:\n\
             #files = {{ root = \"{folder}\", spa = \"index.html\", expires = \"/assets/*=365d\" }}\n",
            files(folder)
        )),
        (Handler::Folder, _) => text.push_str(&format!(
            "{HIDDEN_SETTINGS}files = {{ root = \".\", listing = \"on\" }}       # \"off\": files are served, and not listed\n"
        )),
    }
    text
}

/// Explains a handler in lines of comments.
fn explanation(handler: &Handler) -> String {
    match handler {
        Handler::Application(application) => {
            let FoundApplication { file, kind, .. } = application;
            let note = match (&application.start, application.is_for_development) {
                (_, true) => {
                    "# Its script \"start\" is a server for development. For production, build the pages, and serve their folder."
                }
                (Start::Program(_), _) => "# It has to listen on the port in the environment variable PORT.",
                (Start::Php(_), _) => {
                    "# Serow starts php-fpm for it; processes = 8, behind a comma, sets the number of its processes."
                }
                (Start::Application(_), _) => {
                    "# It runs in one worker process per core; processes = 4, behind a comma, sets their number."
                }
            };
            format!("# The file {file} belongs to {kind}.\n{note}\n")
        }
        Handler::Site(".") => "# A static site: this folder has an index.html.\n".to_owned(),
        Handler::Site(folder) => format!("# A static site: {folder} has an index.html.\n"),
        Handler::Folder => "# The files of this folder. It has no index.html, so Serow lists them.\n".to_owned(),
    }
}

fn app(application: &FoundApplication) -> String {
    match &application.start {
        Start::Application(name) => format!("app = {{ application = {} }}", string(name)),
        Start::Php(root) => format!("php = {{ root = {} }}", string(root)),
        Start::Program(command) => {
            let words: Vec<_> = command.iter().map(|word| string(word)).collect();
            format!("app = {{ command = [{}] }}", words.join(", "))
        }
    }
}

fn files(folder: &str) -> String {
    format!("files = {{ root = {} }}", string(folder))
}

/// A string of TOML, whose escapes are those of JSON; there are no control characters in it.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The beginning of every file.
const HEAD: &str = r#"# Settings of Serow for this folder. Paths are relative to it.
#
#   serow check       checks this file
#   serow run         runs the server; Ctrl-C stops it
#   serow reference   explains every key
#
# A key is enabled by removing the # in front of it.

listen = "127.0.0.1:8080"             # this machine only; ":8080" is all its addresses
access-log = "-"                      # standard output; or a file, as in "/var/log/site.log"

# The user that the server runs as, if root starts it, after it has opened its ports and read its keys:
#user = "nobody"

# TLS: a certificate for development, which browsers warn about, or the files of a certificate and its key. The usual
# ports are then listen = ":443" and redirect-http = ":80".
#tls = "self-signed"
#tls = "site.pem,site.key"
#redirect-http = "127.0.0.1:8081"     # needs tls: sends browsers from http: to https:
#hsts = "5m"                          # needs tls; once everything works: "365d"

# The admin socket, for serow status, reload and stop; without this key, it is in /run/serow or $XDG_RUNTIME_DIR:
#admin = "unix:admin.sock"

# Limits and timeouts, with their defaults:
#max-body = "10M"
#head-timeout = "10s"
#body-timeout = "30s"
#idle-timeout = "75s"
#grace = "30s"
"#;

/// The static files of Django, which its own server sends during development only.
const DJANGO_FILES: &str = r#"
# Django sends its static files during development only. Serow sends them from the folder STATIC_ROOT of the project's
# settings, as in STATIC_ROOT = BASE_DIR / "staticfiles", when `python manage.py collectstatic` has filled it. For that,
# write these lines instead of the one above:
#[[site.route]]
#path = "/static/*"
#files = { root = "staticfiles", strip-prefix = true, expires = "1h" }
#[[site.route]]
#path = "/*"
"#;

/// Routes before the one for all files, where this file is among those that are served.
const HIDDEN_SETTINGS: &str = "\
[[site.route]]
path = \"/serow.toml\"
respond = { status = 404 }

[[site.route]]
path = \"/*\"
";
