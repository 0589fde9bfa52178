//! Sites with random settings, and what they say about a request.

use std::{cell::RefCell, collections::HashSet, fmt::Write, fs, path::Path};

use serow_config::Configuration;
use serow_settings::ApplicationHost;

use super::{
    clients::{Asked, Received},
    random::Random,
    servers::Seen,
};

/// A site with random settings.
pub(super) struct RandomSite {
    pub(super) text: String,
    rewrites: bool,
    site: Rules,
    route: Rules,
    fallback: Rules,
    content: Content,
    /// The keys that `limits` has seen.
    counted: RefCell<HashSet<String>>,
}

/// The content of the route `/t/*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Files,
    FilesOrNext,
    Dav,
    Proxy,
    Redirect,
    Respond,
}

/// The settings of a site or a route; `None` where nothing is written.
#[derive(Clone, Copy, Debug, Default)]
struct Rules {
    allow: Option<bool>,
    methods: Option<bool>,
    basic: Option<bool>,
    forward_auth: Option<bool>,
    limits: Option<bool>,
    max_body: Option<bool>,
    cors: Option<bool>,
    security: Option<bool>,
    pages: Option<bool>,
    compress: Option<bool>,
    mirror: Option<bool>,
    cache: Option<bool>,
    rule: Option<bool>,
    script: Option<bool>,
}

impl Rules {
    fn random(random: &mut Random, of_route: bool) -> Self {
        let mut on = |times| random.once_in(times).then_some(true);
        let mut rules = Self {
            allow: on(4),
            methods: on(6),
            basic: on(4),
            forward_auth: on(4),
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
        };
        if of_route {
            let mut off = |setting: &mut Option<bool>| {
                if random.once_in(8) {
                    *setting = Some(false);
                }
            };
            [&mut rules.basic, &mut rules.forward_auth, &mut rules.security].into_iter().for_each(&mut off);
        }
        rules
    }

    /// Those that a route has with its site's.
    fn inside(self, site: Self) -> Self {
        Self {
            allow: self.allow.or(site.allow),
            methods: self.methods.or(site.methods),
            basic: self.basic.or(site.basic),
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
        }
    }

