//! The door for whoever runs the server: what it says of itself, and who asks.
//!
//! | what | file |
//! | --- | --- |
//! | where the door may be | `admin/address.rs` |
//! | what is behind it: a second server, on a thread of its own | `admin/door.rs`, `admin/pages.rs` |
//! | whose numbers: those of this process, or of all generations, added up | `admin/subject.rs`, `admin/total.rs` |
//! | where the numbers come from; as JSON, and for Prometheus | `admin/sources.rs`; `admin/document.rs`, `admin/metrics.rs`, `admin/server_metrics.rs` |
//! | applications: what all generations counted of them; for Prometheus | `admin/applications.rs`; `admin/application_metrics.rs` |
//! | the servers that are asked: as a page and as Tengine lists them; what all generations counted of them | `admin/upstreams.rs`; `admin/servers.rs` |
//! | what is wanted of them, and who may want it over TCP | `admin/wish.rs`, `admin/token.rs` |
//! | who changed something: a line of the error log | `admin/audit.rs` |
//! | what each field means, the only place that says so | `admin/fields.rs` |
//! | `serow status`, `reload`, `stop`, `upstream …`: ask, and print the answer for people | `admin/question.rs`, `admin/summary.rs`, `admin/server_table.rs`, `admin/application_table.rs`, `admin/table.rs`, `admin/units.rs` |

mod address;
mod application_metrics;
mod application_table;
mod applications;
mod audit;
pub(crate) mod document;
mod door;
#[cfg(test)]
mod exposition;
mod fields;
mod metrics;
mod pages;
mod question;
mod server_metrics;
mod server_table;
mod servers;
mod sources;
mod subject;
mod summary;
mod table;
mod token;
pub(crate) mod total;
mod units;
mod upstreams;
mod wish;

use std::{
    io::{self, Write},
    thread,
    time::{Duration, Instant},
};

pub(crate) use self::{
    address::AdminAddress,
    door::Door,
    fields::FIELDS,
    question::NoAnswer,
    sources::Sources,
    subject::Subject,
    token::read as read_token,
    wish::{Action, Wish},
};

use serde_json::Value;
use serow::Address;

use self::question::Question;
use crate::{
    arguments::{AdminSocketArguments, StatusArguments, StopArguments, UpstreamListArguments},
    configuration,
    failure::{Failure, on_one_line},
};

/// `serow status`: prints how a running server is doing.
pub(crate) fn print_status(arguments: &StatusArguments) -> Result<(), Failure> {
    let entrance = Entrance::new(&arguments.admin_socket)?;
    let json = entrance.ask(&Question::Status)?;
    let text = match arguments.json {
        true => json,
        false => summary::of(&json).ok_or_else(|| Failure::Status(question::not_ours(&entrance.address)))?,
    };
    print(&text)
}

/// `serow reload`: has a running server read its file anew.
pub(crate) fn reload(arguments: &AdminSocketArguments) -> Result<(), Failure> {
    print(&Entrance::new(arguments)?.ask(&Question::Reload)?)
}

/// `serow stop`: stops a running server gracefully, and waits until it has ended.
pub(crate) fn stop(arguments: &StopArguments) -> Result<(), Failure> {
    let entrance = Entrance::new(&arguments.admin_socket)?;
    let started = entrance.started().ok().flatten();
    print(&entrance.ask(&Question::Stop)?)?;
    let timeout = arguments.timeout.0;
    let deadline = Instant::now() + timeout;
    while !timeout.is_zero() && entrance.is_running(started) {
        if Instant::now() >= deadline {
            return Err(Failure::StillRunning(entrance.address));
        }
        thread::sleep(STOP_POLL);
    }
    Ok(())
}

/// `serow upstream list`: prints the servers of one upstream, or of all.
pub(crate) fn list_upstreams(arguments: &UpstreamListArguments) -> Result<(), Failure> {
    let entrance = Entrance::new(&arguments.admin_socket)?;
    let json = entrance.ask(&Question::Status)?;
    let not_ours = || Failure::Status(question::not_ours(&entrance.address));
    let mut status: Value = serde_json::from_str(&json).map_err(|_| not_ours())?;
    let upstreams = status["upstreams"].as_array_mut().ok_or_else(not_ours)?;
    if let Some(name) = &arguments.name {
        let names: Vec<_> =
            upstreams.iter().filter_map(|upstream| upstream["name"].as_str().map(on_one_line)).collect();
        upstreams.retain(|upstream| upstream["name"] == name.as_str());
        if upstreams.is_empty() {
            let known =
                if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
            return Err(Failure::Misuse(format!("the server has no upstream {name:?}; {known}")));
        }
    }
    if arguments.json {
        return print(&format!("{:#}\n", status["upstreams"]));
    }
    let table = server_table::of(&status);
    print(if table.is_empty() { "the server has no upstreams\n" } else { table.trim_start() })
}

/// `serow upstream up` and the like: changes a server of an upstream.
pub(crate) fn change_server(wish: &Wish, admin_socket: &AdminSocketArguments) -> Result<(), Failure> {
    let json = serde_json::to_string(wish).map_err(|error| Failure::System(error.into()))?;
    print(&Entrance::new(admin_socket)?.ask(&Question::Wish(json))?)
}

/// Where a server is reached, and with which token.
struct Entrance {
    address: Address,
    token: Option<String>,
}

impl Entrance {
    fn new(arguments: &AdminSocketArguments) -> Result<Self, Failure> {
        let (address, token_file) = match (&arguments.admin, &arguments.config) {
            (Some(address), _) => (address.clone(), None),
            (None, Some(file)) => match configuration::door(file).map_err(Failure::Configuration)? {
                Some(door) => (door.address.0, door.token_file),
                None => {
                    let file = file.display();
                    return Err(Failure::Misuse(format!(
                        "{file} has no `admin` that could be asked: add one, as in admin = {USUAL:?}"
                    )));
                }
            },
            (None, None) => (Address::Unix(USUAL.trim_start_matches("unix:").into()), None),
        };
        let token_file = arguments.admin_token_file.clone().or(token_file);
        let token = token_file.map(|file| token::read(&file)).transpose();
        Ok(Self { address, token: token.map_err(|reason| Failure::Misuse(format!("--admin-token-file: {reason}")))? })
    }

    /// When the server was started, in seconds since 1970, if it tells.
    fn started(&self) -> Result<Option<u64>, NoAnswer> {
        let status = question::ask(&self.address, self.token.as_deref(), &Question::Status)?;
        Ok(serde_json::from_str::<Value>(&status).ok().and_then(|status| status["started"].as_u64()))
    }

    /// Whether the server that was started then still runs: its admin socket is there until it has ended.
    fn is_running(&self, started: Option<u64>) -> bool {
        match self.started() {
            // Another server may have taken its place.
            Ok(now) => now == started,
            // A server that is stopping may have nothing more to report.
            Err(no_answer) => !no_answer.is_gone(),
        }
    }

    fn ask(&self, question: &Question) -> Result<String, Failure> {
        question::ask(&self.address, self.token.as_deref(), question).map_err(Failure::Status)
    }
}

/// How often `serow stop` looks whether the server has ended: soon enough for a script, and nothing beside a graceful stop.
const STOP_POLL: Duration = Duration::from_millis(50);

/// Where a service of the system has its door.
const USUAL: &str = "unix:/run/serow/admin.sock";

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().write_all(text.as_bytes()).map_err(Failure::Output)
}
