//! Answers of a route with the values of variables filled in.

use serow_message::{Method, Request, RequestClient, Response};
use serow_variables::Source;

use crate::{
    fixed_response::FixedResponse,
    header_changes::HeaderChanges,
    path_pattern::PathPattern,
    redirect::Redirect,
    rewriting::Captured,
    routed_path::RoutedPath,
    routes::{Missed, Outcome, Start},
};

/// The answer of a route whose headers, destination or body have variables, or whose handler gets other headers than
/// the client sent.
#[derive(Debug)]
pub(crate) struct VariableOutcome {
    captured: Captured,
    headers: HeaderChanges,
    request_headers: HeaderChanges,
    answer: Answer,
}

#[derive(Debug)]
enum Answer {
    Handle(usize),
    Try(usize),
    Redirect(Redirect),
    Respond(FixedResponse),
}

/// The answer of a route to a request, with values filled in.
#[derive(Debug)]
pub(crate) enum Filled {
    /// This response.
    Answer(Response),
    /// The response of the handler, with the first changes, to a request with the second ones.
    Handle { handler: usize, headers: HeaderChanges, request_headers: HeaderChanges },
    /// The response of the handler, with these changes, if it has one.
    Try { handler: usize, headers: HeaderChanges },
}

impl VariableOutcome {
    /// The outcome, as one with variables where it has any, or where its handler gets requests with these changes.
    pub(crate) fn of(outcome: Outcome, request_headers: &HeaderChanges, captured: &Captured) -> Outcome {
        let (answer, headers) = match outcome {
            Outcome::Handle { handler, headers } if headers.has_variables() || !request_headers.is_empty() => {
                (Answer::Handle(handler), headers)
            }
            Outcome::Try { handler, headers } if headers.has_variables() => (Answer::Try(handler), headers),
            Outcome::Redirect { redirect, headers } if headers.has_variables() || redirect.has_variables() => {
                (Answer::Redirect(redirect), headers)
            }
            other => return other,
        };
        Outcome::Variable(Box::new(Self::new(answer, headers, request_headers.clone(), captured.clone())))
    }

    /// The outcome of a response with variables.
    pub(crate) fn of_response(response: FixedResponse, headers: HeaderChanges, captured: Captured) -> Outcome {
        let request_headers = HeaderChanges::default();
        Outcome::Variable(Box::new(Self::new(Answer::Respond(response), headers, request_headers, captured)))
    }

    fn new(answer: Answer, headers: HeaderChanges, request_headers: HeaderChanges, captured: Captured) -> Self {
        let answer_has_captures = match &answer {
            Answer::Handle(_) | Answer::Try(_) => false,
            Answer::Redirect(redirect) => redirect.has_captures(),
            Answer::Respond(response) => response.has_captures(),
        };
        let is_read = answer_has_captures || headers.has_captures() || request_headers.has_captures();
        Self { captured: if is_read { captured } else { Captured::Nothing }, headers, request_headers, answer }
    }

    /// Whether a route with this outcome takes a request.
    pub(crate) fn is_for(&self, request: &Request, start: Start) -> Result<bool, Missed> {
        match &self.answer {
            // A fixed 200 would make a tunnel of the connection (RFC 9110 §9.3.6).
            Answer::Respond(_) if request.method == Method::CONNECT => Err(Missed::Tunnel),
            Answer::Try(_) => Ok(start.tries),
            _ => Ok(true),
        }
    }

    /// The outcome for a request with this path, whose handler may get another one.
    #[inline(never)]
    pub(crate) fn fill(
        &self,
        (path, own): (&RoutedPath<'_>, Option<&RoutedPath<'static>>),
        pattern: &PathPattern,
        request: &Request,
        client: &RequestClient<'_>,
    ) -> Filled {
        let captures = self.captured.captures(path.as_bytes(), pattern);
        let given = match own {
            Some(own) => own.source(request, client),
            None => path.source(request, client),
        };
        let source = Source { captures: &captures, ..given };
        let headers = self.headers.filled(&source);
        let mut response = match &self.answer {
            Answer::Handle(handler) => {
                let request_headers = self.request_headers.filled(&source);
                return Filled::Handle { handler: *handler, headers, request_headers };
            }
            Answer::Try(handler) => return Filled::Try { handler: *handler, headers },
            Answer::Redirect(redirect) => redirect.response(&source),
            Answer::Respond(response) => response.filled(&source),
        };
        headers.apply(response.status, &mut response.headers);
        Filled::Answer(response)
    }
}
