//! The added file of a host, as a document that keeps its comments and other keys.

use serow_config::AddedFileName;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table};

use super::{
    address::{RouteAddress, path_of},
    error::RouteError,
    site::{self, HANDLERS},
    target::RouteTarget,
};

/// The added file of a host.
pub(crate) struct RouteDocument {
    document: DocumentMut,
    file: AddedFileName,
}

impl RouteDocument {
    /// Reads the file that the routes of this host are in; an empty text if there is none yet.
    pub(crate) fn parse(text: &str, address: &RouteAddress) -> Result<Self, RouteError> {
        let file = address.file().clone();
        match text.parse() {
            Ok(document) => Ok(Self { document, file }),
            Err(_) => Err(RouteError::Syntax(file)),
        }
    }

    /// Adds a route, or changes where it leads.
    pub(crate) fn add(&mut self, address: &RouteAddress, target: &RouteTarget) -> Result<(), RouteError> {
        let place = match self.site_of(address.host())? {
            Some(place) => place,
            None => self.push_site(address.host()),
        };
        let routes = self.routes(place)?;
        match site::place_of(routes, address).and_then(|place| routes.get_mut(place)) {
            Some(route) => site::lead(route, address, target),
            None => {
                let place = site::place_for(routes, &address.patterns(target));
                routes.insert(place, site::route(address, target));
            }
        }
        Ok(())
    }

    /// Removes a route; with the last one of a site, the site.
    pub(crate) fn remove(&mut self, address: &RouteAddress) -> Result<(), RouteError> {
        let missing = |known: String| RouteError::NoRoute { route: address.to_string(), known };
        let place = self.site_of(address.host())?.ok_or_else(|| missing(String::new()))?;
        let routes = self.routes(place)?;
        let Some(route) = site::place_of(routes, address) else {
            let shown = |route| {
                let patterns = site::patterns(route);
                path_of(&patterns).map_or_else(|| patterns.join(", "), str::to_owned)
            };
            return Err(missing(routes.iter().map(shown).collect::<Vec<_>>().join(", ")));
        };
        routes.remove(route);
        if routes.is_empty() {
            self.remove_site(place);
        }
        Ok(())
    }

    /// Whether the file has no content any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.document.is_empty()
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> String {
        self.document.to_string().trim_start_matches('\n').to_owned()
    }

    /// The sites; none if they are written in another way than `[[site]]`.
    pub(crate) fn sites(&self) -> Option<&ArrayOfTables> {
        self.document.get("site").and_then(Item::as_array_of_tables)
    }

    /// The keys at the root.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.document.iter().map(|(key, _)| key)
    }

    /// The place of the site of the host; none if the file has no site yet.
    fn site_of(&self, host: &str) -> Result<Option<usize>, RouteError> {
        let Some(sites) = self.sites() else {
            return match self.document.contains_key("site") {
                true => Err(self.not_routes("has sites that are not written as [[site]]")),
                false => Ok(None),
            };
        };
        let place = sites.iter().position(|site| site::hosts(site).iter().any(|own| own == host));
        if place.is_none() && !sites.is_empty() {
            let known = sites.iter().flat_map(site::hosts).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "all hosts that no other site has".to_owned() } else { known };
            return Err(RouteError::OtherHost { file: self.file.clone(), host: host.to_owned(), known });
        }
        Ok(place)
    }

    /// Appends a site without routes, and returns its place.
    fn push_site(&mut self, host: &str) -> usize {
        let mut site = Table::new();
        site.insert("hosts", Item::Value(Array::from_iter([host]).into()));
        let sites = self.document.entry("site").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        sites.as_array_of_tables_mut().map_or(0, |sites| {
            sites.push(site);
            sites.len() - 1
        })
    }

    /// The routes of a site.
    fn routes(&mut self, place: usize) -> Result<&mut ArrayOfTables, RouteError> {
        let not_routes = |reason| RouteError::NotRoutes { file: self.file.clone(), reason };
        let sites = self.document.get_mut("site").and_then(Item::as_array_of_tables_mut);
        let site = sites.and_then(|sites| sites.get_mut(place)).ok_or_else(|| not_routes(IN_ANOTHER_WAY))?;
        if HANDLERS.iter().any(|key| site.contains_key(key)) {
            return Err(not_routes("has a site without routes"));
        }
        let routes = site.entry("route").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        routes.as_array_of_tables_mut().ok_or_else(|| not_routes(IN_ANOTHER_WAY))
    }

    fn remove_site(&mut self, place: usize) {
        let Some(sites) = self.document.get_mut("site").and_then(Item::as_array_of_tables_mut) else { return };
        sites.remove(place);
        if sites.is_empty() {
            self.document.remove("site");
        }
    }

    fn not_routes(&self, reason: &'static str) -> RouteError {
        RouteError::NotRoutes { file: self.file.clone(), reason }
    }
}

const IN_ANOTHER_WAY: &str = "has routes that are not written as [[site.route]]";
