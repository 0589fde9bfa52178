//! The door for whoever runs the server: what it says of itself, and who asks.
//!
//! | what | file |
//! | --- | --- |
//! | where the door may be | `admin/address.rs` |
//! | what is behind it: a second server, on a thread of its own | `admin/door.rs`, `admin/pages.rs` |
//! | the numbers as JSON | `admin/document.rs` |
//! | what each field means, the only place that says so | `admin/fields.rs` |
//! | `serow status`: asks, and prints the answer for people | `admin/question.rs`, `admin/summary.rs`, `admin/units.rs` |

mod address;
mod document;
mod door;
mod fields;
mod pages;
mod question;
mod summary;
mod units;

use std::io::{self, Write};

pub(crate) use self::{address::AdminAddress, door::Door, fields::FIELDS, question::NoAnswer};

use crate::{arguments::StatusArguments, failure::Failure};

/// `serow status`: prints how a running server is doing.
pub(crate) fn print_status(arguments: &StatusArguments) -> Result<(), Failure> {
    let json = question::ask(&arguments.admin, "/status").map_err(Failure::Status)?;
    let text = match arguments.json {
        true => json,
        false => summary::of(&json).ok_or_else(|| Failure::Status(question::not_ours(&arguments.admin)))?,
    };
    io::stdout().write_all(text.as_bytes()).map_err(Failure::Output)
}
