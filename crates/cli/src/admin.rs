//! The door for whoever runs the server: what it says of itself, and who asks.
//!
//! | what | file |
//! | --- | --- |
//! | where the door may be | `admin/address.rs` |
//! | what is behind it: a second server, on a thread of its own | `admin/door.rs`, `admin/pages.rs` |
//! | whose numbers: those of this process, or of all generations, added up | `admin/subject.rs`, `admin/total.rs` |
//! | the numbers as JSON, and for Prometheus | `admin/document.rs`, `admin/metrics.rs` |
//! | what each field means, the only place that says so | `admin/fields.rs` |
//! | `serow status`, `reload`, `drain`: ask, and print the answer for people | `admin/question.rs`, `admin/summary.rs`, `admin/units.rs` |

mod address;
pub(crate) mod document;
mod door;
mod fields;
mod metrics;
mod pages;
mod question;
mod subject;
mod summary;
pub(crate) mod total;
mod units;

use std::io::{self, Write};

pub(crate) use self::{address::AdminAddress, door::Door, fields::FIELDS, question::NoAnswer, subject::Subject};

use serow::Address;

use self::question::Question;
use crate::{
    arguments::{DoorArguments, StatusArguments},
    configuration,
    failure::Failure,
};

/// `serow status`: prints how a running server is doing.
pub(crate) fn print_status(arguments: &StatusArguments) -> Result<(), Failure> {
    let door = &door(&arguments.door)?;
    let json = question::ask(door, Question::Status).map_err(Failure::Status)?;
    let text = match arguments.json {
        true => json,
        false => summary::of(&json).ok_or_else(|| Failure::Status(question::not_ours(door)))?,
    };
    print(&text)
}

/// `serow reload`: has a running server read its file anew.
pub(crate) fn reload(arguments: &DoorArguments) -> Result<(), Failure> {
    print(&question::ask(&door(arguments)?, Question::Reload).map_err(Failure::Status)?)
}

/// `serow drain`: ends a running server in order.
pub(crate) fn drain(arguments: &DoorArguments) -> Result<(), Failure> {
    print(&question::ask(&door(arguments)?, Question::Drain).map_err(Failure::Status)?)
}

/// Where the server is reached.
fn door(arguments: &DoorArguments) -> Result<Address, Failure> {
    match (&arguments.admin, &arguments.config) {
        (Some(address), _) => Ok(address.clone()),
        (None, Some(file)) => match configuration::door(file).map_err(Failure::Configuration)? {
            Some(AdminAddress(address)) => Ok(address),
            None => {
                let file = file.display();
                Err(Failure::Misuse(format!(
                    "{file} has no `admin` that could be asked: add one, as in admin = {USUAL:?}"
                )))
            }
        },
        (None, None) => Ok(Address::Unix(USUAL.trim_start_matches("unix:").into())),
    }
}

/// Where a service of the system has its door.
const USUAL: &str = "unix:/run/serow/admin.sock";

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().write_all(text.as_bytes()).map_err(Failure::Output)
}
