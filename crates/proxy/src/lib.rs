//! Requests that other servers answer: balancing, health, retries.
#![forbid(unsafe_code)]

mod address;
mod balancing;
mod counters;
mod forwarded;
mod health;
mod latency;
mod outlier;
mod retry;
mod server;
mod settings;
mod sticky;
mod upstream;

pub use self::{
    address::{Place, ServerAddress, ServerAddressError},
    balancing::{Balancing, HashKey},
    forwarded::{Forwarded, ForwardedFields, Network},
    health::{CheckKind, CheckSettings, CheckStart, HttpCheck},
    outlier::PassiveSettings,
    retry::RetrySettings,
    server::{Administration, Server},
    settings::{
        BufferSettings, ForwardingSettings, HostSetting, KeepSettings, ProxyHeader, QueueSettings, ServerSettings,
        UpstreamSettings, UpstreamTimeouts,
    },
    sticky::{StickyMode, StickySettings, StickyValue},
    upstream::Upstream,
};
