//! The routes of all added files, as a table and as JSON.

use serde_json::json;
use serow_admin::{AddedFileName, AdminClient, table_lines};
use serow_config::printable::on_one_line;
use toml_edit::{Item, Table};

use super::{
    address::{RouteAddress, path_of},
    document::RouteDocument,
    site,
    target::RouteTarget,
};
use crate::command_error::CommandError;

/// The routes of all added files.
#[derive(Debug, Default)]
pub(super) struct RouteListing {
    routes: Vec<ListedRoute>,
    /// Files with other content.
    others: Vec<AddedFileName>,
}

/// A route that `serow route add` has made.
#[derive(Debug, PartialEq, Eq)]
struct ListedRoute {
    host: String,
    path: String,
    target: RouteTarget,
}

impl RouteListing {
    /// Reads the added files of a server.
    pub(super) fn read(client: &AdminClient) -> Result<Self, CommandError> {
        let mut listing = Self::default();
        for listed in client.added_file_list()? {
            // One that was removed meanwhile has no routes.
            if let Some(file) = client.added_file(&listed.name)? {
                listing.push(listed.name, &file.text);
            }
        }
        Ok(listing)
    }

    fn push(&mut self, name: AddedFileName, text: &str) {
        match routes_of(&name, text) {
            Some(routes) => self.routes.extend(routes),
            None => self.others.push(name),
        }
    }

    /// The routes in JSON.
    pub(super) fn json(&self) -> String {
        let route =
            |route: &ListedRoute| json!({ "host": route.host, "path": route.path, "target": route.target.to_string() });
        let routes: Vec<_> = self.routes.iter().map(route).collect();
        let others: Vec<_> = self.others.iter().map(AddedFileName::as_str).collect();
        format!("{:#}\n", json!({ "routes": routes, "other_files": others }))
    }

    /// The routes as a table.
    pub(super) fn table(&self) -> String {
        let mut rows = vec![["host", "path", "target"].map(str::to_owned)];
        let row = |route: &ListedRoute| {
            [route.host.clone(), route.path.clone(), route.target.to_string()].map(|text| on_one_line(&text))
        };
        rows.extend(self.routes.iter().map(row));
        let table = match self.routes.is_empty() {
            true => "the server has no routes of 'serow route add'\n".to_owned(),
            false => table_lines(&rows, rows[0].len()).concat(),
        };
        let others: Vec<_> = self.others.iter().map(AddedFileName::as_str).collect();
        match others.is_empty() {
            true => table,
            false => format!("{table}other added files, for 'serow config get': {}\n", others.join(", ")),
        }
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
        assert_eq!(listing.table(), "the server has no routes of 'serow route add'\n");
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
        let table = "  host           path  target
  *.old.example  /     redirect:/new{path}
  shop.example   /api  127.0.0.1:9000,127.0.0.1:9001,weight=2
  shop.example   /     files:/srv/www
other added files, for 'serow config get': other, shop.example, shop.example, shop.example, maps
";
        assert_eq!(listing.table(), table);
        let json: serde_json::Value = serde_json::from_str(&listing.json()).unwrap();
        let expected = json!({ "host": "*.old.example", "path": "/", "target": "redirect:/new{path}" });
        assert_eq!((&json["routes"][0], &json["other_files"][0]), (&expected, &"other".into()));
    }
}
