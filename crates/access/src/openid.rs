//! Logins by a provider of OpenID Connect: the code flow with PKCE, and sessions in encrypted cookies.
//!
//! The server keeps no sessions and gives no token away: cookies are encrypted, browsers see a code and a state that are
//! of use to nobody else, and logs have neither. The state machine (`openid/flow.rs`) has neither clock nor network, so that
//! each attack is a table of requests.
//!
//! | subject | file |
//! | --- | --- |
//! | what a request leads to: a login, a callback, a logout, a session | `openid/flow.rs`, `openid/flow/` |
//! | what binds a login to its browser: state, nonce, code verifier | `openid/browser_state.rs` |
//! | sessions, and refreshing each of them once, whichever of several servers have it | `openid/session.rs`, `openid/refreshes.rs`, `openid/sharing.rs` |
//! | cookies, and their encryption | `openid/cookies.rs`, `openid/seal.rs`, `openid/cookie_key.rs` |
//! | where a browser goes afterwards | `openid/return_path.rs` |
//! | what a provider publishes, its tokens, and its claims about users | `openid/metadata.rs`, `openid/token_response.rs`, `openid/user_info.rs` |
//! | requests to the provider, on a thread of their own, and how many of a client | `openid/provider.rs`, `openid/provider/`, `openid/exchange_limit.rs` |
//! | the login as a site uses it | `openid/login.rs`, `openid/settings.rs` |
//! | pages and forms | `openid/pages.rs`, `openid/form.rs` |

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

pub use serow_client::fetch::TlsSettingsError;

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
