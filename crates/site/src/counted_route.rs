//! Routes in metrics.

/// A route whose requests are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedRoute {
    /// The first host of its site; `*` for a site without hosts.
    pub site: String,
    /// Its path as it is written, with a number behind it if an earlier route of the site has the same.
    pub path: String,
}
