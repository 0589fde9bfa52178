//! The routes of added files.

use serde_json::json;
use serow_config::AddedFileName;
use toml_edit::{Item, Table};

use super::{
    address::{RouteAddress, path_of},
    document::RouteDocument,
    site,
    target::RouteTarget,
};

/// The routes of added files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteListing {
    /// The routes, in the order of the files.
    pub routes: Vec<ListedRoute>,
    /// Files with other content.
    pub others: Vec<AddedFileName>,
}

/// A route that `serow route add` could have made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRoute {
    /// The host, as it is written in the file.
    pub host: String,
    /// The path, without the pattern for everything below it.
    pub path: String,
    /// Where it leads.
    pub target: RouteTarget,
}

impl RouteListing {
    /// Adds the routes of an added file, or notes that it has other content.
    pub fn push(&mut self, name: AddedFileName, text: &str) {
        match routes_of(&name, text) {
            Some(routes) => self.routes.extend(routes),
            None => self.others.push(name),
        }
    }

    /// The routes in JSON, with the names of the other files.
    #[must_use]
    pub fn json(&self) -> String {
        let route =
            |route: &ListedRoute| json!({ "host": route.host, "path": route.path, "target": route.target.to_string() });
        let routes: Vec<_> = self.routes.iter().map(route).collect();
        let others: Vec<_> = self.others.iter().map(AddedFileName::as_str).collect();
        format!("{:#}\n", json!({ "routes": routes, "other_files": others }))
    }
}

/// The routes of a file; `None` if it has other content than `serow route add` writes.
fn routes_of(name: &AddedFileName, text: &str) -> Option<Vec<ListedRoute>> {
    let host = match name.as_str().strip_prefix("any.") {
        Some(parent) => format!("*.{parent}"),
        None => name.to_string(),
    };
    let address: RouteAddress = host.parse().ok()?;
    let document = RouteDocument::parse(text, &address).ok()?;
    let sites = document.sites().filter(|sites| sites.len() == 1 && document.keys().eq(["site"]))?;
    let site = sites.iter().next()?;
    let host = site::hosts(site).pop()?;
    let is_ours = site.iter().all(|(key, _)| matches!(key, "hosts" | "route")) && site::hosts(site).len() == 1;
    // A site of another host may have a file of any name.
    let is_named = host.parse::<RouteAddress>().is_ok_and(|address| address.file() == name);
    let routes = site.get("route").and_then(Item::as_array_of_tables).filter(|_| is_ours && is_named)?;
    routes.iter().map(|route| listed(&host, route)).collect()
}

fn listed(host: &str, route: &Table) -> Option<ListedRoute> {
    let patterns = site::patterns(route);
    let path = path_of(&patterns)?;
    let address: RouteAddress = format!("{host}{path}").parse().ok()?;
    let (key, item) = route.iter().find(|(key, _)| *key != "path").filter(|_| route.len() == 2)?;
    let target = RouteTarget::of_table(key, item.as_table_like()?, address.has_prefix())?;
    Some(ListedRoute { host: host.to_owned(), path: path.to_owned(), target })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = "\
[[site]]
hosts = [\"shop.example\"]

[[site.route]]
path = [\"/api\", \"/api/*\"]
proxy = { servers = [\"127.0.0.1:9000\", \"127.0.0.1:9001,weight=2\"] }

[[site.route]]
path = \"/*\"
files = { root = \"/srv/www\" }
";

    #[test]
    fn routes_are_listed_and_files_with_other_content_are_named() {
        let mut listing = RouteListing::default();
        let moved =
            "[[site]]\nhosts = \"*.old.example\"\n[[site.route]]\npath = \"/*\"\nredirect = { to = \"/new{path}\" }\n";
        for (name, text) in [
            ("any.old.example", moved.to_owned()),
            // Not by this host, further keys, other conditions, and no sites.
            ("other", moved.to_owned()),
            ("shop.example", SHOP.to_owned()),
            ("shop.example", format!("[[upstream]]\nname = \"a\"\nservers = \"a:1\"\n{SHOP}")),
            ("shop.example", SHOP.replace("path = \"/*\"", "path = \"/*\"\nmethods = [\"GET\"]")),
            ("shop.example", SHOP.replace("\"/srv/www\"", "\"/srv/www\", spa = \"index.html\"")),
            ("maps", "[[map]]\n".to_owned()),
        ] {
            listing.push(name.parse().unwrap(), &text);
        }
        let routes: Vec<_> = listing.routes.iter().map(|route| (&route.host[..], &route.path[..])).collect();
        assert_eq!(routes, [("*.old.example", "/"), ("shop.example", "/api"), ("shop.example", "/")]);
        assert_eq!(listing.routes[1].target.to_string(), "127.0.0.1:9000,127.0.0.1:9001,weight=2");
        let others: Vec<_> = listing.others.iter().map(AddedFileName::as_str).collect();
        assert_eq!(others, ["other", "shop.example", "shop.example", "shop.example", "maps"]);
        let json: serde_json::Value = serde_json::from_str(&listing.json()).unwrap();
        let expected = json!({ "host": "*.old.example", "path": "/", "target": "redirect:/new{path}" });
        assert_eq!((&json["routes"][0], &json["other_files"][0]), (&expected, &"other".into()));
    }
}
