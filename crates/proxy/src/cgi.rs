//! Requests to applications that speak FastCGI, SCGI or uwsgi.

use std::{rc::Rc, sync::Arc};

use serow_client::{CgiConnection, CgiProtocol, CgiRequest};
use serow_fastcgi::{Variables, VariablesError};
use serow_gateway::cgi_variables;
use serow_message::{Request, StatusCode};

use crate::{
    attempt_error::{AttemptError, Cause},
    forwarding::Forwarding,
    lease::Lease,
    request_head,
    sequential_exchange::SequentialExchange,
    server_response::ServerResponse,
    settings::ForwardingSettings,
};

/// The variables of a request, but for CONTENT_LENGTH, which is known when the body is whole.
///
/// # Errors
///
/// The status that is answered instead.
pub(crate) fn variables(request: &Request, settings: &ForwardingSettings) -> Result<Variables, StatusCode> {
    let headers = request_head::of_script(request, settings);
    let trusted = &settings.forwarded.trusted;
    let mut variables = cgi_variables(request, &headers, trusted).map_err(|error| status_of(&error))?;
    for (name, value) in request_head::field_values(&settings.cgi_variables, trusted, request) {
        variables.set(name, value).map_err(|error| status_of(&error))?;
    }
    Ok(variables)
}

impl Forwarding {
    /// One attempt at a server that speaks one of these protocols, on a connection of its own.
    pub(crate) async fn attempt_cgi(
        &mut self,
        lease: Lease,
        protocol: CgiProtocol,
    ) -> Result<ServerResponse, AttemptError> {
        let unsendable = |error: VariablesError| AttemptError::unsendable(error.to_string());
        let mut variables = self.variables.clone().unwrap_or_default();
        // The body is whole by now.
        let length = self.body.length().unwrap_or(0);
        if self.has_body {
            variables.set("CONTENT_LENGTH", length.to_string()).map_err(unsendable)?;
        }
        let wire = self.dial(lease.server()).await?;
        let request = CgiRequest { protocol, method: self.head.method().clone(), variables: *variables, length };
        let (asked, pool, server) = (self.head.asked(), Rc::clone(&self.local.pool), Arc::clone(lease.server()));
        let log = move |message: &str| {
            tracing::warn!(upstream = pool.upstream.settings().name, server = server.name(), "{asked}: {message}");
        };
        let buffers = Rc::clone(&self.local.pool.thread.buffers);
        let connection = Box::new(CgiConnection::begin(wire, buffers, request, log).map_err(unsendable)?);
        self.note_connection(true);
        let mut exchange = SequentialExchange::new(Rc::clone(&self.local.pool), lease, connection, false, self.until);
        self.set_timeouts(&mut exchange.deadline);
        let head = self.head.head_for(&exchange.server().settings().address);
        let response = exchange.response(head, &mut self.body, &self.informational).await;
        if response.as_ref().is_err_and(|failure| matches!(failure.cause, Cause::TimedOut(_))) {
            // Before the server counts as free.
            exchange.server().note_overdue(self.local.upstream.settings());
        }
        let response = response?;
        exchange.into_answer(response, &self.head, &self.settings.response_buffering)
    }
}

/// The status for the client of a request that cannot be expressed.
fn status_of(error: &VariablesError) -> StatusCode {
    match error {
        VariablesError::TooLong { .. } | VariablesError::PacketTooLong(_) => {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        }
        VariablesError::Name(_) | VariablesError::Nul(_) => StatusCode::BAD_REQUEST,
    }
}
