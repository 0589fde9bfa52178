//! The settings of a site or a route around its content.

use std::fmt::Write;

use super::{random::Random, sessions};

/// The settings of a site or a route; `None` where nothing is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// Whether requests must come from loopback, or must not.
    pub(super) allow: Option<bool>,
    pub(super) methods: Option<bool>,
    pub(super) basic: Option<bool>,
    pub(super) jwt: Option<bool>,
    pub(super) login: Option<bool>,
    pub(super) forward_auth: Option<bool>,
    pub(super) limits: Option<bool>,
    pub(super) max_body: Option<bool>,
    pub(super) cors: Option<bool>,
    pub(super) security: Option<bool>,
    pub(super) pages: Option<bool>,
    pub(super) compress: Option<bool>,
    pub(super) mirror: Option<bool>,
    pub(super) cache: Option<bool>,
    pub(super) rule: Option<bool>,
    pub(super) script: Option<bool>,
    /// The fields that a check of the route or of its site sets, and that clients cannot set.
    pub(super) reserved: Reserved,
}

/// The fields that clients cannot set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reserved {
    /// Those of the user.
    pub(super) user: bool,
    /// Those of claims.
    pub(super) role: bool,
    /// The cookies of a login.
    pub(super) cookies: bool,
}

impl Reserved {
    fn and(self, other: Self) -> Self {
        Self { user: self.user || other.user, role: self.role || other.role, cookies: self.cookies || other.cookies }
    }
}

impl Rules {
    pub(super) fn random(random: &mut Random, of_route: bool) -> Self {
        let allow = random.once_in(4).then(|| !random.once_in(4));
        let mut on = |times| random.once_in(times).then_some(true);
        let mut rules = Self {
            allow,
            methods: on(6),
            basic: on(5),
            jwt: on(5),
            login: on(5),
            forward_auth: on(5),
            limits: on(5),
            max_body: on(8),
            cors: on(4),
            security: on(4),
            pages: on(4),
            compress: on(4),
            mirror: on(3),
            cache: on(4),
            rule: on(3),
            script: on(3),
            reserved: Reserved::default(),
        };
        if of_route {
            let mut off = |setting: &mut Option<bool>| {
                if random.once_in(8) {
                    *setting = Some(false);
                }
            };
            // A login is the site's: browsers return to its host.
            rules.login = None;
            let Self { basic, jwt, login, forward_auth, security, .. } = &mut rules;
            [basic, jwt, login, forward_auth, security].into_iter().for_each(&mut off);
        }
        rules
    }

    /// The fields that its own checks reserve.
    fn reserving(self) -> Reserved {
        let [basic, jwt, login, forward_auth] =
            [self.basic, self.jwt, self.login, self.forward_auth].map(|check| check == Some(true));
        Reserved { user: basic || jwt || login || forward_auth, role: jwt, cookies: login }
    }

    /// Those that a route has with its site's.
    pub(super) fn inside(self, site: Self) -> Self {
        Self {
            allow: self.allow.or(site.allow),
            methods: self.methods.or(site.methods),
            basic: self.basic.or(site.basic),
            jwt: self.jwt.or(site.jwt),
            login: self.login.or(site.login),
            forward_auth: self.forward_auth.or(site.forward_auth),
            limits: self.limits.or(site.limits),
            max_body: self.max_body.or(site.max_body),
            cors: self.cors.or(site.cors),
            security: self.security.or(site.security),
            pages: self.pages.or(site.pages),
            compress: self.compress.or(site.compress),
            mirror: self.mirror.or(site.mirror),
            cache: self.cache.or(site.cache),
            rule: self.rule.or(site.rule),
            // A site's script runs before a route is selected, and so before the access control of routes.
            script: self.script,
            reserved: self.reserving().and(site.reserving()),
        }
    }

    pub(super) fn write(self, of_site: bool, text: &mut String) {
        let mut line = |setting: Option<bool>, on: &str, off: &str| match setting {
            Some(true) => writeln!(text, "{on}").unwrap(),
            Some(false) => writeln!(text, "{off}").unwrap(),
            None => {}
        };
        line(self.allow, "allow = [\"127.0.0.0/8\"]", "deny = [\"127.0.0.0/8\"]");
        line(self.methods, "allow-methods = [\"GET\", \"OPTIONS\"]", "");
        line(self.basic, "basic = { file = \"users\", header = \"Remote-User\" }", "basic = false");
        let token = "jwt = { keys = \"jwks.json\", from = [\"header\", \"cookie:token\"], \
                     headers = { Remote-User = \"sub\", X-Role = \"role\" } }";
        line(self.jwt, token, "jwt = false");
        line(self.login, &sessions::settings(), "login = false");
        let auth = "forward-auth = { to = \"auth/verify\", copy = [\"Remote-User\"], user = \"Remote-User\" }";
        line(self.forward_auth, auth, "forward-auth = false");
        line(self.limits, "limits = [\"once\"]", "");
        line(self.max_body, "max-body = 10", "");
        line(self.cors, "cors = { origins = [\"https://a.example\"] }", "");
        line(self.security, "security-headers = true", "security-headers = false");
        line(self.pages, "error-pages = { 403 = \"403.html\" }", "");
        line(self.compress, "compress = true", "");
        line(self.mirror, "mirror = { upstream = \"mirror\" }", "");
        line(self.cache, "cache = true", "");
        line(self.rule, "request-headers = [{ set = \"X-Rule\", value = \"rule\" }]", "");
        if !of_site {
            line(self.script, "script = \"mark.lua\"", "");
        }
    }
}
