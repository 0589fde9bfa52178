//! What a request must pass before it reaches the handler.

use std::{net::IpAddr, pin::Pin, sync::Arc, time::Duration};

use serow_access::{AddressRules, Authentication, Basic, Checking};
use serow_gateway::{TrustedProxies, error_page};
use serow_message::{Headers, KnownHeader, Request, Response, StatusCode, User};
use tokio::time::sleep;

use super::rate_limit::{Limited, RateLimit, whole_seconds};

/// What a request must pass before it reaches the handler of a site or a route; by default nothing.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Which addresses may send requests.
    pub addresses: Option<Arc<AddressRules>>,
    /// How often.
    pub limits: Vec<Arc<RateLimit>>,
    /// Which users may.
    pub users: Option<BasicUsers>,
    /// Whether an address or a user is enough.
    pub satisfy: Satisfy,
    /// Whose word about the client's address is taken.
    pub trust: Arc<TrustedProxies>,
}

/// Users with passwords.
#[derive(Clone, Debug)]
pub struct BasicUsers {
    /// The users.
    pub basic: Basic,
    /// What browsers show when they ask for a password: without quotation marks, backslashes and control characters.
    pub realm: Arc<str>,
    /// The field of the request that names the user to the handler, such as Remote-User; clients cannot set it.
    pub header: Option<Arc<str>>,
}

/// How many of address and user must be right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Satisfy {
    /// Both.
    #[default]
    All,
    /// One of them.
    Any,
}

/// What becomes of a request.
pub(crate) enum Admission {
    /// It goes on, with its user if it has one.
    Granted(Option<User>),
    /// It does not.
    Refused(Response),
    /// It waits, and then it goes on, with its user if it has one, or not.
    Pending(Pin<Box<dyn Future<Output = Result<Option<User>, Response>>>>),
}

/// What the limits have decided about a request, for its response.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    limited: Vec<(Arc<RateLimit>, Limited)>,
}

impl Guard {
    /// Whether every request passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.addresses.is_none() && self.limits.is_empty() && self.users.is_none()
    }

    /// Decides about a request. A preflight request needs no password: browsers send none with it.
    pub(crate) fn admit(&self, request: &Request, is_preflight: bool, passage: &mut Passage) -> Admission {
        let client = self.trust.client_address(&request.headers, request.connection());
        let is_address_right = self.addresses.as_ref().is_none_or(|rules| rules.allow(client));
        let users = self.users.as_ref().filter(|_| !is_preflight);
        let is_user_enough = self.satisfy == Satisfy::Any && self.users.is_some();
        if !is_address_right && !is_user_enough {
            return Admission::Refused(error_page(StatusCode::FORBIDDEN, &request.headers));
        }
        let wait = match self.limit(request, client, passage) {
            Ok(wait) => wait,
            Err(refusal) => return Admission::Refused(refusal),
        };
        // Without a list of addresses, every address would be enough.
        let is_address_enough = self.satisfy == Satisfy::Any && self.addresses.is_some() && is_address_right;
        let Some(users) = users.filter(|_| !is_address_enough) else {
            return delayed(wait, None);
        };
        match users.basic.authenticate(&request.headers, client) {
            Authentication::User(user) => delayed(wait, Some(User(user))),
            Authentication::Unknown => Admission::Refused(users.challenge(&request.headers)),
            Authentication::Checking(checking) => {
                let refusal = users.challenge(&request.headers);
                Admission::Pending(Box::pin(checked(wait, checking, refusal)))
            }
            Authentication::TooManyTries => {
                Admission::Refused(refusal(StatusCode::TOO_MANY_REQUESTS, RETRY_PASSWORD, &request.headers))
            }
            Authentication::Busy => {
                Admission::Refused(refusal(StatusCode::SERVICE_UNAVAILABLE, RETRY_PASSWORD, &request.headers))
            }
        }
    }

    /// Tells the handler who sends a request, and forgets what the client says about it.
    pub(crate) fn identify(&self, request: &mut Request, user: Option<User>) {
        if let Some(header) = self.users.as_ref().and_then(|users| users.header.as_deref()) {
            request.headers.remove(header);
            if let Some(user) = &user {
                // A name has no control characters.
                let _ = request.headers.append(header, user.0.as_bytes());
            }
        }
        user.into_iter().for_each(|user| drop(request.extensions.insert(user)));
    }

    /// How long the request waits for its limits.
    fn limit(&self, request: &Request, client: Option<IpAddr>, passage: &mut Passage) -> Result<Duration, Response> {
        let (mut longest, mut refused) = (Duration::ZERO, None);
        for limit in &self.limits {
            let limited = limit.decide(request, client);
            match limit.wait(&limited) {
                Ok(wait) => longest = longest.max(wait),
                Err(retry_after) => refused = Some(refused.unwrap_or(Duration::ZERO).max(retry_after)),
            }
            passage.limited.push((Arc::clone(limit), limited));
            if refused.is_some() {
                break;
            }
        }
        match refused {
            None => Ok(longest),
            Some(retry_after) => Err(refusal(StatusCode::TOO_MANY_REQUESTS, retry_after, &request.headers)),
        }
    }
}

impl Passage {
    /// Tells the limits and the client what the response was.
    pub(crate) fn finish(&self, response: &mut Response) {
        self.limited.iter().for_each(|(limit, limited)| limit.finish(limited, response));
    }
}

impl BasicUsers {
    /// RFC 7617 §2: asks for a name and a password.
    fn challenge(&self, headers: &Headers) -> Response {
        let mut response = error_page(StatusCode::UNAUTHORIZED, headers);
        let challenge = format!("Basic realm=\"{}\", charset=\"UTF-8\"", self.realm);
        // The settings have been checked.
        let _ = response.headers.insert(KnownHeader::WwwAuthenticate, challenge);
        response
    }
}

fn delayed(wait: Duration, user: Option<User>) -> Admission {
    if wait.is_zero() {
        return Admission::Granted(user);
    }
    Admission::Pending(Box::pin(async move {
        sleep(wait).await;
        Ok(user)
    }))
}

async fn checked(wait: Duration, checking: Checking, refusal: Response) -> Result<Option<User>, Response> {
    if !wait.is_zero() {
        sleep(wait).await;
    }
    checking.await.map(|user| Some(User(user))).ok_or(refusal)
}

fn refusal(status: StatusCode, retry_after: Duration, headers: &Headers) -> Response {
    let mut response = error_page(status, headers);
    // Digits: always a valid field.
    let _ = response.headers.insert(KnownHeader::RetryAfter, whole_seconds(retry_after).to_string());
    response
}

/// By then, some of the passwords that wait have been checked.
const RETRY_PASSWORD: Duration = Duration::from_secs(5);
