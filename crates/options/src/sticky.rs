//! Sticky sessions.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Switch, without_options};
use serow_document::values::{Span, choice};

/// Sticky sessions.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<StickyOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Sticky sessions")]
pub struct StickyOptions {
    /// Sticky sessions, by a cookie: off, insert, prefix or rewrite.
    ///
    /// insert: the proxy sets a cookie of its own and removes it from requests to the servers. prefix: the proxy adds
    /// the name of the server and ~ in front of the value of a cookie that the server sets. rewrite: the proxy
    /// replaces the value of a cookie that the server sets.
    #[arg(long, value_name = "off|insert|prefix|rewrite", default_value = "off", hide_possible_values = true)]
    pub sticky: StickyChoice,

    /// Name of the cookie.
    #[arg(long, value_name = "NAME", default_value = "route")]
    pub sticky_cookie: String,

    /// How long browsers keep the cookie [default: until the browser is closed]
    #[arg(long, value_name = "TIME")]
    pub sticky_max_age: Option<Span>,

    /// Domain of the cookie [default: the requested host]
    #[arg(long, value_name = "DOMAIN")]
    pub sticky_domain: Option<String>,

    /// Path of the cookie.
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub sticky_path: String,

    /// Name of the server in the cookie: plain (its id, or else its address) or hashed.
    #[arg(long, value_name = "plain|hashed", default_value = "hashed", hide_possible_values = true)]
    pub sticky_value: StickyValueChoice,

    /// Whether to use another server if the session's server is unavailable; otherwise the response is 503.
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true)]
    pub sticky_fallback: Switch,
}

/// The origin of the session cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StickyChoice {
    /// None: there is no session cookie.
    #[value(help = None)]
    Off,
    /// The proxy.
    #[value(help = None)]
    Insert,
    /// The server; the proxy adds to it.
    #[value(help = None)]
    Prefix,
    /// The server; the proxy replaces its value.
    #[value(help = None)]
    Rewrite,
}

/// Name of the server in the session cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StickyValueChoice {
    /// Its id, or its address.
    #[value(help = None)]
    Plain,
    /// A digest of it.
    #[value(help = None)]
    Hashed,
}

choice!(StickyChoice, "Sticky");
choice!(StickyValueChoice, "StickyValue");
