//! Requests that other servers answer: balancing, health, retries.
#![forbid(unsafe_code)]
#![allow(dead_code)]

mod address;
mod answer;
mod balancing;
mod counters;
mod failure;
mod forwarded;
mod forwarding;
mod health;
mod http1;
mod latency;
mod local;
mod outlier;
mod pool;
mod proxy;
mod retry;
mod selection;
mod server;
mod settings;
mod sticky;
mod tunnel;
mod upstream;

pub use self::{
    address::{Place, ServerAddress, ServerAddressError},
    balancing::{Balancing, HashKey},
    forwarded::{Forwarded, ForwardedFields, Network},
    health::{CheckKind, CheckSettings, CheckStart, HttpCheck},
    outlier::PassiveSettings,
    proxy::Proxy,
    retry::RetrySettings,
    server::{Administration, Server},
    settings::{
        BufferSettings, ForwardingSettings, HostSetting, KeepSettings, ProxyHeader, QueueSettings, ServerSettings,
        UpstreamSettings, UpstreamTimeouts,
    },
    sticky::{StickyMode, StickySettings, StickyValue},
    upstream::Upstream,
};
