//! Why sites cannot stand beside each other as they are.

use std::{error::Error, fmt};

use crate::host_pattern::HostPattern;

/// Why no router can be made of some sites: a part of them could never be reached, or contradicts itself. Sites and
/// routes are counted from 0 here, and from 1 in the text, which is one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouterError {
    /// A host that a site has already.
    HostTwice {
        /// The site that names it once more.
        site: usize,
        /// The host.
        host: HostPattern,
        /// The site that has it; maybe the same.
        earlier: usize,
    },
    /// A second site without hosts, where the first has all that no other site has.
    WithoutHostsTwice {
        /// The second site.
        site: usize,
        /// The first.
        earlier: usize,
    },
    /// A route that no request comes to, since one before it answers them all.
    Unreachable {
        /// The site.
        site: usize,
        /// The route that is never reached.
        route: usize,
        /// The one that answers all its requests.
        earlier: usize,
    },
    /// One of several paths of a route for which no request comes to it.
    UnreachablePath {
        /// The site.
        site: usize,
        /// The route.
        route: usize,
        /// The path.
        path: String,
        /// The route that answers all its requests.
        earlier: usize,
    },
    /// A destination with more stars than the path of its route.
    Stars {
        /// The site.
        site: usize,
        /// The route.
        route: usize,
        /// How many stars its path has.
        stars: usize,
    },
    /// A redirect to a path that leads to the same redirect again.
    Loop {
        /// The site.
        site: usize,
        /// The route.
        route: usize,
    },
    /// A rewrite that starts its own requests again and again.
    RestartLoop {
        /// The site.
        site: usize,
        /// The route.
        route: usize,
    },
    /// A rewrite without a route behind it.
    LastRewrite {
        /// The site.
        site: usize,
        /// The route.
        route: usize,
    },
    /// A route that leaves requests to those behind it, and is the last.
    LastTry {
        /// The site.
        site: usize,
        /// The route.
        route: usize,
    },
    /// A route that leaves requests to those behind it, and takes none with GET.
    TryWithoutGet {
        /// The site.
        site: usize,
        /// The route.
        route: usize,
    },
    /// A rewrite that changes headers, though it makes no response.
    RewriteWithHeaders {
        /// The site.
        site: usize,
        /// The route.
        route: usize,
    },
}

impl RouterError {
    /// The site it is about.
    #[must_use]
    pub fn site(&self) -> usize {
        match self {
            Self::HostTwice { site, .. }
            | Self::WithoutHostsTwice { site, .. }
            | Self::Unreachable { site, .. }
            | Self::UnreachablePath { site, .. }
            | Self::Stars { site, .. }
            | Self::Loop { site, .. }
            | Self::RestartLoop { site, .. }
            | Self::LastRewrite { site, .. }
            | Self::LastTry { site, .. }
            | Self::TryWithoutGet { site, .. }
            | Self::RewriteWithHeaders { site, .. } => *site,
        }
    }

    /// The same about sites that are some of others, with these numbers there.
    #[must_use]
    pub fn of_some(mut self, numbers: &[usize]) -> Self {
        let renumber = |number: &mut usize| *number = numbers.get(*number).copied().unwrap_or(*number);
        match &mut self {
            Self::HostTwice { site, earlier, .. } | Self::WithoutHostsTwice { site, earlier } => {
                renumber(site);
                renumber(earlier);
            }
            Self::Unreachable { site, .. }
            | Self::UnreachablePath { site, .. }
            | Self::Stars { site, .. }
            | Self::Loop { site, .. }
            | Self::RestartLoop { site, .. }
            | Self::LastRewrite { site, .. }
            | Self::LastTry { site, .. }
            | Self::TryWithoutGet { site, .. }
            | Self::RewriteWithHeaders { site, .. } => renumber(site),
        }
        self
    }

