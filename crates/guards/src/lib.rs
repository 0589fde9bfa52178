//! Guards: the checks that a request must pass before it reaches the handler of a site or a route.
//!
//! A [`Guard`] has the rules of a site or a route, and decides about each request: it goes on, it is refused, or it waits
//! for a limit, a password, a key or another server. The response to it tells the limits and the client the outcome.
//!
//! | subject | file |
//! | --- | --- |
//! | the order of the checks, and the decision about a request | `guard.rs` |
//! | how often requests come; clients that are banned for it | `rate_limit.rs`, `limit_ban.rs` |
//! | requests of a client at the same time | `client_requests.rs` |
//! | requests refused because of the client's address | `refused_addresses.rs` |
//! | who sends a request: several checks together, and what handler and client learn | `identity_checks.rs`, `identity.rs` |
//! | users with passwords, and those with certificates | `basic_users.rs`, `client_certificates.rs` |
//! | tokens (JWT), and where requests have them | `tokens.rs`, `token_place.rs` |
//! | another server that decides | `forward_auth.rs`, `forward_auth/` |
//! | logins by OpenID Connect | `login_check.rs` |
//! | the mark of requests whose user is known; what an error page needs to know of the guards before | `identified.rs`, `guard_notes.rs` |
//! | parts that run beside requests | `access_control.rs` |
//! | lines of the log about refusals | `refusal_log.rs` |
#![forbid(unsafe_code)]

mod access_control;
mod basic_users;
mod client_certificates;
mod client_requests;
mod forward_auth;
mod guard;
mod guard_notes;
mod identified;
mod identity;
mod identity_checks;
mod limit_ban;
mod login_check;
mod rate_limit;
mod refusal_log;
mod refused_addresses;
mod token_place;
mod tokens;

pub use self::{
    access_control::AccessControl,
    basic_users::BasicUsers,
    client_certificates::ClientCertificates,
    client_requests::ClientRequests,
    forward_auth::{ForwardAuth, ForwardAuthSettings},
    guard::{AccessDecision, AccessOutcome, Guard, Satisfy},
    guard_notes::GuardNotes,
    identified::Identified,
    identity::{Identity, PendingIdentity, ResponseFields},
    identity_checks::IdentityChecks,
    login_check::LoginCheck,
    rate_limit::{RateLimit, RateLimitCounts},
    refusal_log::log_refusal,
    refused_addresses::RefusedAddresses,
    token_place::TokenPlace,
    tokens::Tokens,
};
