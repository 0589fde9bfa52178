//! A whole settings file.

use serow_nginx_syntax::place::Place;

use super::table::Table;

/// A settings file.
#[derive(Debug, Default)]
pub struct SettingsFile {
    /// The keys of the root.
    pub root: Table,
    /// Tables of the root: `[cache]`, `[redis]`.
    pub sections: Vec<(&'static str, Table)>,
    /// `[[map]]`.
    pub maps: Vec<Table>,
    /// `[[limit]]`.
    pub limits: Vec<Table>,
    /// `[[upstream]]`.
    pub upstreams: Vec<Table>,
    /// `[[site]]`.
    pub sites: Vec<SiteTable>,
}

/// A site with its routes.
#[derive(Clone, Debug, Default)]
pub struct SiteTable {
    /// Its own keys.
    pub table: Table,
    /// `[[site.route]]`.
    pub routes: Vec<Table>,
}

impl SettingsFile {
    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        self.written().text
    }

    /// The text of the file, and where its tables are from.
    #[must_use]
    pub fn written(&self) -> Written {
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
pub struct Written {
    /// The text.
    pub text: String,
    /// Where each table begins, and the directive that it comes from.
    pub origins: Vec<(usize, Option<Place>)>,
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
