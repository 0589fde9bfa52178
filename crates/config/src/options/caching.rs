//! How long clients keep what they got, and how much the server keeps in memory.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::{CacheControlRule, Count, ExpiresRule, Size};

/// How long clients keep what they got, and how much the server keeps in memory.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<CachingOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Caching")]
pub struct CachingOptions {
    /// How long clients may keep what they got: 24h, or '/assets/*=365d' (repeatable).
    ///
    /// Sends Cache-Control: max-age and Expires. The first pattern that fits counts; what is without a pattern is for
    /// all other paths.
    #[arg(long, value_name = "[PATTERN=]TIME")]
    pub expires: Vec<ExpiresRule>,

    /// The same in words: no-cache, or '*.js=public, max-age=600' (repeatable).
    ///
    /// Sends them as Cache-Control. Where patterns of both options fit, this one counts.
    #[arg(long, value_name = "[PATTERN=]TEXT")]
    pub cache_control: Vec<CacheControlRule>,

    /// Paths each core remembers, found or missing.
    ///
    /// What is remembered is compared with the folder once a second.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub cache_entries: Count<0, 0xffff_ffff>,

    /// Files each core keeps open.
    #[arg(long, value_name = "N", default_value = "128")]
    pub cache_files: Count<0, 0xffff_ffff>,

    /// Memory for the contents of small files, for each core.
    #[arg(long, value_name = "SIZE", default_value = "32M")]
    pub cache_memory: Size,

    /// The largest file whose contents are kept in memory.
    #[arg(long, value_name = "SIZE", default_value = "64k")]
    pub cache_largest: Size,
}
