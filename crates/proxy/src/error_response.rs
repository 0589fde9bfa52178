//! The response of the proxy itself, where no server answers.

use serow_gateway::{ErrorReason, error_page};
use serow_message::{Headers, Response};

use crate::{request_head, settings::ForwardingSettings};

/// The error page for this request, with the fields that are set in all responses.
pub(crate) fn respond(reason: ErrorReason, request: &Headers, settings: &ForwardingSettings) -> Response {
    let mut response = error_page(reason, request);
    request_head::apply(&settings.response_headers, &mut response.headers);
    response
}

#[cfg(test)]
mod tests {
    use serow_message::StatusCode;

    use super::*;

    #[test]
    fn fields_that_are_set_in_responses_are_set_here_too() {
        let settings = ForwardingSettings {
            response_headers: vec![("x-frame-options".to_owned(), "DENY".to_owned())],
            ..ForwardingSettings::default()
        };
        let answer = respond(StatusCode::BAD_GATEWAY.into(), &Headers::new(), &settings);
        assert_eq!(answer.headers.get_str("X-Frame-Options"), Some("DENY"));
    }
}