    /// The same of another numbering: that of a file, from which the sites and routes of a router were selected.
    #[must_use]
    pub fn renumbered(self, site: usize, number: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::HostTwice { .. } | Self::WithoutHostsTwice { .. } => self,
            Self::Unreachable { route, earlier, .. } => {
                Self::Unreachable { site, route: number(route), earlier: number(earlier) }
            }
            Self::UnreachablePath { route, path, earlier, .. } => {
                Self::UnreachablePath { site, route: number(route), path, earlier: number(earlier) }
            }
            Self::Stars { route, stars, .. } => Self::Stars { site, route: number(route), stars },
            Self::Loop { route, .. } => Self::Loop { site, route: number(route) },
            Self::RestartLoop { route, .. } => Self::RestartLoop { site, route: number(route) },
            Self::LastRewrite { route, .. } => Self::LastRewrite { site, route: number(route) },
            Self::LastTry { route, .. } => Self::LastTry { site, route: number(route) },
            Self::TryWithoutGet { route, .. } => Self::TryWithoutGet { site, route: number(route) },
            Self::RewriteWithHeaders { route, .. } => Self::RewriteWithHeaders { site, route: number(route) },
        }
    }

    /// The route of that site it is about, if it is about one.
    #[must_use]
    pub fn route(&self) -> Option<usize> {
        match self {
            Self::HostTwice { .. } | Self::WithoutHostsTwice { .. } => None,
            Self::Unreachable { route, .. }
            | Self::UnreachablePath { route, .. }
            | Self::Stars { route, .. }
            | Self::Loop { route, .. }
            | Self::RestartLoop { route, .. }
            | Self::LastRewrite { route, .. }
            | Self::LastTry { route, .. }
            | Self::TryWithoutGet { route, .. }
            | Self::RewriteWithHeaders { route, .. } => Some(*route),
        }
    }
}

impl fmt::Display for RouterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "site {}", self.site() + 1)?;
        if let Some(route) = self.route() {
            write!(formatter, ", route {}", route + 1)?;
        }
        match self {
            Self::HostTwice { site, host, earlier } if site == earlier => {
                write!(formatter, ": the host {host} is named twice: name it once")
            }
            Self::HostTwice { host, earlier, .. } => {
                write!(formatter, ": site {} has the host {host} as well: name it in one of them", earlier + 1)
            }
            Self::WithoutHostsTwice { earlier, .. } => {
                let earlier = earlier + 1;
                write!(formatter, ": site {earlier} is for all other hosts, too: name the hosts of one")
            }
            Self::Unreachable { earlier, .. } => {
                let earlier = earlier + 1;
                write!(
                    formatter,
                    " is never reached: route {earlier} takes all its requests; put it before that one, or remove it"
                )
            }
            Self::UnreachablePath { path, earlier, .. } => {
                let earlier = earlier + 1;
                write!(formatter, ": no request for {path} comes here: route {earlier} takes them all; leave the path out")
            }
            Self::Stars { stars: 0, .. } => formatter.write_str(
                ": the path has no star that could fill those of the destination: write one, or leave them out",
            ),
            Self::Stars { stars, .. } => {
                write!(
                    formatter,
                    ": the destination has more stars than the path, which has {stars}: leave out the others"
                )
            }
            Self::Loop { .. } => formatter.write_str(
                ": the redirect leads to itself: put a route for its destination before it, or name another",
            ),
            Self::RestartLoop { .. } => formatter.write_str(
                ": the rewrite leads to itself again and again: put a route for the new path before it, or name another path",
            ),
            Self::LastRewrite { .. } => {
                formatter.write_str(": a rewrite goes on to the routes behind it, and there is none: put one behind it")
            }
            Self::LastTry { .. } => formatter.write_str(
                ": missing files are left to the next route, and there is none: put one behind it, or leave out `missing`",
            ),
            Self::TryWithoutGet { .. } => {
                formatter.write_str(": files are only served with GET and HEAD: leave out `methods`")
            }
            Self::RewriteWithHeaders { .. } => {
                formatter.write_str(": a rewrite makes no response: set the headers in the route that makes it")
            }
        }
    }
}

impl Error for RouterError {}
