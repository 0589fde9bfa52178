//! `serow config` and `serow route`, with an endpoint that keeps added files in memory.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    process::{Output, Stdio},
    sync::{Arc, Mutex, MutexGuard},
    thread,
};

use serow::{Body, HandlerExt, Method, Request, Response, Server, StatusCode, Stopper};
use tempfile::TempDir;

use crate::running::{output, serow};

/// An admin endpoint on a thread of this process; dropping it ends it.
struct Endpoint {
    folder: TempDir,
    files: Arc<Mutex<Files>>,
    stopper: Stopper,
}

/// The added files of the endpoint.
#[derive(Default)]
struct Files {
    /// Texts and versions, by their names.
    kept: BTreeMap<String, (String, u32)>,
    changes: u32,
    /// How often somebody else changes a file just before a change.
    disturbances: u32,
}

impl Endpoint {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("unix:{}/admin.sock", folder.path().display());
        let server = Server::new().listen(&address).workers(1).ignore_signals().bind().unwrap();
        let stopper = server.stopper();
        let files = Arc::new(Mutex::new(Files::default()));
        let answering = files.clone();
        let handler = move |mut request: Request| {
            let files = answering.clone();
            async move {
                let body = std::mem::take(&mut request.body).collect(1 << 20).await.unwrap();
                files.lock().unwrap().answer(&request, String::from_utf8(body.to_vec()).unwrap())
            }
        };
        thread::spawn(move || server.run(handler.boxed()));
        Self { folder, files, stopper }
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap()
    }

    fn text(&self, name: &str) -> Option<String> {
        self.files().kept.get(name).map(|(text, _)| text.clone())
    }

    /// The exit code of a command, and all that it prints.
    fn run(&self, words: &[&str]) -> (i32, String) {
        let admin = format!("unix:{}/admin.sock", self.folder.path().display());
        let Output { status, stdout, stderr } = output(words.iter().copied().chain(["--admin", &admin]));
        (status.code().unwrap(), String::from_utf8([stdout, stderr].concat()).unwrap())
    }

    #[track_caller]
    fn expect(&self, words: &[&str], code: i32, printed: &str) {
        assert_eq!(self.run(words), (code, printed.to_owned()), "{words:?}");
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stopper.stop();
        self.stopper.stop();
    }
}

impl Files {
    fn answer(&mut self, request: &Request, body: String) -> Response {
        let Some(name) = request.target.path().strip_prefix("/config/") else { return self.list() };
        if request.method == Method::GET {
            return match self.kept.get(name) {
                Some((text, version)) => Response::text(text.clone())
                    .with("content-type", "application/toml")
                    .with("etag", format!("\"{version}\"")),
                None => Response::plain_status(StatusCode::NOT_FOUND),
            };
        }
        if self.disturbances > 0 {
            self.disturbances -= 1;
            self.changes += 1;
            let (text, version) = self.kept.entry(name.to_owned()).or_default();
            writeln!(text, "# {}", self.changes).unwrap();
            *version = self.changes;
        }
        let version = self.kept.get(name).map(|(_, version)| format!("\"{version}\""));
        let is_wanted = match (request.headers.get_str("if-match"), request.headers.get_str("if-none-match")) {
            (Some(wanted), _) => version.as_deref() == Some(wanted),
            (None, Some(_)) => version.is_none(),
            (None, None) => true,
        };
        match (request.method.clone(), version) {
            (Method::DELETE, None) => Response::plain_status(StatusCode::NOT_FOUND),
            _ if !is_wanted => refusal(StatusCode::PRECONDITION_FAILED, "the file has another version\n"),
            (Method::DELETE, Some(_)) => {
                self.kept.remove(name);
                Response::text(SENTENCE)
            }
            _ if body.contains("wrong") => refusal(StatusCode::UNPROCESSABLE_ENTITY, WRONG),
            (_, before) => {
                self.changes += 1;
                self.kept.insert(name.to_owned(), (body, self.changes));
                let mut response = Response::text(SENTENCE).with("etag", format!("\"{}\"", self.changes));
                response.status = if before.is_none() { StatusCode::CREATED } else { StatusCode::OK };
                response
            }
        }
    }

    fn list(&self) -> Response {
        let file = |(name, (text, version)): (&String, &(String, u32))| {
            let etag = format!("\"{version}\"");
            serde_json::json!({ "name": name, "etag": etag, "bytes": text.len() })
        };
        let files: Vec<_> = self.kept.iter().map(file).collect();
        Response::text(serde_json::json!({ "files": files }).to_string())
    }
}

fn refusal(status: StatusCode, reason: &'static str) -> Response {
    let mut response = Response::text("").body(Body::from(reason));
    response.status = status;
    response
}

const SENTENCE: &str = "generation 1 serves with the new settings\n";

const WRONG: &str = "shop:1:1: there is no key `wrong`\n  |\n1 | wrong\n  | ^^^^^\n";

