//! The plan of a run, made from all options together.

use std::{fs, time::Duration};

use bytes::Bytes;
use rustix::process::{Resource, getrlimit};
use serow_client::{Destination, Origin};
use serow_config::values::Period;
use serow_load::{
    Batch, Parts, Plan, Requests,
    script::{Script, ScriptTarget},
};

use super::{
    BenchError, target,
    url_list::{self, WeightedPath},
};
use crate::{
    arguments::{ConnectionArguments, LoadArguments, RequestArguments},
    command_error::CommandError,
};

/// A plan, and what the report says of it.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    pub(crate) url: String,
    pub(crate) socket: Option<String>,
    pub(crate) encryption: Option<String>,
}

impl Prepared {
    /// Finds out what the options mean, and whether the server is there.
    pub(crate) fn new(
        url: Option<String>,
        script_arguments: Vec<String>,
        load: LoadArguments,
        request: RequestArguments,
        connection: ConnectionArguments,
    ) -> Result<Self, CommandError> {
        let (threads, connections) = shares(&load)?;
        positive("--duration", load.duration.as_ref())?;
        positive("--timeout", Some(&load.timeout))?;
        let (url, origin, paths) = match &request.urls {
            Some(list) => url_list::read(list, url.as_deref())?,
            None => {
                let url = url.unwrap_or_default();
                let (origin, path) = Origin::of_url(&url).map_err(BenchError::Url)?;
                (url, origin, vec![WeightedPath { weight: 1, path }])
            }
        };
        let mut requests = requests(&url, &origin, &paths, script_arguments, &request, connection.no_keepalive)?;
        let (dialer, encryption) = target::dialer(&origin, &connection, load.timeout.0)?;
        if let (Requests::Script(_, target), Destination::Tcp(address)) = (&mut requests, &dialer.destination) {
            target.address = Some(*address);
        }
        let count = load.requests.map(|count| count.0);
        let duration = load.duration.map(|period| period.0);
        let plan = Plan {
            origin,
            dialer,
            version: connection.version(),
            requests,
            threads,
            connections,
            streams: connection.streams.in_memory(),
            keep_alive: !connection.no_keepalive,
            duration: duration.or(count.is_none().then_some(USUAL_DURATION)),
            count,
            rate: load.rate.map(|rate| rate.0),
            warm_up: load.warmup.0,
            timeout: load.timeout.0,
        };
        let socket = connection.server.unix.map(|path| format!("unix:{}", path.display()));
        Ok(Self { plan, url, socket, encryption })
    }
}

/// In no time at all nothing is sent, or answered.
fn positive(option: &str, period: Option<&Period>) -> Result<(), CommandError> {
    match period {
        Some(Period(Duration::ZERO)) => Err(CommandError::Usage(format!(
            "{option}: 0 is too short for any request; write a longer time, as in 500ms"
        ))),
        _ => Ok(()),
    }
}

/// Threads and connections.
fn shares(load: &LoadArguments) -> Result<(usize, usize), CommandError> {
    let connections = load.connections.in_memory();
    let threads = load.threads.map_or(connections.min(USUAL_THREADS), |threads| threads.in_memory());
    if connections < threads {
        let line = format!(
            "{threads} threads need at least {threads} connections; give more with -c, or fewer threads with -t"
        );
        return Err(CommandError::Usage(line));
    }
    let limit = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok());
    let own = OWN_DESCRIPTORS + threads * DESCRIPTORS_OF_THREAD;
    match limit {
        Some(limit) if connections > limit.saturating_sub(own) => {
            Err(BenchError::Descriptors { connections, limit }.into())
        }
        _ => Ok((threads, connections)),
    }
}

fn requests(
    url: &str,
    origin: &Origin,
    paths: &[WeightedPath],
    script_arguments: Vec<String>,
    written: &RequestArguments,
    close: bool,
) -> Result<Requests, CommandError> {
    let body = match (&written.body, &written.body_file) {
        (Some(text), _) => Some(Bytes::from(text.clone())),
        (None, Some(path)) => {
            let content = fs::read(path).map_err(|error| BenchError::File("--body-file", path.clone(), error))?;
            Some(Bytes::from(content))
        }
        (None, None) => None,
    };
    let method = written.method.as_deref().unwrap_or(if body.is_some() { "POST" } else { "GET" });
    let mut headers: Vec<_> = written.header.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
    if let Some(path) = &written.script {
        if close {
            headers.push(("Connection".to_owned(), "close".to_owned()));
        }
        let script = Script::read(path).map_err(BenchError::Script)?;
        let target = script_target(url, origin, paths, method, headers, body, script_arguments);
        return Ok(Requests::Script(script, Box::new(target)));
    }
    if let Some(first) = script_arguments.first() {
        return Err(CommandError::Usage(format!(
            "{first:?} is an unexpected argument; only scripts get arguments (-s FILE)"
        )));
    }
    let (host, body) = (origin.authority(), body.unwrap_or_default());
    let batch = |path: &WeightedPath| {
        let (headers, body) = (headers.as_slice(), body.clone());
        Batch::new(&Parts { method, path: &path.path, host: &host, headers, body, close })
            .map(|batch| (path.weight, batch))
    };
    let batches = paths.iter().map(batch).collect::<Result<_, _>>().map_err(BenchError::Request)?;
    Ok(Requests::Fixed(batches))
}

fn script_target(
    url: &str,
    origin: &Origin,
    paths: &[WeightedPath],
    method: &str,
    headers: Vec<(String, String)>,
    body: Option<Bytes>,
    arguments: Vec<String>,
) -> ScriptTarget {
    let has_port = origin.authority().rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    ScriptTarget {
        url: url.to_owned(),
        scheme: origin.scheme_name().to_owned(),
        host: origin.host.clone(),
        port: has_port.then(|| origin.port.to_string()),
        path: paths.first().map_or_else(|| "/".to_owned(), |first| first.path.clone()),
        method: method.to_owned(),
        headers,
        body,
        arguments,
        address: None,
    }
}

/// wrk's.
const USUAL_DURATION: Duration = Duration::from_secs(10);

/// wrk's.
const USUAL_THREADS: usize = 2;

/// Standard streams, signals, the script, and what the libraries open for a moment.
const OWN_DESCRIPTORS: usize = 16;

/// A poll, a timer, and what wakes it.
const DESCRIPTORS_OF_THREAD: usize = 4;
