//! The sender of a request, as a check has found out.

use std::{pin::Pin, sync::Arc};

use bytes::Bytes;
use serow_message::{Claims, Headers, Request, Response, RouteNote, User};

/// The sender of a request, and what handler and client learn of it.
#[derive(Debug, Default)]
pub struct Identity {
    /// The user, if the check names one.
    pub(crate) user: Option<User>,
    /// The claims of the user's token.
    pub(crate) claims: Option<Claims>,
    /// Fields of the request that tell the handler about the user. Fields of the client with these names are removed.
    pub(crate) request_fields: Vec<(Arc<str>, Bytes)>,
    /// Fields that the response gets in addition, such as the cookie of a session.
    pub(crate) response_fields: Vec<(Arc<str>, Bytes)>,
}

/// The outcome of a check.
pub(crate) enum Verdict {
    /// The request has passed.
    Passed(Identity),
    /// It has not: the response tells the client what is missing.
    Refused(Response),
    /// It takes a moment to find out.
    Pending(PendingIdentity),
}

/// The sender of a request, or the response to somebody who must not; later.
pub type PendingIdentity = Pin<Box<dyn Future<Output = Result<Identity, Response>>>>;

impl Identity {
    /// This user.
    pub(crate) fn of_user(user: User) -> Self {
        Self { user: Some(user), ..Self::default() }
    }

    /// The outcome of several checks: the last that names a user counts.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.user = other.user.or(self.user);
        self.claims = other.claims.or(self.claims);
        self.request_fields.extend(other.request_fields);
        self.response_fields.extend(other.response_fields);
        self
    }

    /// Tells the handler who sends a request. The fields that name users have been removed from it.
    #[inline]
    pub(crate) fn describe(self, request: &mut Request) -> ResponseFields {
        append(&mut request.headers, &self.request_fields);
        if let Some(note) = request.extensions.get::<RouteNote>() {
            self.user.iter().for_each(|user| note.set_user(Arc::clone(&user.0)));
            self.claims.iter().for_each(|claims| note.set_claims(claims.clone()));
        }
        self.user.into_iter().for_each(|user| drop(request.extensions.insert(user)));
        self.claims.into_iter().for_each(|claims| drop(request.extensions.insert(claims)));
        ResponseFields(self.response_fields)
    }
}

/// Fields that a response gets because of who sent the request.
#[derive(Debug, Default)]
pub struct ResponseFields(Vec<(Arc<str>, Bytes)>);

impl ResponseFields {
    /// Appends them.
    #[inline]
    pub(crate) fn apply(&self, response: &mut Response) {
        append(&mut response.headers, &self.0);
    }
}

fn append(headers: &mut Headers, fields: &[(Arc<str>, Bytes)]) {
    for (name, value) in fields {
        // Checks give values without control characters; others are left out.
        let _ = headers.append(&**name, value);
    }
}
