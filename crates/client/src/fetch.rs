//! Small HTTPS requests to other servers: to certificate authorities, for key sets, to identity providers.
//!
//! ```no_run
//! use bytes::Bytes;
//! use http::Request;
//! use serow_client::fetch::{FetchClient, FetchLimits, connector};
//!
//! # async fn fetched() -> Result<(), Box<dyn std::error::Error>> {
//! // On a thread with a local runtime, to which the connections belong; clones may be used on any thread.
//! let client = FetchClient::start(connector(None)?, FetchLimits::default());
//! let request = Request::get("https://example.com/jwks.json").body(Bytes::new())?;
//! println!("{}", client.fetch(request).await?.status());
//! # Ok(())
//! # }
//! ```
//!
//! Redirects are not followed: whoever controls the other server does not choose where requests go.
//!
//! | subject | file |
//! | --- | --- |
//! | the client, which other threads use as well | `fetch/fetch_client.rs` |
//! | its connections, and one exchange over them | `fetch/connections.rs` |
//! | why there is no response | `fetch/error.rs` |

mod connections;
mod error;
mod fetch_client;

pub use crate::{TlsConnector, TlsSettingsError};

pub use self::{
    error::FetchError,
    fetch_client::{FetchClient, FetchLimits, connector},
};
