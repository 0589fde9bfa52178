//! A whole settings file.

use super::table::Table;

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
        let mut text = String::new();
        self.root.append("", &mut text);
        for (name, table) in &self.sections {
            append(table, &format!("[{name}]"), &mut text);
        }
        for (tables, header) in
            [(&self.maps, "[[map]]"), (&self.limits, "[[limit]]"), (&self.upstreams, "[[upstream]]")]
        {
            tables.iter().for_each(|table| append(table, header, &mut text));
        }
        for site in &self.sites {
            append(&site.table, "[[site]]", &mut text);
            site.routes.iter().for_each(|route| append(route, "[[site.route]]", &mut text));
        }
        text
    }
}

fn append(table: &Table, header: &str, text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
    table.append(header, text);
}