#[test]
fn files_are_added_listed_printed_and_removed() {
    let endpoint = Endpoint::start();
    let file = endpoint.folder.path().join("shop.toml");
    fs::write(&file, "# one\n").unwrap();
    let file = file.to_str().unwrap();
    endpoint.expect(&["config", "list"], 0, "the server has no added files\n");
    endpoint.expect(&["config", "get", "shop"], 1, "serow: the server has no added file \"shop\", nor any other\n");
    endpoint.expect(&["config", "put", "shop", file, "--new"], 0, SENTENCE);
    endpoint.expect(&["config", "put", "shop", file, "--new"], 1, "serow: the file has another version\n");
    endpoint.expect(&["config", "list"], 0, "  name  bytes\n  shop      6\n");
    let json = "{\"files\":[{\"name\":\"shop\",\"etag\":\"\\\"1\\\"\",\"bytes\":6}]}";
    endpoint.expect(&["config", "list", "--json"], 0, json);
    endpoint.expect(&["config", "get", "shop"], 0, "# one\n");
    endpoint.expect(&["config", "put", "shop", file, "--version", "7"], 1, "serow: the file has another version\n");
    endpoint.expect(&["config", "put", "shop", file, "--version", "1"], 0, SENTENCE);
    endpoint.expect(&["config", "put", "shop", file], 0, SENTENCE);
    endpoint.expect(&["config", "get", "a"], 1, "serow: the server has no added file \"a\"; it has shop\n");
    endpoint.expect(&["config", "delete", "a"], 1, "serow: the server has no added file \"a\"; it has shop\n");
    endpoint.expect(&["config", "delete", "shop", "--version", "1"], 1, "serow: the file has another version\n");
    endpoint.expect(&["config", "delete", "shop", "--version", "\"3\""], 0, SENTENCE);
    assert_eq!(endpoint.text("shop"), None);
}

#[test]
fn a_file_from_standard_input_is_added_and_errors_are_printed() {
    let endpoint = Endpoint::start();
    let admin = format!("unix:{}/admin.sock", endpoint.folder.path().display());
    let mut command = serow(["config", "put", "shop", "-", "--admin", &admin]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"# \xc3\xa4\n").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(endpoint.text("shop").as_deref(), Some("# ä\n"));
    let file = endpoint.folder.path().join("wrong.toml");
    fs::write(&file, "wrong").unwrap();
    let file = file.to_str().unwrap();
    endpoint.expect(&["config", "put", "shop", file], 1, &format!("serow: {WRONG}"));
    let missing = format!("{file}.none");
    let (code, printed) = endpoint.run(&["config", "put", "shop", &missing]);
    assert!(code == 2 && printed.starts_with(&format!("serow: cannot read {missing}: ")), "{printed}");
    let (code, printed) = endpoint.run(&["config", "put", "../shop", file]);
    assert!(code == 2 && printed.contains("cannot name an added file"), "{printed}");
}

#[test]
fn routes_are_added_listed_and_removed() {
    let endpoint = Endpoint::start();
    endpoint.expect(&["route", "add", "Shop.example", "127.0.0.1:9000"], 0, SENTENCE);
    endpoint.expect(&["route", "add", "shop.example/api", "unix:/run/app.sock"], 0, SENTENCE);
    endpoint.expect(
        &["route", "add", "shop.example/api/", "unix:/run/app.sock"],
        0,
        "shop.example/api leads there already\n",
    );
    endpoint.expect(&["route", "add", "*.example", "redirect:https://shop.example{path}"], 0, SENTENCE);
    endpoint.files().kept.insert("other".to_owned(), ("[[map]]\n".to_owned(), 100));
    let table = "  host          path  target
  *.example     /     redirect:https://shop.example{path}
  shop.example  /api  unix:/run/app.sock
  shop.example  /     127.0.0.1:9000
other added files, for 'serow config get': other
";
    endpoint.expect(&["route", "list"], 0, table);
    endpoint.expect(&["route", "remove", "shop.example"], 0, SENTENCE);
    endpoint.expect(&["route", "remove", "shop.example"], 1, "serow: there is no route shop.example; there are /api\n");
    assert!(endpoint.text("shop.example").is_some());
    endpoint.expect(&["route", "remove", "shop.example/api"], 0, SENTENCE);
    assert_eq!(endpoint.text("shop.example"), None);
    let (code, printed) = endpoint.run(&["route", "add", "shop.example:80", "127.0.0.1:9000"]);
    assert!(code == 2 && printed.starts_with("serow: HOST[/PATH]: \"shop.example:80\": "), "{printed}");
}

#[test]
fn routes_are_changed_again_where_somebody_else_was_first() {
    let endpoint = Endpoint::start();
    endpoint.files().disturbances = 4;
    endpoint.expect(&["route", "add", "shop.example", "127.0.0.1:9000"], 0, SENTENCE);
    let text = endpoint.text("shop.example").unwrap();
    assert!(text.starts_with("[[site]]") && (1..=4).all(|change| text.contains(&format!("# {change}\n"))), "{text}");
    endpoint.files().disturbances = 3;
    endpoint.expect(&["route", "remove", "shop.example"], 0, SENTENCE);
    endpoint.files().disturbances = 5;
    let busy = "serow: the added file shop.example changes all the time: try again\n";
    endpoint.expect(&["route", "add", "shop.example", "127.0.0.1:9000"], 1, busy);
    assert!(!endpoint.text("shop.example").unwrap().contains("site"));
}
