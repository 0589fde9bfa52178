//! Properties of sites and routes that follow from their tables.

use crate::{
    options::{AccessLogChoice, CachingOptions},
    tables::{
        handlers::HandlerTable,
        sites::{RouteTable, SiteContent, SiteTable},
        upstreams::ProxyTable,
    },
    values::NetworkRule,
};

impl SiteTable {
    /// How many routes it has; its own folder is one.
    pub fn routes(&self) -> usize {
        match &self.content {
            SiteContent::App(_)
            | SiteContent::Cgi(_)
            | SiteContent::Files(_)
            | SiteContent::Php(_)
            | SiteContent::Proxy(_) => 1,
            SiteContent::Routes(routes) => routes.len(),
        }
    }

    /// Whether it hands requests to other processes.
    pub fn has_proxy(&self) -> bool {
        self.policy.mirror.is_some() || self.access.forward_auth.is_some() || self.has_proxying_content()
    }

    fn has_proxying_content(&self) -> bool {
        match &self.content {
            SiteContent::Files(_) => false,
            SiteContent::App(_) | SiteContent::Cgi(_) | SiteContent::Php(_) | SiteContent::Proxy(_) => true,
            SiteContent::Routes(routes) => {
                let is_proxy = |route: &HandlerTable| {
                    matches!(
                        route,
                        HandlerTable::App(_) | HandlerTable::Cgi(_) | HandlerTable::Php(_) | HandlerTable::Proxy(_)
                    )
                };
                let asks = |route: &RouteTable| route.policy.mirror.is_some() || route.access.forward_auth.is_some();
                routes.iter().any(|route| is_proxy(&route.handler) || asks(route))
            }
        }
    }

    /// Whether it runs CGI programs.
    pub fn has_cgi(&self) -> bool {
        match &self.content {
            SiteContent::Cgi(_) => true,
            SiteContent::Routes(routes) => routes.iter().any(|route| matches!(route.handler, HandlerTable::Cgi(_))),
            _ => false,
        }
    }

    /// How the files of its folders are cached.
    pub fn caching(&self) -> Vec<&CachingOptions> {
        match &self.content {
            SiteContent::Files(files) => vec![&files.folder.caching],
            SiteContent::Php(php) => vec![&php.caching],
            SiteContent::App(_) | SiteContent::Cgi(_) | SiteContent::Proxy(_) => Vec::new(),
            SiteContent::Routes(routes) => {
                let caching = routes.iter().filter_map(|route| match &route.handler {
                    HandlerTable::Files(files) => Some(&files.folder.caching),
                    HandlerTable::Php(php) => Some(&php.caching),
                    _ => None,
                });
                caching.collect()
            }
        }
    }

    /// How many routes it has that hand requests on.
    pub fn handlers(&self) -> usize {
        let is_handler = |route: &&RouteTable| {
            matches!(
                route.handler,
                HandlerTable::App(_)
                    | HandlerTable::Cgi(_)
                    | HandlerTable::Files(_)
                    | HandlerTable::Php(_)
                    | HandlerTable::Proxy(_)
            )
        };
        match &self.content {
            SiteContent::Routes(routes) => routes.iter().filter(is_handler).count(),
            SiteContent::App(_)
            | SiteContent::Cgi(_)
            | SiteContent::Files(_)
            | SiteContent::Php(_)
            | SiteContent::Proxy(_) => 1,
        }
    }

    /// Whether one of its routes trusts other proxies than the root says.
    pub fn has_own_trust(&self) -> bool {
        match &self.content {
            SiteContent::Routes(routes) => routes.iter().any(|route| route.handler.trust().is_some()),
            content => content.trust().is_some(),
        }
    }

    /// The access logs that are written in it and in its routes.
    pub fn logs(&self) -> impl Iterator<Item = &AccessLogChoice> {
        let routes = match &self.content {
            SiteContent::Routes(routes) => &routes[..],
            SiteContent::App(_)
            | SiteContent::Cgi(_)
            | SiteContent::Files(_)
            | SiteContent::Php(_)
            | SiteContent::Proxy(_) => &[],
        };
        self.log.access_log.iter().chain(routes.iter().filter_map(|route| route.log.access_log.as_ref()))
    }
}

impl SiteContent {
    /// The proxy that it is, if it is one.
    pub fn proxy(&self) -> Option<&ProxyTable> {
        match self {
            Self::Proxy(proxy) => Some(proxy),
            _ => None,
        }
    }

    /// The proxies that the only handler trusts, if they are given.
    pub fn trust(&self) -> Option<&[NetworkRule]> {
        match self {
            Self::App(app) => app.arguments.trust.as_deref(),
            Self::Php(php) => php.requests.trust.as_deref(),
            Self::Proxy(proxy) => proxy.forwarding.trust.as_deref(),
            Self::Cgi(_) | Self::Files(_) | Self::Routes(_) => None,
        }
    }
}

impl HandlerTable {
    /// The proxy that it is, if it is one.
    pub fn proxy(&self) -> Option<&ProxyTable> {
        match self {
            Self::Proxy(proxy) => Some(proxy),
            _ => None,
        }
    }

    /// The proxies that the handler trusts, if they are given.
    pub fn trust(&self) -> Option<&[NetworkRule]> {
        match self {
            Self::App(app) => app.arguments.trust.as_deref(),
            Self::Php(php) => php.requests.trust.as_deref(),
            Self::Proxy(proxy) => proxy.forwarding.trust.as_deref(),
            Self::Cgi(_) | Self::Files(_) | Self::Redirect(_) | Self::Respond(_) | Self::Rewrite(_) => None,
        }
    }

    /// Whether clients upload files to it; nothing if the router answers itself.
    pub fn is_written(&self) -> Option<bool> {
        match self {
            Self::Files(files) => Some(files.is_written()),
            Self::App(_) | Self::Cgi(_) | Self::Php(_) | Self::Proxy(_) => Some(false),
            Self::Redirect(_) | Self::Respond(_) | Self::Rewrite(_) => None,
        }
    }

    /// Whether responses lead to the internal routes of the site, if it has some.
    pub fn follows(&self) -> bool {
        match self {
            Self::App(app) => app.arguments.accel_redirect != Some(false),
            Self::Php(php) => php.requests.accel_redirect == Some(true),
            Self::Proxy(proxy) => proxy.forwarding.accel_redirect == Some(true),
            Self::Cgi(_) | Self::Files(_) | Self::Redirect(_) | Self::Respond(_) | Self::Rewrite(_) => false,
        }
    }
}
