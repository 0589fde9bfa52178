//! Logins by a provider of OpenID Connect: the code flow with PKCE, and sessions in encrypted cookies.
//!
//! The server keeps no sessions and gives no token away: cookies are encrypted, browsers see a code and a state that are
//! of use to nobody else, and logs have neither. The state machine (`flow.rs`) has neither clock nor network, so that
//! each attack is a table of requests.
//!
//! | subject | file |
//! | --- | --- |
//! | what a request leads to: a login, a callback, a logout, a session | `flow.rs`, `flow/` |
//! | what binds a login to its browser: state, nonce, code verifier | `browser_state.rs` |
//! | sessions, and refreshing each of them once, whichever of several servers have it | `session.rs`, `refreshes.rs`, `sharing.rs` |
//! | cookies, and their encryption | `cookies.rs`, `seal.rs`, `cookie_key.rs` |
//! | where a browser goes afterwards | `return_path.rs` |
//! | what a provider publishes, its tokens, and its claims about users | `metadata.rs`, `token_response.rs`, `user_info.rs` |
//! | requests to the provider, on a thread of their own, and how many of a client | `provider.rs`, `provider/`, `exchange_limit.rs` |
//! | the login as a site uses it | `login.rs`, `settings.rs` |
//! | pages and forms | `pages.rs`, `form.rs` |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod browser_state;
mod cookie_key;
mod cookies;
mod exchange_limit;
mod flow;
mod form;
mod login;
mod metadata;
mod pages;
mod provider;
mod refreshes;
mod return_path;
mod seal;
mod session;
mod settings;
mod sharing;
mod token_response;
mod user_info;

pub use serow_fetch::TlsSettingsError;

pub use self::{
    cookie_key::{CookieKey, SecretFileError, read_secret},
    cookies::{has_own_cookies, without_own_cookies},
    flow::{Granted, LoginRequest},
    login::{Login, LoginVerdict},
    metadata::is_issuer,
    pages::Reply,
    provider::ProviderThread,
    settings::LoginSettings,
    sharing::{RefreshStore, RefreshTurn, RefreshedSession, Sharing, StoreFuture},
};
