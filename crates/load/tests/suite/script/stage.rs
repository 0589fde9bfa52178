//! A generator without a network: it takes requests from scripts and gives them responses that are made up.

use std::{
    collections::BTreeMap,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use serow_load::{
    Distribution, Errors, Results,
    script::{Conductor, Script, ScriptError, ScriptRunner, ScriptTarget},
};
use serow_message::{Headers, Version};

/// The requests, delays and settings of one thread.
#[derive(Debug, Default)]
pub(crate) struct Played {
    pub(crate) is_static: bool,
    pub(crate) has_delay: bool,
    pub(crate) wants_responses: bool,
    pub(crate) requests: Vec<Bytes>,
    pub(crate) delays: Vec<Duration>,
    pub(crate) address: Option<std::net::SocketAddr>,
    pub(crate) error: Option<String>,
}

/// Status, fields and body of a response to the given request.
pub(crate) type Answer = fn(&[u8]) -> (u16, Vec<(&'static str, &'static str)>, &'static [u8]);

/// A run: how many threads, how many requests each of them makes at most, and how they are answered.
pub(crate) struct Run {
    pub(crate) script: String,
    pub(crate) target: ScriptTarget,
    pub(crate) threads: usize,
    pub(crate) requests: usize,
    pub(crate) answer: Answer,
}

/// The target `http://127.0.0.1:8080/path?query`.
pub(crate) fn target() -> ScriptTarget {
    ScriptTarget {
        url: "http://127.0.0.1:8080/path?query".into(),
        scheme: "http".into(),
        host: "127.0.0.1".into(),
        port: Some("8080".into()),
        path: "/path?query".into(),
        method: "GET".into(),
        headers: Vec::new(),
        body: None,
        arguments: Vec::new(),
        address: Some(([127, 0, 0, 1], 8080).into()),
    }
}

impl Run {
    /// Two threads, three requests each, and every response is `200` with a body.
    pub(crate) fn of(script: &str) -> Self {
        Self {
            script: script.into(),
            target: target(),
            threads: 2,
            requests: 3,
            answer: |_| (200, Vec::new(), b"text"),
        }
    }

    /// Runs all threads to their end and returns what each did; the error is that of the main thread, or of the first
    /// worker.
    pub(crate) fn play(self) -> Result<Vec<Played>, String> {
        self.play_with(&results())
    }

    pub(crate) fn play_with(self, results: &Results) -> Result<Vec<Played>, String> {
        let script = Script::new("script.lua", self.script.as_bytes());
        let mut conductor = Conductor::load(&script, self.target.clone()).map_err(|error| error.to_string())?;
        let (sender, ended) = mpsc::channel();
        let mut workers: Vec<JoinHandle<Played>> = Vec::new();
        for _ in 0..self.threads {
            let (handle, seat) = conductor.thread();
            let (ended, requests, answer) = (sender.clone(), self.requests, self.answer);
            workers.push(thread::spawn(move || {
                let Some(mut runner) = seat.into_runner() else { return Played::default() };
                let played = play(&mut runner, requests, answer);
                let _ = ended.send(());
                runner.serve_until_released();
                played
            }));
            conductor.set_up(handle).map_err(|error| error.to_string())?;
        }
        conductor.begin().map_err(|error| error.to_string())?;
        for _ in 0..self.threads {
            ended.recv().expect("a thread panicked");
        }
        conductor.done(results).map_err(|error| error.to_string())?;
        let played: Vec<_> = workers.into_iter().map(|worker| worker.join().expect("no panic")).collect();
        match played.iter().find_map(|played| played.error.clone()) {
            Some(error) => Err(error),
            None => Ok(played),
        }
    }
}

fn play(runner: &mut ScriptRunner, requests: usize, answer: Answer) -> Played {
    let mut played = Played {
        is_static: runner.is_static(),
        has_delay: runner.has_delay(),
        wants_responses: runner.wants_responses(),
        address: runner.address(),
        ..Played::default()
    };
    for _ in 0..requests {
        if runner.is_stopped() {
            break;
        }
        if let Err(error) = exchange(runner, answer, &mut played) {
            played.error = Some(error.to_string());
            break;
        }
    }
    played
}

fn exchange(runner: &mut ScriptRunner, answer: Answer, played: &mut Played) -> Result<(), ScriptError> {
    if runner.has_delay() {
        played.delays.push(runner.delay()?);
    }
    let request = runner.request()?;
    if runner.wants_responses() {
        let (status, fields, body) = answer(&request);
        let mut headers = Headers::new();
        for (name, value) in fields {
            headers.append(name, value).expect("a header field");
        }
        runner.response(status, &headers, body)?;
    }
    played.requests.push(request);
    Ok(())
}

/// Of a run that took two seconds: latencies of 1, 2, 2 and 10 ms, and two rates.
pub(crate) fn results() -> Results {
    let (mut latencies, mut rates) = (Distribution::new(), Distribution::new());
    for milliseconds in [1, 2, 2, 10] {
        latencies.record_duration(Duration::from_millis(milliseconds));
    }
    rates.record(100);
    rates.record(300);
    Results {
        url: target().url,
        socket: None,
        version: Version::HTTP_11,
        encryption: None,
        threads: 2,
        connections: 2,
        streams: 1,
        planned_duration: None,
        planned_rate: None,
        began: SystemTime::UNIX_EPOCH,
        elapsed: Duration::from_secs(2),
        interrupted: false,
        requests: 4,
        bytes: 400,
        statuses: BTreeMap::from([(200, 3), (404, 1)]),
        errors: Errors { connect: 1, read: 2, write: 3, timeout: 4, protocol: 5, status: 6 },
        unsent: 0,
        sent_again: 0,
        connections_made: 2,
        connect_times: Distribution::new(),
        latencies,
        thread_rates: rates,
        time_series: Vec::new(),
    }
}
