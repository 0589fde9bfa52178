//! A master and its generations in processes of their own, since a master reaps all children of its process.

use std::{
    env, fs, mem,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use serow_supervisor::master::{
    self, AdminPlace, Adoption, AdoptionCause, ChangeError, ChangeRequests, Changed, CommandAnswer, Control, Duties,
    Events, GenerationTerms, MasterSettings, Orders, Parent, ProcessOfReload, Reloaded, Report, StopReason, Wait,
    WantedProcess,
};
use tokio::runtime::{Builder, Runtime};

#[test]
fn the_serving_process_adopts_what_it_can() {
    match env::var_os(FOLDER) {
        None => {
            let folder = tempfile::tempdir().unwrap();
            let mut command = test_process();
            command.env(FOLDER, folder.path());
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        }
        Some(folder) if env::var_os(GENERATION).is_none() => run_master(&PathBuf::from(folder)),
        Some(_) => run_generation(),
    }
}

/// This test in a process of its own.
fn test_process() -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "reloads::the_serving_process_adopts_what_it_can", "--nocapture"]);
    command
}

/// A master, and who sends it requests.
fn run_master(folder: &Path) {
    write_program(folder, "");
    fs::write(folder.join("settings"), "first").unwrap();
    let (opened, control) = mpsc::channel();
    let requests = {
        let folder = folder.to_owned();
        thread::spawn(move || {
            let requests = Requests {
                folder,
                control: control.recv().unwrap(),
                runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            };
            let outcome = thread::scope(|scope| scope.spawn(|| send_requests(&requests)).join());
            requests.runtime.block_on(requests.control.stop());
            outcome.is_ok()
        })
    };
    let settings = MasterSettings { pid_file: None, shared_memory: 0 };
    master::run(&settings, TestDuties { folder: folder.to_owned(), proposed: 0, opened }).unwrap();
    assert!(requests.join().unwrap());
}

/// A script, since it can be written again.
fn write_program(folder: &Path, comment: &str) {
    let program = folder.join("program");
    let test = env::current_exe().unwrap();
    let script = format!("#!/bin/sh\n# {comment}\nexec '{}' \"$@\"\n", test.display());
    let next = folder.join("next");
    fs::write(&next, script).unwrap();
    fs::set_permissions(&next, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(next, program).unwrap();
}

struct Requests {
    folder: PathBuf,
    control: Control,
    runtime: Runtime,
}

impl Requests {
    fn reload(&self, text: &str, process: WantedProcess) -> Result<Reloaded, String> {
        fs::write(self.folder.join("settings"), text).unwrap();
        self.runtime.block_on(self.control.reload(process))
    }

    fn report(&self) -> Report {
        self.runtime.block_on(self.control.report()).unwrap()
    }

    /// The process id and the report of the serving generation.
    fn serving(&self) -> Option<(u32, Value)> {
        let mut generations = self.report().generations.into_iter();
        let serving = generations.find(|generation| generation.stage == "serving" && generation.answers)?;
        Some((serving.pid, serving.report?))
    }
}

/// Changes beside the file: those that cannot be served or kept are taken back.
fn change_settings(requests: &Requests) {
    let change = |text: Value| requests.runtime.block_on(requests.control.change(text));
    let text = || requests.serving().unwrap().1["text"].as_str().map(str::to_owned);
    let file = || fs::read_to_string(requests.folder.join("settings")).unwrap();
    fs::write(requests.folder.join("settings"), "adopt five").unwrap();
    let reloaded = Reloaded { number: 6, process: ProcessOfReload::Same, still_accepts: None };
    assert_eq!(change(json!("adopt six")), Ok(Changed { reloaded, kept: json!("kept") }));
    assert_eq!(text().as_deref(), Some("adopt six"));
    assert_eq!(requests.serving().unwrap().1["cause"], "Change");
    assert_eq!(change(json!(7)), Err(ChangeError::Refused(json!("no text"))));
    assert_eq!(change(json!("refuse")), Err(ChangeError::Invalid("refused".to_owned())));
    assert_eq!((text().as_deref(), &*file()), (Some("adopt six"), "adopt six"));
    fs::write(requests.folder.join("full"), "").unwrap();
    assert_eq!(change(json!("adopt seven")), Err(ChangeError::NotKept("the disk is full".to_owned())));
    fs::remove_file(requests.folder.join("full")).unwrap();
    let is_back = (0..1000).any(|_| {
        text().as_deref() == Some("adopt six") || {
            thread::sleep(Duration::from_millis(10));
            false
        }
    });
    assert!(is_back && file() == "adopt six");
    // Of changes at the same time, those that are right are made.
    let outcomes = requests.runtime.block_on(async {
        let changes = (0..20).map(|number| {
            let control = requests.control.clone();
            let text = if number == 7 { "refuse".to_owned() } else { format!("adopt at once {number}") };
            tokio::spawn(async move { control.change(json!(text)).await })
        });
        let mut outcomes = Vec::new();
        for change in changes.collect::<Vec<_>>() {
            outcomes.push(change.await.unwrap());
        }
        outcomes
    });
    for (number, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_ok(), number != 7, "{number}: {outcome:?}");
    }
    assert_eq!(text(), Some(file()));
}

