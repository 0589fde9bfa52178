//! The table of `serow route list`.

use serow_admin::{AddedFileName, table_lines};
use serow_config::printable::on_one_line;
use serow_route_settings::{ListedRoute, RouteListing};

/// The routes as a table, and the names of the other added files.
pub(super) fn text(listing: &RouteListing) -> String {
    let mut rows = vec![["host", "path", "target"].map(str::to_owned)];
    let row = |route: &ListedRoute| {
        [route.host.clone(), route.path.clone(), route.target.to_string()].map(|text| on_one_line(&text))
    };
    rows.extend(listing.routes.iter().map(row));
    let table = match listing.routes.is_empty() {
        true => "the server has no routes of 'serow route add'\n".to_owned(),
        false => table_lines(&rows, rows[0].len()).concat(),
    };
    let others: Vec<_> = listing.others.iter().map(AddedFileName::as_str).collect();
    match others.is_empty() {
        true => table,
        false => format!("{table}other added files, for 'serow config get': {}\n", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_rows_and_other_files_are_named_below() {
        let mut listing = RouteListing::default();
        assert_eq!(text(&listing), "the server has no routes of 'serow route add'\n");
        for (host, path, target) in [
            ("*.old.example", "/", "redirect:/new{path}"),
            ("shop.example", "/api", "127.0.0.1:9000,127.0.0.1:9001,weight=2"),
            ("shop.example", "/", "files:/srv/a\nb"),
        ] {
            let (host, path, target) = (host.to_owned(), path.to_owned(), target.parse().unwrap());
            listing.routes.push(ListedRoute { host, path, target });
        }
        listing.others = ["maps", "other"].map(|name| name.parse().unwrap()).to_vec();
        let table = "  host           path  target
  *.old.example  /     redirect:/new{path}
  shop.example   /api  127.0.0.1:9000,127.0.0.1:9001,weight=2
  shop.example   /     files:/srv/a\\nb
other added files, for 'serow config get': maps, other
";
        assert_eq!(text(&listing), table);
    }
}
