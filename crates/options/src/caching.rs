//! Browser caching, and the cache of the server.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::{CacheControlRule, Count, ExpiresRule, Size};

/// Browser caching, and the cache of the server.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<CachingOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Caching")]
pub struct CachingOptions {
    /// How long clients may cache responses: 24h, or '/assets/*=365d' (repeatable).
    ///
    /// Sends Cache-Control: max-age and Expires. The first matching pattern applies; a value without a pattern
    /// applies to all other paths.
    #[arg(long, value_name = "[PATTERN=]TIME")]
    pub expires: Vec<ExpiresRule>,

    /// The value of Cache-Control: no-cache, or '*.js=public, max-age=600' (repeatable).
    ///
    /// It takes precedence over --expires where patterns of both match.
    #[arg(long, value_name = "[PATTERN=]TEXT")]
    pub cache_control: Vec<CacheControlRule>,

    /// Number of paths, found or missing, in the cache of each worker.
    ///
    /// Cached entries are checked against the folder once a second.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub cache_entries: Count<0, 0xffff_ffff>,

    /// Number of open files in the cache of each worker.
    #[arg(long, value_name = "N", default_value = "128")]
    pub cache_files: Count<0, 0xffff_ffff>,

    /// Memory for the contents of small files in the cache of each worker.
    #[arg(long, value_name = "SIZE", default_value = "32M")]
    pub cache_memory: Size,

    /// Largest file whose contents are cached in memory.
    #[arg(long, value_name = "SIZE", default_value = "64k")]
    pub cache_largest: Size,
}
