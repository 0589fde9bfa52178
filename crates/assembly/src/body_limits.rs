//! How long the bodies of requests may be.

use std::sync::Arc;

use serow::Limits;
use serow_config::{
    options::LimitOptions,
    tables::sites::{SiteContent, SiteTable},
    values::SizeLimit,
};
use serow_site::RoutePolicy;

/// How long the bodies of requests may be: those of the whole server, and those of each handler.
///
/// The server refuses a body that no handler takes before it looks for one, at no cost for other requests. Only handlers
/// that take less have a policy that refuses the bodies between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    /// The limit at the root.
    root: Option<SizeLimit>,
    /// Bytes that the server takes: as many as the handler that takes the most.
    largest: u64,
}

/// A handler that reads bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyReader {
    /// The limit of its route or site.
    pub(crate) limit: Option<SizeLimit>,
    /// Whether clients upload files to it.
    pub(crate) is_written: bool,
}

impl BodyReader {
    /// The handlers of a site that read bodies.
    fn of_site(site: &SiteTable) -> Vec<Self> {
        let limit = site.policy.max_body;
        match &site.content {
            SiteContent::App(_) | SiteContent::Cgi(_) | SiteContent::Php(_) | SiteContent::Proxy(_) => {
                vec![Self { limit, is_written: false }]
            }
            SiteContent::Files(files) => vec![Self { limit, is_written: files.is_written() }],
            SiteContent::Routes(routes) => {
                let readers = routes.iter().filter_map(|route| {
                    let is_written = route.handler.is_written()?;
                    Some(Self { limit: route.policy.max_body.or(limit), is_written })
                });
                readers.collect()
            }
        }
    }
}

impl BodyLimits {
    /// Finds the limits of these sites, and sets that of the server. A server that goes on with other settings has a limit
    /// already, which is enough for handlers that take less.
    pub(crate) fn set(options: &mut LimitOptions, sites: &[SiteTable], kept: Option<u64>) -> Self {
        let limits = Self { root: options.max_body, largest: u64::MAX };
        let readers = sites.iter().flat_map(BodyReader::of_site);
        let of_readers = readers.map(|reader| limits.limit(reader)).max();
        let needed = of_readers.unwrap_or_else(|| limits.root.map_or(Limits::default().body, |limit| limit.0));
        let largest = kept.map_or(needed, |kept| kept.max(needed));
        options.max_body = Some(SizeLimit(largest));
        Self { largest, ..limits }
    }

    /// Bytes that the server takes.
    pub(crate) fn largest(self) -> u64 {
        self.largest
    }

    /// This policy around this handler, with the limit that the server does not enforce itself.
    pub(crate) fn enforced(self, reader: BodyReader, policy: Arc<RoutePolicy>) -> Arc<RoutePolicy> {
        let limit = self.limit(reader);
        let max_body = (limit < self.largest).then_some(limit);
        match policy.max_body == max_body {
            true => policy,
            false => Arc::new(RoutePolicy { max_body, ..RoutePolicy::clone(&policy) }),
        }
    }

    fn limit(self, BodyReader { limit, is_written }: BodyReader) -> u64 {
        match limit.or(self.root) {
            Some(limit) => limit.0,
            // Uploaded files may be of any size, as files copied there by other means: a limit of each would not protect
            // the disk from many of them.
            None if is_written => u64::MAX,
            None => Limits::default().body,
        }
    }
}