fn send_requests(requests: &Requests) {
    let if_needed = |text: &str| requests.reload(text, WantedProcess::IfNeeded);
    let served = |number, process| Ok(Reloaded { number, process, still_accepts: None });
    let new = |reason: &str| ProcessOfReload::New { reason: Some(reason.to_owned()) };
    assert_eq!(if_needed("adopt one"), served(1, ProcessOfReload::Same));
    assert_eq!(if_needed("refuse"), Err("refused".to_owned()));
    let Report { events: Events { reloads, adopted, failed_reloads, last_failure, .. }, .. } = requests.report();
    assert_eq!((reloads, adopted, failed_reloads), (1, 1, 1));
    assert_eq!(last_failure.as_deref(), Some("refused"));

    // Remembered commands come with the settings.
    let command = requests.control.command(json!("remember"), true);
    assert_eq!(requests.runtime.block_on(command), Ok("done".to_owned()));
    assert_eq!(if_needed("adopt two"), served(1, ProcessOfReload::Same));
    assert_eq!(
        requests.serving().unwrap().1,
        json!({ "text": "adopt two", "commands": 1, "overrides": 1, "cause": "Reload" })
    );

    // The replacement of a crashed generation has the adopted settings.
    fs::write(requests.folder.join("settings"), "later").unwrap();
    let (pid, _) = requests.serving().unwrap();
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    let replaced = (0..1000).find_map(|_| {
        thread::sleep(Duration::from_millis(10));
        requests.serving().filter(|(other, _)| *other != pid)
    });
    assert_eq!(replaced.unwrap().1["text"], "adopt two");

    assert_eq!(if_needed("crash"), served(3, new("the process that served has crashed")));
    assert_eq!(if_needed("process"), served(4, new("workers")));
    let process = ProcessOfReload::New { reason: None };
    assert_eq!(requests.reload("adopt three", WantedProcess::New), served(5, process));
    write_program(&requests.folder, "another version");
    assert_eq!(if_needed("adopt four"), served(6, new("the program has changed")));
    assert_eq!(if_needed("adopt five"), served(6, ProcessOfReload::Same));
    fs::remove_file(requests.folder.join("settings")).unwrap();
    let missing = requests.runtime.block_on(requests.control.reload(WantedProcess::IfNeeded));
    assert_eq!(missing, Err("the file is missing".to_owned()));
    assert_eq!(requests.serving().unwrap().1["text"], "adopt five");
    let Events { reloads, adopted, failed_reloads, crashes, .. } = requests.report().events;
    assert_eq!((reloads, adopted, failed_reloads, crashes), (7, 3, 2, 2));
    change_settings(requests);
    change_settings_from_within(requests);
}

