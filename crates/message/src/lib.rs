//! The words all parts of Serow share.
//!
//! The heads of messages ([`RequestHead`], [`ResponseHead`], [`Headers`], [`Target`]) need no operating system, and the
//! protocol crates see only them. With the feature `std` (on by default) come the whole messages: [`Request`],
//! [`Response`], [`Body`], the seam [`Handler`], and the adapters to `tower` and `http`.
//!
//! ```
//! use serow_message::{Request, Response};
//!
//! // A handler is an async function from a request to a response.
//! async fn hello(request: Request) -> Response {
//!     Response::text(format!("Hello, {}!", request.target.path()))
//! }
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod authority;
mod coding;
mod constant_field;
pub mod content;
mod field;
mod head;
mod headers;
pub mod hop_by_hop;
mod known_names;
mod list;
mod packed_headers;
mod pattern;
pub mod percent;
mod priority;
mod protocol;
pub mod proxy_protocol;
mod refusal;
mod stable_hash;
mod target;
mod usage_error;
pub mod weight;

pub use coding::Coding;
pub use constant_field::ConstantField;
pub use content::BodyLength;
pub use field::{FieldName, InvalidHeader, KnownHeader, is_token_byte, text_length};
pub use head::{RequestHead, ResponseHead};
pub use headers::{HeaderIter, Headers};
pub use http::{Extensions, Method, StatusCode, Version};
pub use known_names::KnownNames;
pub use list::{FieldsInPlace, HeadFields, ReceivedFields, Span};
pub use packed_headers::{KnownFields, PackedHeaders};
pub use pattern::{Pattern, Template};
pub use priority::{PartialPriority, Priority};
pub use protocol::Protocol;
pub use refusal::refusal_text;
pub use stable_hash::{StableHash, StableHasher};
pub use target::{InvalidTarget, Target, TargetForm};
pub use usage_error::UsageError;

#[cfg(feature = "std")]
mod adapter;
#[cfg(feature = "std")]
mod address;
#[cfg(feature = "std")]
mod attempts;
#[cfg(feature = "std")]
mod body;
#[cfg(feature = "std")]
mod boxed_handler;
#[cfg(feature = "std")]
mod cache_status;
#[cfg(feature = "std")]
mod certificate_name;
#[cfg(feature = "std")]
mod claims;
#[cfg(feature = "std")]
mod client_field;
#[cfg(feature = "std")]
mod client_network;
#[cfg(feature = "std")]
mod client_target;
#[cfg(feature = "std")]
mod connection;
#[cfg(feature = "std")]
mod conversion;
#[cfg(feature = "std")]
mod file;
#[cfg(feature = "std")]
mod handler;
#[cfg(feature = "std")]
mod incoming;
#[cfg(feature = "std")]
mod informational;
#[cfg(feature = "std")]
mod into_response;
#[cfg(feature = "std")]
mod log_fields;
#[cfg(feature = "std")]
mod log_limit;
#[cfg(feature = "std")]
mod network;
#[cfg(feature = "std")]
mod network_map;
#[cfg(feature = "std")]
mod network_set;
#[cfg(feature = "std")]
mod origin;
#[cfg(feature = "std")]
#[cfg_attr(not(unix), path = "no_pipe.rs")]
mod pipe;
#[cfg(feature = "std")]
mod redis_url;
#[cfg(feature = "std")]
mod request;
#[cfg(feature = "std")]
mod request_client;
#[cfg(feature = "std")]
mod request_context;
#[cfg(feature = "std")]
mod request_id;
#[cfg(feature = "std")]
mod response;
#[cfg(feature = "std")]
mod route_note;
#[cfg(feature = "std")]
mod served;
#[cfg(feature = "std")]
mod server_address;
#[cfg(feature = "std")]
mod trusted_proxies;
#[cfg(feature = "std")]
mod unanswered;
#[cfg(feature = "std")]
mod upgrade;
#[cfg(feature = "std")]
mod user;
#[cfg(feature = "std")]
pub mod websocket;
#[cfg(feature = "std")]
mod worker_cores;

#[cfg(feature = "json")]
pub use self::into_response::Json;
#[cfg(feature = "std")]
pub use self::{
    adapter::{HandlerExt, HandlerService, ServiceHandler},
    address::{Address, AddressError},
    attempts::{Attempt, Attempts},
    body::{Body, BodyKind, BodyPiece, BoxError, StreamBody},
    boxed_handler::BoxedHandler,
    cache_status::{CacheStatus, ForwardReason, HitState},
    certificate_name::{CertificateName, CertificateNameError},
    claims::{ClaimSource, Claims},
    client_field::ClientField,
    client_network::{ClientNetwork, ClientNetworkError},
    client_target::ClientTarget,
    connection::{Connection, Encryption, HandshakeStage, Peer, PeerCredentials, Scheme},
    file::{FileChanged, FileRange, FileVersion},
    handler::Handler,
    incoming::{BodySender, Incoming, IncomingError, Wanted},
    informational::{InformationalQueue, InformationalSender},
    log_fields::LogFields,
    log_limit::LogLimit,
    network::{Network, NetworkError},
    network_map::NetworkMap,
    network_set::NetworkSet,
    origin::{Origin, OriginError},
    pipe::{Pipe, PipedBytes},
    redis_url::{RedisPlace, RedisUrl, RedisUrlError},
    request::Request,
    request_client::RequestClient,
    request_context::RequestContext,
    request_id::RequestId,
    response::Response,
    route_note::{AccessNote, LimitStatus, RouteNote},
    served::{AccessLog, Served, ServedStream},
    server_address::{ServerAddress, ServerAddressError, ServerLocation},
    trusted_proxies::TrustedProxies,
    unanswered::Unanswered,
    upgrade::{OnUpgrade, PendingUpgrade, UpgradeRefused, Upgraded, UpgradedIo},
    user::User,
    worker_cores::{WorkerCores, WorkerCoresTextError},
};
