//! Compression and caching of the responses of an application or a proxy: `--compress`, `--cache`.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use serow_config::values::{Codings, Size};
use serow_site::{
    CacheFolder, CacheSettings, CacheStore, Compression, Content, PhaseSettings, RouteCache, RouteHandler, RoutePolicy,
};

/// The options for responses of `serow app` and `serow proxy`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Responses")]
pub(crate) struct ResponseOptions {
    /// Whether to compress text on the fly with zstd, br or gzip, as the client prefers.
    ///
    /// br,gzip: only these encodings, and the first one if the client has no preference; on means zstd,br,gzip. Streams
    /// are sent as they arrive. Responses that are compressed already, or have Cache-Control: no-transform, stay as they
    /// are. Do not compress pages that repeat parts of a request next to secrets: their length gives the secrets away
    /// (BREACH).
    #[arg(long, value_name = "on|off|CODINGS", default_value = "off")]
    compress: Codings,

    /// Memory in which responses are cached, such as 256M [default: nothing is cached]
    ///
    /// Only what responses say with Cache-Control, Expires or a validator decides about their caching (RFC 9111). A response
    /// of more than 8M, or of more than a quarter of the memory, is not stored. Cache-Status tells what the cache did.
    #[arg(long, value_name = "SIZE")]
    cache: Option<Size>,

    /// Folder in which cached responses are kept as well, so that they outlive restarts and crashes
    ///
    /// The server creates it. It is for one server only, and nobody else may write to it.
    #[arg(long, value_name = "DIR", requires = "cache")]
    cache_dir: Option<PathBuf>,

    /// Disk space that --cache-dir may take
    #[arg(long, value_name = "SIZE", requires = "cache_dir", default_value = "10G")]
    cache_dir_size: Size,
}

impl ResponseOptions {
    /// The policy that does it, around a handler that responds with this.
    pub(crate) fn policy(self, served: String) -> ResponsePolicy {
        let defaults = Compression::default();
        let codings = self.compress.or(defaults.codings.clone());
        let compression = (!codings.is_empty()).then_some(Compression { codings, ..defaults });
        let store = self.cache.map(|size| {
            let store = CacheStore::in_memory(size.0, CacheStore::default_max_object(size.0));
            let folder = self.cache_dir.map(|path| CacheFolder {
                path,
                size: self.cache_dir_size.0,
                max_object: CacheFolder::MAX_OBJECT,
            });
            folder.map_or(store.clone(), |folder| store.with_folder(folder))
        });
        // The next process that uses the folder may have another handler.
        let cache = store.clone().map(|store| RouteCache::new(store, CacheSettings::default(), served));
        ResponsePolicy { policy: RoutePolicy { compression, ..RoutePolicy::default() }, cache, store }
    }
}

/// The compression and caching of responses.
pub(crate) struct ResponsePolicy {
    policy: RoutePolicy,
    cache: Option<RouteCache>,
    store: Option<CacheStore>,
}

impl ResponsePolicy {
    /// Where responses are stored, if they are.
    pub(crate) fn store(&self) -> Option<CacheStore> {
        self.store.clone()
    }

    /// This content, with the policy around it.
    pub(crate) fn around(self, content: Content) -> RouteHandler {
        let (policy, cache) = (Arc::new(self.policy), self.cache);
        RouteHandler::new(content, PhaseSettings { policy, cache, ..PhaseSettings::default() })
    }
}