/// The serving process asks for changes; one that has not announced it, or drains, is refused.
fn change_settings_from_within(requests: &Requests) {
    let outcome = || {
        let path = requests.folder.join("outcome");
        let text = (0..1000).find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            fs::read(&path).ok()
        });
        fs::remove_file(&path).unwrap();
        serde_json::from_slice::<Result<Changed, ChangeError>>(&text.unwrap()).unwrap()
    };
    let change = |change: Value| {
        let command = requests.control.command(json!({ "change": change }), false);
        assert_eq!(requests.runtime.block_on(command), Ok("done".to_owned()));
        outcome()
    };
    let text = || requests.serving().unwrap().1["text"].as_str().map(str::to_owned);
    let made = |number, process| {
        Ok(Changed { reloaded: Reloaded { number, process, still_accepts: None }, kept: json!("kept") })
    };
    let (invalid, not_now) = (
        |reason: &str| Err(ChangeError::Invalid(reason.to_owned())),
        |reason: &str| Err(ChangeError::NotNow(reason.to_owned())),
    );
    assert_eq!(change(json!("adopt mine")), made(6, ProcessOfReload::Same));
    assert_eq!(text().as_deref(), Some("adopt mine"));
    // As long as the settings of many sites.
    let long = format!("adopt {}", "x".repeat(1 << 20));
    assert_eq!(change(json!({ "repeated": "x" })), made(6, ProcessOfReload::Same));
    assert_eq!(text(), Some(long));
    assert_eq!(change(json!(7)), Err(ChangeError::Refused(json!("no text"))));
    assert_eq!(change(json!("refuse")), invalid("refused"));
    // A command to itself, which later processes get as well.
    let execute =
        |command: &str| requests.runtime.block_on(requests.control.command(json!({ "execute": command }), false));
    assert_eq!(execute("asked"), Ok("done by asking".to_owned()));
    assert_eq!(requests.report().remembered.last(), Some(&json!("asked")));
    // The process that asks is replaced, and gets the outcome.
    let new = ProcessOfReload::New { reason: Some("workers".to_owned()) };
    assert_eq!(change(json!("process")), made(7, new));

    let new = |text| requests.reload(text, WantedProcess::New).unwrap().number;
    assert_eq!(new("silent"), 8);
    let unannounced = "this process has not announced changes of the settings";
    assert_eq!((change(json!("adopt it")), execute("x")), (not_now(unannounced), Err(unannounced.to_owned())));
    assert_eq!(new("adopt, and ask when leaving"), 9);
    assert_eq!(new("last"), 10);
    assert_eq!(outcome(), not_now("only the process that serves can change the settings"));
    assert_eq!(text().as_deref(), Some("last"));
}

struct TestDuties {
    folder: PathBuf,
    /// How many changes are proposed.
    proposed: usize,
    opened: Sender<Control>,
}

impl Duties for TestDuties {
    fn settings(&mut self) -> Result<Vec<u8>, String> {
        fs::read(self.folder.join("settings")).map_err(|_| "the file is missing".to_owned())
    }

    fn propose(&mut self, change: &Value) -> Result<(), Value> {
        let text = change.as_str().ok_or("no text")?;
        if self.proposed == 0 {
            fs::rename(self.folder.join("settings"), self.folder.join("before")).unwrap();
        }
        self.proposed += 1;
        let before = fs::read_to_string(self.folder.join("settings")).unwrap_or_default();
        let is_wrong = self.proposed > 1 && (text == "refuse" || before == "refuse");
        fs::write(self.folder.join("settings"), if is_wrong { "refuse" } else { text }).unwrap();
        Ok(())
    }

    fn keep(&mut self) -> Vec<Result<Value, String>> {
        let count = std::mem::take(&mut self.proposed);
        if self.folder.join("full").exists() {
            fs::rename(self.folder.join("before"), self.folder.join("settings")).unwrap();
            return vec![Err("the disk is full".to_owned()); count];
        }
        vec![Ok(json!("kept")); count]
    }

    fn withdraw(&mut self) {
        self.proposed = 0;
        fs::rename(self.folder.join("before"), self.folder.join("settings")).unwrap();
    }

    fn command(&mut self) -> Command {
        let mut command = Command::new(self.folder.join("program"));
        command.args(test_process().get_args()).env(GENERATION, "yes").stdout(Stdio::null());
        command
    }

    fn open_admin_socket(&mut self, place: &AdminPlace, token: Option<&str>, control: &Control) -> Result<(), String> {
        assert_eq!((place, token), (&AdminPlace::At("here".to_owned()), Some("token")));
        let _ = self.opened.send(control.clone());
        Ok(())
    }

    fn announce(&self, _announcement: &str) {}

    fn remember(&self, remembered: &mut Vec<Value>, command: &Value) {
        remembered.push(command.clone());
    }

