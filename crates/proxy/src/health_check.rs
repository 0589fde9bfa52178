//! Active health checks.
//!
//! | what | file |
//! | --- | --- |
//! | one check, and why it failed | `health_check/check.rs`, `health_check/error.rs` |
//! | a request over HTTP, and what its response has to be like | `health_check/http.rs`, `health_check/expectation.rs` |
//! | a request by FastCGI, SCGI or uwsgi | `health_check/cgi.rs` |
//! | `grpc.health.v1` | `health_check/grpc.rs` |
//! | when each server is checked | `health_check/schedule.rs` |
//! | what the results come to, as a state machine | `health.rs`, `health/verdict.rs` |

mod cgi;
mod check;
mod error;
mod expectation;
mod grpc;
mod http;
mod schedule;

use std::rc::Rc;

use serow_client::Buffers;

pub(crate) use self::schedule::check_servers;
use crate::{
    settings::{CheckSettings, ServerSettings},
    upstream::{Upstream, known_destination},
};

impl Upstream {
    /// Checks a server once, as one of this upstream's would be; it need not be one of them.
    ///
    /// # Errors
    ///
    /// Why the check failed, as text.
    pub async fn check_once(&self, server: &ServerSettings, settings: &CheckSettings) -> Result<(), String> {
        let destination = known_destination(server).ok_or("the name has to be resolved first")?;
        let server = self.new_server(server.clone(), destination);
        let checked = check::check(&server, self.settings(), settings, &Rc::<Buffers>::default()).await;
        checked.map_err(|error| error.to_string())
    }
}
