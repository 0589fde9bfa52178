//! Applications: how those who run the server see them.

use std::fs;

use crate::running::{Running, eventually, output, serow};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use serow_requirements::requires;
use tempfile::TempDir;

/// Its answers are the number of its process.
const PERL: &str = "sub { [200, [], [\"$$\"]] }\n";

struct Site {
    folder: TempDir,
    server: Running,
}

impl Site {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("app.psgi"), PERL).unwrap();
        let text = format!(
            "listen = \"127.0.0.1:0\"\nworkers = 1\nadmin = \"unix:{}\"\n[[site]]\n\
             app = {{ application = \"app.psgi\", processes = 2, max-requests = 3 }}\n",
            folder.path().join("admin.sock").display()
        );
        let file = folder.path().join("serow.toml");
        fs::write(&file, text).unwrap();
        let mut command = serow(["run", "-c"]);
        command.arg(file);
        Self { server: Running::of(command), folder }
    }

    fn act(&self, words: &[&str]) -> String {
        let file = self.folder.path().join("serow.toml").display().to_string();
        String::from_utf8(output(words.iter().copied().chain(["-c", &file])).stdout).unwrap()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.act(&["status", "--json"])).unwrap()
    }

    /// The status of the application, as soon as the condition holds.
    fn settled(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        eventually(what, || Some(self.status()["applications"][0].clone()).filter(&wanted))
    }

    /// Asks; which process answers.
    fn ask(&self) -> Pid {
        let answer = self.server.get("/");
        Pid::from_raw(answer.text().parse().unwrap()).unwrap()
    }
}

#[test]
fn workers_and_what_becomes_of_them_are_counted() {
    requires!("program:perl");
    let site = Site::start();
    let first = site.ask();
    let expected = json!({ "name": "app.psgi", "wanted": 2, "workers": 2, "busy": 0, "waiting": 0, "requests": 1,
                           "replaced": 0, "deaths": 0, "running": [] });
    let mut found = site.settled("the request is over", |application| application["busy"] == 0);
    for times in ["queue_times", "work_times"] {
        let classes = found.as_object_mut().unwrap().remove(times).unwrap();
        assert_eq!((classes.as_array().unwrap().len(), &classes[0]["count"]), (1, &json!(1)), "{times}");
    }
    assert_eq!(found, expected);
    kill_process(first, Signal::KILL).unwrap();
    site.settled("it is gone and replaced", |it| (&it["deaths"], &it["workers"]) == (&json!(1), &json!(2)));
    // Three requests are a life.
    let mut asked = 1;
    let replaced = eventually("one is replaced", || {
        site.ask();
        asked += 1;
        Some(site.status()["applications"][0].clone()).filter(|application| application["replaced"] != 0)
    });
    assert_eq!((&replaced["requests"], &replaced["deaths"]), (&json!(asked), &json!(1)));
    let text = site.act(&["status"]);
    assert!(
        text.contains("\napplications\n  application  workers  busy  waiting  requests  replaced  died\n"),
        "{text}"
    );
    assert!(text.contains("\n  app.psgi         "), "{text}");
    // The next generation counts on.
    assert_eq!(site.act(&["reload"]), "generation 2 serves in a new process: applications start again\n");
    site.ask();
    let after = site.settled("the old workers have left", |application| application["workers"] == 2);
    assert_eq!((&after["requests"], &after["deaths"]), (&json!(asked + 1), &json!(1)));
}

#[test]
fn the_first_line_and_a_failure_to_load_say_which_interpreter_it_is() {
    requires!("program:perl");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.psgi"), PERL).unwrap();
    fs::write(folder.path().join("broken.psgi"), "use No::Such::Module;").unwrap();
    let app = |file: &str| {
        let mut command = serow(["app"]);
        command.arg(folder.path().join(file)).args(["--listen", "127.0.0.1:0", "--workers", "1"]);
        command
    };
    let running = Running::of(app("app.psgi"));
    let expected = "app.psgi (psgi) with perl (as found in PATH) at http://";
    assert!(running.announcement.contains(expected), "{}", running.announcement);
    let broken = app("broken.psgi").output().unwrap();
    let said = String::from_utf8(broken.stderr).unwrap();
    assert!(said.contains("No/Such/Module.pm") && said.ends_with("\n(loaded by perl (as found in PATH))\n"), "{said}");
}
