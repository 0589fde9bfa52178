//! Load balancing.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::{HashRule, Span, choice};

/// Load balancing.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<BalancingOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Balancing")]
pub struct BalancingOptions {
    /// Load balancing algorithm: round-robin, least-requests, latency or hash.
    ///
    /// round-robin: each server in turn, in proportion to its weight. least-requests: the server with the fewest
    /// requests in flight. latency: the better of two servers chosen at random, judged by response times and requests
    /// in flight. hash: the same server for the same client, or for the same value of --hash-key; when a server joins
    /// or leaves, few other clients move.
    #[arg(long, value_name = "round-robin|least-requests|latency|hash", default_value = "round-robin")]
    #[arg(hide_possible_values = true)]
    pub balance: BalanceChoice,

    /// The key for --balance hash: client, path, target, host, header:NAME, cookie:NAME or query:NAME.
    ///
    /// client is the client address, target is the path with the query. Requests without the header, cookie or query
    /// parameter are distributed evenly.
    #[arg(long, value_name = "KEY", default_value = "client")]
    pub hash_key: HashRule,

    /// Time during which the share of a recovered server grows from zero to its full weight; 0 disables the ramp.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub slow_start: Span,
}

/// A load balancing algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BalanceChoice {
    /// Each server in turn.
    #[value(help = None)]
    RoundRobin,
    /// The server with the fewest requests in flight.
    #[value(help = None)]
    LeastRequests,
    /// The better of two servers.
    #[value(help = None)]
    Latency,
    /// By a value of the request.
    #[value(help = None)]
    Hash,
}

choice!(BalanceChoice, "Balance");
