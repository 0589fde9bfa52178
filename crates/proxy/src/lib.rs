//! Requests that other servers answer: balancing, health, retries.
#![forbid(unsafe_code)]
#![allow(dead_code)]

mod address;
mod answer;
mod balancing;
mod cookies;
mod counters;
mod failure;
mod failure_page;
mod forwarded;
mod forwarding;
mod health;
mod http1;
mod latency;
mod local;
mod names;
mod network;
mod outlier;
mod path_prefix;
mod pool;
mod proxy;
mod queue;
mod report;
mod request_head;
mod response_head;
mod retry;
mod selection;
mod server;
mod settings;
mod sticky;
mod tunnel;
mod upkeep;
mod upstream;
mod via;

pub use self::{
    address::{Place, ServerAddress, ServerAddressError},
    balancing::{Balancing, HashKey},
    forwarded::{Forwarded, ForwardedFields},
    health::{CheckKind, CheckSettings, CheckStart, HttpCheck},
    names::NameSettings,
    network::{Network, NetworkError},
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
