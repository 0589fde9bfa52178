//! Which server is asked.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::{HashRule, Span, choice};

/// Which server is asked.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<BalancingOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Balancing")]
pub struct BalancingOptions {
    /// Which server is asked: round-robin, least-requests, latency or hash.
    ///
    /// round-robin: each in turn, in proportion to the weights. least-requests: the one with the fewest requests under way.
    /// latency: the better of two chosen at random, by how quickly they answered and by what they have under way. hash: the
    /// same one for the same client, or for whatever --hash-key says; when a server comes or goes, few others change theirs.
    #[arg(long, value_name = "round-robin|least-requests|latency|hash", default_value = "round-robin")]
    #[arg(hide_possible_values = true)]
    pub balance: BalanceChoice,

    /// What of a request decides, with --balance hash: client, path, target, host, header:NAME, cookie:NAME or query:NAME.
    ///
    /// client is its address, target the path with the query. Requests without such a field are shared out evenly.
    #[arg(long, value_name = "KEY", default_value = "client")]
    pub hash_key: HashRule,

    /// Within which time a server that came back gets its whole share again; 0 is at once.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub slow_start: Span,
}

/// How requests are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BalanceChoice {
    /// In turns.
    #[value(help = None)]
    RoundRobin,
    /// To the one with the fewest.
    #[value(help = None)]
    LeastRequests,
    /// To the better of two.
    #[value(help = None)]
    Latency,
    /// By a value of the request.
    #[value(help = None)]
    Hash,
}

choice!(BalanceChoice, "Balance");
