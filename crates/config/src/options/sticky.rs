//! Session cookies.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Switch, without_options};
use crate::values::{Span, choice};

/// Session cookies.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<StickyOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Sessions")]
pub struct StickyOptions {
    /// Whether a client stays with the server that it had first, by a cookie: off, insert, prefix or rewrite.
    ///
    /// insert: the cookie is this server's own, and the others do not see it. prefix: it is one that they set, with the
    /// server's name and ~ put before its value. rewrite: one that they set, and whose value is replaced.
    #[arg(long, value_name = "off|insert|prefix|rewrite", default_value = "off", hide_possible_values = true)]
    pub sticky: StickyChoice,

    /// The name of the cookie.
    #[arg(long, value_name = "NAME", default_value = "route")]
    pub sticky_cookie: String,

    /// How long browsers keep the cookie [default: until they are closed]
    #[arg(long, value_name = "TIME")]
    pub sticky_max_age: Option<Span>,

    /// The domain that the cookie is for [default: the host that was asked for]
    #[arg(long, value_name = "DOMAIN")]
    pub sticky_domain: Option<String>,

    /// The path that the cookie is for.
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub sticky_path: String,

    /// How servers are called in the cookie: hashed, or plain, which is their id or else their address.
    #[arg(long, value_name = "plain|hashed", default_value = "hashed", hide_possible_values = true)]
    pub sticky_value: StickyValueChoice,

    /// Whether another server is asked where the client's own cannot be; without, the answer is 503 then.
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true)]
    pub sticky_fallback: Switch,
}

/// Who sets the session cookie, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StickyChoice {
    /// There is none.
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

/// How servers are called in the session cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StickyValueChoice {
    /// By their id, or their address.
    #[value(help = None)]
    Plain,
    /// By a digest of it.
    #[value(help = None)]
    Hashed,
}

choice!(StickyChoice, "Sticky");
choice!(StickyValueChoice, "StickyValue");
