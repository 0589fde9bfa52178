//! Sites that stay as they are while others change: nothing but the root has a part in them, and they have a part in nothing
//! that all sites share.

use crate::tables::{
    access::AccessSettings,
    handlers::HandlerTable,
    policies::PolicySettings,
    sites::{RouteTable, SiteContent, SiteSettings, SiteTable},
};

impl SiteTable {
    /// Whether the site stays as it is while others change. It has hosts of its own, each by its name; it reads no files, which
    /// may have changed as well, and starts nothing; and no list that is of the whole server has it in it: logs, mirrors,
    /// certificates, listeners.
    #[must_use]
    pub fn is_independent(&self) -> bool {
        let SiteSettings { hosts, listen, tls, script, headers: _ } = &self.settings;
        let hosts = hosts.as_deref().unwrap_or_default();
        let is_apart = !hosts.is_empty() && !hosts.iter().any(|host| host.contains('*'));
        let is_content = match &self.content {
            SiteContent::Proxy(_) => true,
            SiteContent::Routes(routes) => routes.iter().all(RouteTable::is_independent),
            SiteContent::App(_) | SiteContent::Cgi(_) | SiteContent::Files(_) | SiteContent::Php(_) => false,
        };
        is_apart
            && is_content
            && (listen.is_none() && tls.is_none() && script.is_none())
            && self.log.access_log.is_none()
            && !self.has_own_trust()
            && self.access.is_independent()
            && self.policy.is_independent()
    }
}

impl RouteTable {
    fn is_independent(&self) -> bool {
        let is_content = match &self.handler {
            HandlerTable::Proxy(_)
            | HandlerTable::Redirect(_)
            | HandlerTable::Respond(_)
            | HandlerTable::Rewrite(_) => true,
            HandlerTable::App(_) | HandlerTable::Cgi(_) | HandlerTable::Files(_) | HandlerTable::Php(_) => false,
        };
        is_content
            && self.settings.script.is_none()
            && self.log.access_log.is_none()
            && self.access.is_independent()
            && self.policy.is_independent()
    }
}

impl AccessSettings {
    /// Limits have names, and are of the root.
    fn is_independent(&self) -> bool {
        let has_others = self.given().iter().any(|key| !INDEPENDENT_CHECKS.contains(key));
        let reads_files = self.allow.iter().chain(&self.deny).flatten().any(|network| network.contains("file:"));
        !has_others && !reads_files
    }
}

impl PolicySettings {
    fn is_independent(&self) -> bool {
        self.error_pages.is_empty() && self.mirror.is_none()
    }
}

/// Checks that need no thread, no count and no file of their own.
const INDEPENDENT_CHECKS: [&str; 4] = ["allow", "deny", "allow-methods", "limits"];