    fn add(&self, _total: &mut Value, _report: &Value) {}
}

fn run_generation() {
    let (parent, setup) = Parent::meet().unwrap();
    let text = String::from_utf8(setup.text).unwrap();
    let terms = GenerationTerms {
        admin: AdminPlace::At("here".to_owned()),
        admin_token: Some("token".to_owned()),
        announcement: String::new(),
        replaced: Duration::ZERO,
        stopped: Duration::ZERO,
        adopts: true,
        changes: text != "silent",
    };
    let (end, ended) = mpsc::channel();
    let requests = parent.change_requests();
    let orders = TestOrders { text, commands: 0, overrides: 0, cause: None, requests, asking: Vec::new(), end };
    let _report = parent.ready(terms, orders).unwrap();
    ended.recv().unwrap();
    process::exit(0);
}

/// A generation that does what its settings say.
struct TestOrders {
    text: String,
    commands: u32,
    overrides: usize,
    /// The cause of the last adoption.
    cause: Option<AdoptionCause>,
    requests: ChangeRequests,
    /// The threads that wait for an outcome.
    asking: Vec<JoinHandle<()>>,
    end: Sender<()>,
}

impl TestOrders {
    /// Asks the master for a change, on a thread, and writes the outcome to a file.
    fn ask_for_change(&mut self, mut change: Value) {
        // A command is too short for it.
        if let Some(repeated) = change["repeated"].as_str() {
            change = json!(format!("adopt {}", repeated.repeat(1 << 20)));
        }
        let requests = self.requests.clone();
        self.asking.push(thread::spawn(move || {
            let runtime = Builder::new_current_thread().build().unwrap();
            let outcome = runtime.block_on(requests.change(&change));
            let folder = PathBuf::from(env::var_os(FOLDER).unwrap());
            fs::write(folder.join("outcome.next"), serde_json::to_vec(&outcome).unwrap()).unwrap();
            fs::rename(folder.join("outcome.next"), folder.join("outcome")).unwrap();
        }));
    }
}

impl Orders for TestOrders {
    fn leave(&mut self, reason: StopReason) -> Option<Wait> {
        if reason == StopReason::Replaced && self.text == "adopt, and ask when leaving" {
            self.ask_for_change(json!("adopt the change of a draining process"));
        }
        let (end, asking) = (self.end.clone(), mem::take(&mut self.asking));
        // This thread receives the outcomes.
        thread::spawn(move || {
            asking.into_iter().for_each(|asking| asking.join().unwrap());
            end.send(())
        });
        Some(Box::new(|| ()))
    }

    fn end(&mut self) {
        let _ = self.end.send(());
    }

    fn reopen(&mut self) {}

    fn report(&mut self) -> Value {
        json!({ "text": self.text, "commands": self.commands, "overrides": self.overrides, "cause": self.cause })
    }

    fn command(&mut self, command: &Value) -> CommandAnswer {
        if let Some(change) = command.get("change") {
            self.ask_for_change(change.clone());
        }
        if let Some(asked) = command.get("execute").cloned() {
            // The master asks this process to execute it, while this command waits for that.
            let requests = self.requests.clone();
            return CommandAnswer::Later(Box::new(move || {
                let runtime = Builder::new_current_thread().build().unwrap();
                runtime.block_on(requests.command(asked, true)).map(|done| format!("{done} by asking"))
            }));
        }
        self.commands += 1;
        Ok("done".to_owned()).into()
    }

    fn adopt(&mut self, text: Vec<u8>, overrides: Vec<Value>, cause: AdoptionCause) -> Adoption {
        self.overrides = overrides.len();
        self.cause = Some(cause);
        let text = String::from_utf8(text).unwrap();
        match &*text {
            "refuse" => Adoption::Refused("refused".to_owned()),
            "process" => Adoption::NeedsProcess("workers".to_owned()),
            "crash" => process::abort(),
            _ => {
                self.text = text;
                Adoption::Adopted
            }
        }
    }
}

/// Names the folder of the files to a master and its generations.
const FOLDER: &str = "SEROW_TEST_FOLDER";

/// Set in the processes of generations.
const GENERATION: &str = "SEROW_TEST_GENERATION";
