//! Users with passwords, and the challenge for those without.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use serow_access::{Authentication, Basic, Checking};
use serow_gateway::error_page;
use serow_message::{Headers, KnownHeader, Request, Response, StatusCode, User};

use crate::{
    guard::refusal,
    identity::{Identity, Verdict},
};

/// Users with passwords.
#[derive(Clone, Debug)]
pub struct BasicUsers {
    /// The users.
    pub basic: Basic,
    /// The realm, which browsers may show when they ask for a password: without quotation marks, backslashes and
    /// control characters.
    pub realm: Arc<str>,
    /// The field of the request that names the user to the handler, such as Remote-User; clients cannot set it.
    pub header: Option<Arc<str>>,
}

impl BasicUsers {
    /// Finds out which user sends a request.
    pub(crate) fn check(&self, request: &Request, client: Option<IpAddr>) -> Verdict {
        match self.basic.authenticate(&request.headers, client) {
            Authentication::User(user) => Verdict::Passed(identity(self.header.as_ref(), user)),
            Authentication::Unknown => Verdict::Refused(self.challenge(&request.headers)),
            Authentication::Checking(checking) => {
                let (refusal, header) = (self.challenge(&request.headers), self.header.clone());
                Verdict::Pending(Box::pin(checked(checking, header, refusal)))
            }
            Authentication::TooManyTries => {
                Verdict::Refused(refusal(StatusCode::TOO_MANY_REQUESTS, RETRY_PASSWORD, &request.headers))
            }
            Authentication::Busy => {
                Verdict::Refused(refusal(StatusCode::SERVICE_UNAVAILABLE, RETRY_PASSWORD, &request.headers))
            }
        }
    }

    /// RFC 7617 §2: asks for a name and a password.
    fn challenge(&self, headers: &Headers) -> Response {
        let mut response = error_page(StatusCode::UNAUTHORIZED, headers);
        let challenge = format!("Basic realm=\"{}\", charset=\"UTF-8\"", self.realm);
        // The settings have been checked.
        let _ = response.headers.insert(KnownHeader::WwwAuthenticate, challenge);
        response
    }
}

async fn checked(checking: Checking, header: Option<Arc<str>>, refusal: Response) -> Result<Identity, Response> {
    checking.await.map(|user| identity(header.as_ref(), user)).ok_or(refusal)
}

fn identity(header: Option<&Arc<str>>, user: Arc<str>) -> Identity {
    let value = |name: &Arc<str>| (Arc::clone(name), Bytes::copy_from_slice(user.as_bytes()));
    let request_fields = header.map(value).into_iter().collect();
    Identity { request_fields, ..Identity::of_user(User(user)) }
}

/// By then, some of the passwords that wait have been checked.
const RETRY_PASSWORD: Duration = Duration::from_secs(5);
