//! Sites with random settings.

use std::{cell::RefCell, collections::HashSet, fmt::Write, fs, os::unix::fs::PermissionsExt, path::Path};

use serow_assembly::{ApplicationHost, Configuration};

use super::{application, clients::Asked, contents::Content, issuer, random::Random, rules::Rules, sessions};

/// A site with random settings.
pub(super) struct RandomSite {
    pub(super) text: String,
    pub(super) rewrites: bool,
    pub(super) site: Rules,
    pub(super) route: Rules,
    pub(super) fallback: Rules,
    pub(super) content: Content,
    /// The keys that `limits` has seen.
    pub(super) counted: RefCell<HashSet<String>>,
}

impl RandomSite {
    pub(super) fn new(random: &mut Random, folder: &Path, has_python: bool) -> Self {
        fs::create_dir_all(folder.join("public/t")).unwrap();
        fs::write(folder.join("public/t/file.txt"), "file").unwrap();
        // "password", checked faster than other hashes.
        fs::write(folder.join("users"), "alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n").unwrap();
        fs::write(folder.join("jwks.json"), issuer::key_set()).unwrap();
        fs::write(folder.join("ca.pem"), sessions::authority()).unwrap();
        application::write(folder);
        write_secret(&folder.join("cookie-key"));
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
            if has_python { Content::App } else { Content::Proxy },
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
        serow_assembly::read(&path, &ApplicationHost::default()).map_err(|error| error.to_string())
    }

    /// The rules and the content for a request.
    pub(super) fn route_of(&self, asked: &Asked) -> (Rules, Content) {
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
}

/// A file that not every user can read.
fn write_secret(path: &Path) {
    fs::write(path, sessions::SECRET).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// The settings of each file. A busy machine may stop a script for longer than its limit of time.
const HEAD: &str = r#"listen = "127.0.0.1:0"
sandbox = "off"
[scripts]
time = "1m"
[cache]
memory = "8M"
"#;
