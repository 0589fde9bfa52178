//! Requests that other servers answer: balancing, health, retries.
#![forbid(unsafe_code)]
#![allow(dead_code)]

mod address;
mod answer;
mod balancing;
mod cookies;
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
mod report;
mod retry;
mod selection;
mod server;
mod settings;
mod sticky;
mod tunnel;
mod upkeep;
mod upstream;

pub use self::{
    address::{Place, ServerAddress, ServerAddressError},
    balancing::{Balancing, HashKey},
    forwarded::{Forwarded, ForwardedFields, Network},
    health::{CheckKind, CheckSettings, CheckStart, HttpCheck},
    outlier::PassiveSettings,
    proxy::Proxy,
    report::{CheckReport, ServerReport, ServerState, UpstreamReport},
    retry::RetrySettings,
    server::{Administration, Server},
    settings::{
        BufferSettings, ForwardingSettings, HostSetting, KeepSettings, ProxyHeader, QueueSettings, ServerSettings,
        UpstreamSettings, UpstreamTimeouts,
    },
    sticky::{StickyMode, StickySettings, StickyValue},
    upkeep::Upkeep,
    upstream::Upstream,
};
