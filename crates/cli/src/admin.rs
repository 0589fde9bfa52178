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
//! | `serow status`, `reload`, `drain`, `up` …: ask, and print the answer for people | `admin/question.rs`, `admin/summary.rs`, `admin/server_table.rs`, `admin/application_table.rs`, `admin/table.rs`, `admin/units.rs` |

mod application_metrics;
mod application_table;
mod applications;
mod audit;
pub(crate) mod document;
mod door;
mod error;
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

use std::io::{self, Write};

pub(crate) use self::{
    door::Door,
    error::AdminError,
    fields::FIELDS,
    question::NoAnswer,
    sources::Sources,
    subject::Subject,
    wish::{Action, Wish},
};

use serow::Address;

use self::question::Question;
use crate::{
    arguments::{DoorArguments, DrainArguments, ServerWishArguments, StatusArguments},
    command_error::CommandError,
};
use serow_config::values::Count;

/// `serow status`: prints how a running server is doing.
pub(crate) fn print_status(arguments: &StatusArguments) -> Result<(), CommandError> {
    let entrance = Entrance::new(&arguments.door)?;
    let json = entrance.ask(&Question::Status)?;
    let text = match arguments.json {
        true => json,
        false => summary::of(&json).ok_or_else(|| CommandError::from(question::not_ours(&entrance.address)))?,
    };
    print(&text)
}

/// `serow reload`: has a running server read its file anew.
pub(crate) fn reload(arguments: &DoorArguments) -> Result<(), CommandError> {
    print(&Entrance::new(arguments)?.ask(&Question::Reload)?)
}

/// `serow drain`: ends a running server in order, or has one that it asks get nothing new.
pub(crate) fn drain(arguments: DrainArguments) -> Result<(), CommandError> {
    let DrainArguments { upstream, server, remembering, door } = arguments;
    match (upstream, server) {
        (Some(upstream), Some(server)) => {
            wish(ServerWishArguments { upstream, server, remembering, door }, Action::Drain, None)
        }
        _ if remembering.persist => {
            Err(CommandError::Usage("--persist is for a server of an upstream: name both, or leave it out".to_owned()))
        }
        _ => print(&Entrance::new(&door)?.ask(&Question::Drain)?),
    }
}

/// `serow up` and the like: has something done with a server that a running one asks.
pub(crate) fn wish(
    arguments: ServerWishArguments,
    action: Action,
    weight: Option<Count<1, 65_535>>,
) -> Result<(), CommandError> {
    let ServerWishArguments { upstream, server, remembering, door } = arguments;
    let weight = weight.and_then(|weight| u16::try_from(weight.get()).ok());
    let wish = Wish { upstream, server, action, weight, persist: remembering.persist };
    let json = serde_json::to_string(&wish).map_err(|error| CommandError::system(error.into()))?;
    print(&Entrance::new(&door)?.ask(&Question::Wish(json))?)
}

/// Where a server is reached, and with which token.
struct Entrance {
    address: Address,
    token: Option<String>,
}

impl Entrance {
    fn new(arguments: &DoorArguments) -> Result<Self, CommandError> {
        let (address, token_file) = match (&arguments.admin, &arguments.config) {
            (Some(address), _) => (address.clone(), None),
            (None, Some(file)) => match serow_config::admin_endpoint(file).map_err(CommandError::from)? {
                Some(door) => (door.address.0, door.token_file),
                None => {
                    let file = file.display();
                    return Err(CommandError::Usage(format!(
                        "{file} has no `admin` that could be asked: add one, as in admin = {USUAL:?}"
                    )));
                }
            },
            (None, None) => (Address::Unix(USUAL.trim_start_matches("unix:").into()), None),
        };
        let token_file = arguments.admin_token_file.clone().or(token_file);
        let token = token_file.map(|file| serow_config::admin_token::read(&file)).transpose();
        Ok(Self {
            address,
            token: token.map_err(|reason| CommandError::Usage(format!("--admin-token-file: {reason}")))?,
        })
    }

    fn ask(&self, question: &Question) -> Result<String, CommandError> {
        question::ask(&self.address, self.token.as_deref(), question).map_err(CommandError::from)
    }
}

/// Where a service of the system has its door.
const USUAL: &str = "unix:/run/serow/admin.sock";

fn print(text: &str) -> Result<(), CommandError> {
    io::stdout().write_all(text.as_bytes()).map_err(CommandError::output)
}

impl From<NoAnswer> for CommandError {
    fn from(error: NoAnswer) -> Self {
        Self::FailedWithReport(Box::new(error))
    }
}
