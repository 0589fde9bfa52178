//! Where a route leads: servers, a folder or another URL.

use std::{fmt, path::Path, str::FromStr};

use serow_config::values::ServerRule;
use toml_edit::{Array, InlineTable, TableLike, Value};

/// Where a route leads: `127.0.0.1:9000,weight=2,unix:/run/app.sock`, `files:/srv/www`,
/// `redirect:https://www.example.com{path}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteTarget {
    /// Servers, each with its parameters.
    Proxy(Vec<String>),
    /// A folder.
    Files(String),
    /// Another URL, or a path.
    Redirect(String),
}

impl RouteTarget {
    /// The key of a route that has it.
    pub(super) fn key(&self) -> &'static str {
        match self {
            Self::Proxy(_) => "proxy",
            Self::Files(_) => "files",
            Self::Redirect(_) => "redirect",
        }
    }

    /// The key of the table that says where it leads, and its value.
    pub(super) fn destination(&self) -> (&'static str, Value) {
        match self {
            Self::Proxy(servers) => match &servers[..] {
                [server] => ("servers", server.as_str().into()),
                servers => ("servers", servers.iter().map(String::as_str).collect::<Array>().into()),
            },
            Self::Files(folder) => ("root", folder.as_str().into()),
            Self::Redirect(url) => ("to", url.as_str().into()),
        }
    }

    /// The table of a new route, below a prefix or not.
    pub(super) fn table(&self, has_prefix: bool) -> InlineTable {
        let mut table = InlineTable::new();
        let (key, value) = self.destination();
        table.insert(key, value);
        if let (Self::Files(_), true) = (self, has_prefix) {
            table.insert(STRIP_PREFIX, true.into());
        }
        table
    }

    /// The target that such a table is of; `None` if a user has written other keys.
    pub(super) fn of_table(key: &str, table: &dyn TableLike, has_prefix: bool) -> Option<Self> {
        let text = |name: &str| Some(table.get(name)?.as_str()?.to_owned());
        let (target, keys) = match key {
            "proxy" => {
                let servers = super::site::texts(table.get("servers")?)?;
                (Self::Proxy(servers), 1)
            }
            "files" => {
                let strips = table.get(STRIP_PREFIX).and_then(toml_edit::Item::as_bool) == Some(true);
                (strips == has_prefix).then_some((Self::Files(text("root")?), 1 + usize::from(strips)))?
            }
            "redirect" => (Self::Redirect(text("to")?), 1),
            _ => return None,
        };
        (table.len() == keys).then_some(target)
    }
}

/// Servers with their parameters; each comma begins a server or a parameter.
fn servers(text: &str) -> Result<Vec<String>, String> {
    let mut servers: Vec<String> = Vec::new();
    for part in text.split(',') {
        let is_parameter = part == "backup" || part.split_once('=').is_some_and(|(name, _)| is_word(name));
        match servers.last_mut().filter(|_| is_parameter) {
            Some(server) => *server = format!("{server},{part}"),
            None => servers.push(part.to_owned()),
        }
    }
    for server in &servers {
        server.parse::<ServerRule>().map_err(|error| error.to_string())?;
    }
    Ok(servers)
}

/// Whether a text is the name of a parameter and not the beginning of an address.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

impl FromStr for RouteTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("files", folder)) if Path::new(folder).is_absolute() => Ok(Self::Files(folder.to_owned())),
            Some(("files", folder)) => Err(format!(
                "{folder:?} is not a whole path; write it as in files:/srv/www: the server has its own folder"
            )),
            Some(("redirect", "")) => {
                Err("a URL is missing; write it as in redirect:https://www.example.com{path}".to_owned())
            }
            Some(("redirect", url)) => Ok(Self::Redirect(url.to_owned())),
            _ if text.starts_with('/') => {
                Err(format!("{text:?} is not a server; write files:{text} for a folder, unix:{text} for a unix socket"))
            }
            _ => servers(text).map(Self::Proxy),
        }
    }
}

impl fmt::Display for RouteTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proxy(servers) => f.write_str(&servers.join(",")),
            Self::Files(folder) => write!(f, "files:{folder}"),
            Self::Redirect(url) => write!(f, "redirect:{url}"),
        }
    }
}

/// Whether the path of a route is left out of the path below its folder.
const STRIP_PREFIX: &str = "strip-prefix";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_as_tables() {
        for (text, key, table) in [
            ("127.0.0.1:9000", "proxy", r#"{ servers = "127.0.0.1:9000" }"#),
            ("http://10.0.0.5:80", "proxy", r#"{ servers = "http://10.0.0.5:80" }"#),
            ("unix:/run/app.sock", "proxy", r#"{ servers = "unix:/run/app.sock" }"#),
            (
                "127.0.0.1:1,weight=2,unix:/run/a=b.sock,app:2,backup,max=3",
                "proxy",
                r#"{ servers = ["127.0.0.1:1,weight=2", "unix:/run/a=b.sock", "app:2,backup,max=3"] }"#,
            ),
            ("files:/srv/www", "files", r#"{ root = "/srv/www", strip-prefix = true }"#),
            ("redirect:https://www.example.com{path}", "redirect", r#"{ to = "https://www.example.com{path}" }"#),
        ] {
            let target: RouteTarget = text.parse().unwrap();
            assert_eq!((target.key(), target.to_string().as_str()), (key, text));
            assert_eq!(target.table(true).to_string(), table);
            assert_eq!(RouteTarget::of_table(key, &target.table(true), true), Some(target), "{text}");
        }
    }

    #[test]
    fn wrong_targets_are_refused() {
        for (text, part) in [
            ("", "not a server"),
            ("files:public", "files:/srv/www"),
            ("files:", "not a whole path"),
            ("redirect:", "URL is missing"),
            ("/srv/www", "write files:/srv/www"),
            ("127.0.0.1:9000,", "not a server"),
            ("127.0.0.1:9000,wieght=2", "wieght"),
            ("http://app:9000/path", "path"),
            ("unix:", "path"),
        ] {
            let error = text.parse::<RouteTarget>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
