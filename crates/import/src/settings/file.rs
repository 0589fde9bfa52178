//! A whole settings file.

use super::table::Table;
use serow_nginx_syntax::place::Place;

/// A settings file.
#[derive(Debug, Default)]
pub(crate) struct SettingsFile {
    pub(crate) root: Table,
    /// Tables of the root: `[cache]`, `[redis]`.
    pub(crate) sections: Vec<(&'static str, Table)>,
    pub(crate) maps: Vec<Table>,
    pub(crate) limits: Vec<Table>,
    pub(crate) upstreams: Vec<Table>,
    pub(crate) sites: Vec<SiteTable>,
}

/// A site with its routes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteTable {
    pub(crate) table: Table,
    pub(crate) routes: Vec<Table>,
}

impl SettingsFile {
    /// The text of the file.
    pub(crate) fn text(&self) -> String {
        self.written().text
    }

    /// The text of the file, and where its tables are from.
    pub(crate) fn written(&self) -> Written {
        let mut written = Written::default();
        self.root.append("", &mut written.text);
        for (name, table) in &self.sections {
            written.append(table, &format!("[{name}]"));
        }
        for (tables, header) in
            [(&self.maps, "[[map]]"), (&self.limits, "[[limit]]"), (&self.upstreams, "[[upstream]]")]
        {
            tables.iter().for_each(|table| written.append(table, header));
        }
        for site in &self.sites {
            written.append(&site.table, "[[site]]");
            site.routes.iter().for_each(|route| written.append(route, "[[site.route]]"));
        }
        written
    }
}

/// The text of a settings file.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) text: String,
    /// Where each table begins, and the directive that it comes from.
    pub(crate) origins: Vec<(usize, Option<Place>)>,
}

impl Written {
    fn append(&mut self, table: &Table, header: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.origins.push((self.text.len(), table.place.clone()));
        table.append(header, &mut self.text);
    }
}