    fn write(self, of_site: bool, text: &mut String) {
        let mut line = |setting: Option<bool>, on: &str, off: &str| match setting {
            Some(true) => writeln!(text, "{on}").unwrap(),
            Some(false) => writeln!(text, "{off}").unwrap(),
            None => {}
        };
        line(self.allow, "allow = [\"127.0.0.0/8\"]", "");
        line(self.methods, "allow-methods = [\"GET\", \"OPTIONS\"]", "");
        line(self.basic, "basic = { file = \"users\", header = \"Remote-User\" }", "basic = false");
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

/// The verdict about a request.
#[derive(Debug, Default)]
struct Verdict {
    /// The statuses of the checks that it fails.
    refusals: Vec<u16>,
    /// The user, if it passes.
    users: Vec<&'static str>,
}

impl RandomSite {
    pub(super) fn new(random: &mut Random, folder: &Path) -> Self {
        fs::create_dir_all(folder.join("public/t")).unwrap();
        fs::write(folder.join("public/t/file.txt"), "file").unwrap();
        // "password", checked faster than other hashes.
        fs::write(folder.join("users"), "alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n").unwrap();
        fs::write(folder.join("403.html"), "custom").unwrap();
        let script = "return { request = function(request) request.headers.x_script = \"script\" end, \
                      response = function(request, response) response.headers.x_scripted = \"1\" end }";
        fs::write(folder.join("mark.lua"), script).unwrap();
        let contents = [
            Content::Files,
            Content::FilesOrNext,
            Content::Dav,
            Content::Proxy,
            Content::Proxy,
            Content::Redirect,
            Content::Respond,
        ];
        let content = random.of(&contents);
        let (site, fallback) = (Rules::random(random, false), Rules::random(random, true));
        let mut route = Rules::random(random, true);
        // Now and then, settings that are refused.
        if !random.once_in(16) {
            content.leave_out_what_is_refused(&mut route);
        }
        let mut text = String::from(HEAD);
        for name in ["origin", "mirror", "auth"] {
            let path = folder.join(name);
            writeln!(text, "[[upstream]]\nname = \"{name}\"\nservers = [\"unix:{}\"]", path.display()).unwrap();
        }
        text.push_str("[[limit]]\nname = \"once\"\nkey = \"$http_x_key\"\nrate = \"1/h\"\n[[site]]\n");
        site.write(true, &mut text);
        let rewrites = random.once_in(2);
        if rewrites {
            text.push_str("[[site.route]]\npath = \"/r/*\"\nrewrite = \"/t/*\"\n");
        }
        text.push_str("[[site.route]]\npath = \"/t/*\"\n");
        route.write(false, &mut text);
        writeln!(text, "{}", content.text()).unwrap();
        text.push_str(
            "[[site.route]]\npath = \"/inner/*\"\ninternal = true\nproxy = { upstream = \"origin\" }\n[[site.route]]\npath = \"/*\"\n",
        );
        fallback.write(false, &mut text);
        text.push_str("proxy = { upstream = \"origin\", accel-redirect = true }\n");
        // The server itself enforces the largest limit of all sites.
        text.push_str(
            "[[site]]\nhosts = [\"large.example\"]\nmax-body = \"unlimited\"\nproxy = { upstream = \"origin\" }\n",
        );
        let counted = RefCell::default();
        Self { text, rewrites, site, route, fallback, content, counted }
    }

    pub(super) fn read(&self, folder: &Path) -> Result<Configuration, String> {
        let path = folder.join("serow.toml");
        fs::write(&path, &self.text).unwrap();
        serow_config::read(&path, &ApplicationHost::default()).map_err(|error| error.to_string())
    }

    /// The rules and the content for a request.
    fn route_of(&self, asked: &Asked) -> (Rules, Content) {
        let path = match asked.path.strip_prefix("/r/") {
            Some(rest) if self.rewrites => format!("/t/{rest}"),
            _ => asked.path.to_owned(),
        };
        let (route, fallback) = (self.route.inside(self.site), self.fallback.inside(self.site));
        if !path.starts_with("/t/") {
            return (fallback, Content::Proxy);
        }
        if self.content == Content::FilesOrNext {
            let is_read = ["GET", "HEAD"].contains(&asked.method);
            let is_answered = is_read || asked.is_preflight && route.cors == Some(true);
            if !is_answered || path != "/t/file.txt" {
                return (fallback, Content::Proxy);
            }
            return (Rules { script: None, rule: None, cache: None, ..route }, Content::Files);
        }
        // `request-headers` is for applications and servers that answer: the router's own answers have none.
        let rule = route.rule.filter(|_| !matches!(self.content, Content::Redirect | Content::Respond));
        (Rules { rule, ..route }, self.content)
    }

    fn verdict(&self, asked: &Asked, rules: Rules, content: Content) -> Verdict {
        let on = |setting: Option<bool>| setting == Some(true);
        let mut verdict = Verdict::default();
        let reads_body = !matches!(content, Content::Redirect | Content::Respond);
        if on(rules.max_body) && asked.body > 10 && reads_body {
            verdict.refusals.push(413);
            return verdict;
        }
        if on(rules.allow) && !asked.is_local {
            verdict.refusals.push(403);
            return verdict;
        }
        let is_preflight = asked.is_preflight && on(rules.cors);
        if on(rules.methods) && !["GET", "HEAD", "OPTIONS"].contains(&asked.method) {
            verdict.refusals.push(405);
            return verdict;
        }
        if on(rules.limits) && !self.counted.borrow_mut().insert(asked.key.clone()) {
            verdict.refusals.push(429);
            return verdict;
        }
        if is_preflight {
            return verdict;
        }
        if on(rules.basic) {
            if asked.has_password {
                verdict.users = vec!["alice"];
            } else {
                verdict.refusals.push(401);
            }
        }
        if on(rules.forward_auth) {
            if asked.is_allowed {
                verdict.users.push("alice");
            } else {
                verdict.refusals.push(403);
            }
        }
        verdict
    }

    /// Whether a copy of the request will arrive at the mirror.
    pub(super) fn is_copied(&self, asked: &Asked, response: &Received) -> bool {
        let (rules, _) = self.route_of(asked);
        let is_answered = asked.is_preflight && rules.cors == Some(true);
        rules.mirror == Some(true) && asked.body == 0 && response.status < 400 && !is_answered
    }

    /// Compares the outcome of a request with the verdict.
    pub(super) fn judge(&self, asked: &Asked, response: &Received, seen: &[Seen]) -> Result<(), String> {
        let (rules, content) = self.route_of(asked);
        let on = |setting: Option<bool>| setting == Some(true);
        let verdict = self.verdict(asked, rules, content);
        let reached: Vec<_> = seen.iter().filter(|seen| seen.server != "auth").collect();
        let mut questions = seen.iter().filter(|seen| seen.server == "auth");
        questions.try_for_each(|seen| judge_question(asked, seen))?;
        let is_preflight = asked.is_preflight && on(rules.cors) && verdict.refusals.is_empty();
        // An internal route has the policy of the site and its own, not that of the route that leads there.
        let is_internal = verdict.refusals.is_empty() && !is_preflight && self.follows(asked, content);
        if on(rules.security) && !is_preflight && !is_internal && !response.has("x-content-type-options") {
            return Err("security-headers has no effect".to_owned());
        }
        if !verdict.refusals.is_empty() || is_preflight {
            if !reached.is_empty() || response.has("x-scripted") || response.has("cache-status") {
                return Err(format!("a request that was refused or answered went on: {verdict:?}"));
            }
            let is_expected =
                if is_preflight { response.status == 204 } else { verdict.refusals.contains(&response.status) };
            let is_page =
                response.status != 403 || verdict.refusals != [403] || !on(rules.pages) || on(rules.forward_auth);
            if !is_expected || !(is_page || asked.method == "HEAD" || response.body.contains("custom")) {
                return Err(format!("expected {verdict:?}"));
            }
            return Ok(());
        }
        if [401, 405, 413, 429].contains(&response.status) && content == Content::Proxy || response.status == 403 {
            return Err("a request that passes was refused".to_owned());
        }
        if on(rules.script) != response.has("x-scripted") && !is_internal {
            return Err("script has no effect, or one that it should not have".to_owned());
        }
        let copies = reached.iter().filter(|seen| seen.server == "mirror").count();
        if copies != usize::from(self.is_copied(asked, response)) && asked.body == 0 && response.status < 400 {
            return Err(format!("{copies} copies"));
        }
        reached.iter().try_for_each(|seen| judge_seen(asked, rules, &verdict, seen))?;
        self.judge_content(asked, rules, content, response, &reached)
    }

    fn judge_content(
        &self,
        asked: &Asked,
        rules: Rules,
        content: Content,
        response: &Received,
        reached: &[&Seen],
    ) -> Result<(), String> {
        let at_origin: Vec<_> = reached.iter().filter(|seen| seen.server == "origin").collect();
        if content != Content::Proxy {
            let status = match content {
                Content::Redirect => 302,
                Content::Respond => 200,
                _ => response.status,
            };
            return match at_origin.is_empty() && response.status == status {
                true => Ok(()),
                false => Err("the content is another".to_owned()),
            };
        }
        let is_redirected = at_origin.iter().any(|seen| seen.path.starts_with("/inner/a?"));
        let follows = self.follows(asked, content);
        if is_redirected != follows || at_origin.is_empty() || response.status != 200 {
            return Err(format!("internal redirect: {is_redirected}, expected {follows}"));
        }
        let is_read = ["GET", "HEAD"].contains(&asked.method);
        if !asked.is_redirected && is_read && (rules.cache == Some(true)) != response.has("cache-status") {
            return Err("cache has no effect, or one that it should not have".to_owned());
        }
        let is_coded = response.value("content-encoding") == Some("gzip");
        if !asked.is_redirected && asked.method == "GET" && (rules.compress == Some(true)) != is_coded {
            return Err("compress has no effect, or one that it should not have".to_owned());
        }
        Ok(())
    }

    /// Whether the response leads to the internal route. The route `/t/*` does not follow, and sends the response without
    /// the field.
    fn follows(&self, asked: &Asked, content: Content) -> bool {
        let is_below = asked.path.starts_with("/t/") || self.rewrites && asked.path.starts_with("/r/");
        let is_of_route = is_below && self.content != Content::FilesOrNext;
        content == Content::Proxy && asked.is_redirected && !asked.path.starts_with("/inner/") && !is_of_route
    }
}

/// The identity and the fields that Serow sets, at a server.
fn judge_seen(asked: &Asked, rules: Rules, verdict: &Verdict, seen: &Seen) -> Result<(), String> {
    let identifies = rules.basic == Some(true) || rules.forward_auth == Some(true);
    let users = seen.values("remote-user");
    if identifies && (users != verdict.users || !seen.values("remote_user").is_empty()) {
        return Err(format!("{} sees the users {users:?}, expected {:?}", seen.server, verdict.users));
    }
    if rules.rule == Some(true) && seen.values("x-rule") != ["rule"] {
        return Err(format!("{} does not see the field of request-headers", seen.server));
    }
    if rules.script == Some(true) && seen.values("x-script") != ["script"] {
        return Err(format!("{} does not see the field of the script", seen.server));
    }
    if seen.values("host") != [asked.host] {
        return Err(format!("{} sees another host", seen.server));
    }
    if asked.names.iter().any(|name| !OWN.contains(name) && !seen.values(name).is_empty()) {
        return Err(format!("{} sees a field that Connection names", seen.server));
    }
    Ok(())
}

/// The request to the server that decides describes the one that it is about.
fn judge_question(asked: &Asked, seen: &Seen) -> Result<(), String> {
    let (urls, methods) = (seen.values("x-original-url"), seen.values("x-original-method"));
    let id = format!("id={}&", asked.number);
    let is_described = matches!(urls[..], [url] if url.contains(&id)) && methods == [asked.method];
    match is_described && seen.values("remote-user").is_empty() {
        true => Ok(()),
        false => Err(format!("the question does not describe the request: {seen:?}")),
    }
}

impl Content {
    fn text(self) -> &'static str {
        match self {
            Self::Files => "files = { root = \"public\" }",
            Self::FilesOrNext => "files = { root = \"public\", missing = \"next\" }",
            Self::Dav => "files = { root = \"public\", write = \"dav\" }",
            Self::Proxy => "proxy = { upstream = \"origin\" }",
            Self::Redirect => "redirect = { to = \"https://b.example/\", status = 302 }",
            Self::Respond => "respond = { status = 200, body = \"fixed\" }",
        }
    }

    fn leave_out_what_is_refused(self, rules: &mut Rules) {
        if self != Self::Proxy {
            rules.cache = None;
        }
        match self {
            Self::FilesOrNext => (rules.script, rules.methods, rules.rule) = (None, None, None),
            Self::Redirect | Self::Respond => (rules.max_body, rules.rule) = (None, None),
            Self::Files | Self::Dav | Self::Proxy => {}
        }
    }
}

/// The settings of each file. A busy machine may stop a script for longer than its limit of time.
const HEAD: &str = r#"listen = "127.0.0.1:0"
sandbox = "off"
[scripts]
time = "1m"
[cache]
memory = "8M"
"#;

/// Fields that Serow itself sets, whatever a client names.
const OWN: [&str; 5] = ["remote-user", "x-rule", "x-script", "x-original-url", "x-original-method"];
