//! An import: all parts of the settings file while they are made.

use std::{
    cell::{Cell, RefCell},
    path::{Path, PathBuf},
    rc::Rc,
};

use serow_nginx_syntax::{directive::Directive, scope::Scope};
use serow_settings_writer::{table::Table, value::Value};

use super::{
    maps::MadeMap,
    text::{Text, Use, Variables},
};
use crate::report::Notes;

/// An import.
#[derive(Debug)]
pub(crate) struct Import<'tree> {
    pub(crate) notes: Notes,
    pub(crate) variables: RefCell<Variables>,
    pub(crate) maps: RefCell<Vec<MadeMap<'tree>>>,
    /// Maps without a translation.
    pub(crate) missing_maps: RefCell<Vec<&'tree Directive>>,
    pub(crate) upstreams: RefCell<Vec<Table>>,
    pub(crate) upstream_blocks: Vec<&'tree Directive>,
    pub(crate) limits: RefCell<Vec<Table>>,
    pub(crate) uses_cache: Cell<bool>,
    pub(crate) http: Rc<Scope<'tree>>,
    prefix: PathBuf,
}

impl<'tree> Import<'tree> {
    /// An import of the directives in the `http` block; `count` is the number of all directives.
    pub(crate) fn new(http: &Rc<Scope<'tree>>, count: usize, prefix: &Path) -> Self {
        Self {
            notes: Notes::new(count),
            variables: RefCell::default(),
            maps: RefCell::default(),
            missing_maps: RefCell::default(),
            upstreams: RefCell::default(),
            upstream_blocks: http.own("upstream").collect(),
            limits: RefCell::default(),
            uses_cache: Cell::default(),
            http: Rc::clone(http),
            prefix: prefix.to_owned(),
        }
    }

    /// Notes that a route has a cache.
    pub(crate) fn use_cache(&self) {
        self.uses_cache.set(true);
    }

    /// A path relative to the prefix as a whole one.
    pub(crate) fn path(&self, path: &str) -> String {
        match path.starts_with(['/', '$']) {
            true => path.to_owned(),
            false => self.prefix.join(path).display().to_string(),
        }
    }

    /// The key of a `limit_conn_zone`.
    pub(crate) fn connection_zone(&self, zone: &str) -> Option<String> {
        let directive = self.http.own("limit_conn_zone").find(|directive| zone_name(directive) == Some(zone))?;
        self.notes.translated(directive);
        directive.word(0).map(str::to_owned)
    }

    /// The name of the `[[limit]]` for a `limit_req`.
    pub(crate) fn limit(
        &self,
        limit: &'tree Directive,
        status: Option<&Directive>,
        is_dry_run: bool,
    ) -> Result<String, String> {
        let zone = limit.texts().find_map(|word| word.strip_prefix("zone=")).ok_or("it names no zone")?;
        let directive = self
            .http
            .own("limit_req_zone")
            .find(|directive| zone_name(directive) == Some(zone))
            .ok_or_else(|| format!("there is no `limit_req_zone` for {zone}"))?;
        let rate = directive.texts().find_map(|word| word.strip_prefix("rate=")).ok_or("its zone has no rate")?;
        let key = self.variables.borrow().resolve(&Text::of(directive.word(0).unwrap_or_default()), Use::Message)?;
        if key.names_group() {
            return Err("the key of a limit has no groups of a path".to_owned());
        }
        let mut table = Table::default();
        if key.written() != "$remote_addr" {
            table.set("key", key.written());
        }
        let number = rate.strip_suffix("r/s").or_else(|| rate.strip_suffix("r/m")).and_then(|rate| rate.parse().ok());
        if number.is_none_or(|number: u32| number == 0) {
            return Err(format!("{rate} is not a rate"));
        }
        table.set("rate", rate.replace("r/", "/"));
        let number = |name: &str| limit.texts().find_map(|word| word.strip_prefix(name)?.parse::<u64>().ok());
        if let Some(burst) = number("burst=") {
            table.set("burst", Value::Number(burst));
            if !limit.texts().any(|word| word == "nodelay") {
                table.set("delay", Value::Number(number("delay=").unwrap_or(0)));
            }
        }
        if is_dry_run {
            table.set("dry-run", Value::Bool(true));
        }
        self.notes.translated(limit);
        self.notes.translated(directive);
        if status.is_none() {
            self.notes.differs(limit, "further requests get 429; nginx sends 503");
        }
        let mut limits = self.limits.borrow_mut();
        if let Some(Value::Text(name)) =
            limits.iter().find(|other| other.entries[1..] == table.entries).and_then(|same| same.get("name"))
        {
            return Ok(name.clone());
        }
        let is_taken = |name: &str| limits.iter().any(|other| other.get("name") == Some(&Value::from(name)));
        let mut name: String = zone
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' })
            .collect();
        if is_taken(&name) {
            self.notes.differs(limit, "each burst of a zone is a limit of its own, which counts for itself");
            let mut count = 2;
            while is_taken(&format!("{name}-{count}")) {
                count += 1;
            }
            name = format!("{name}-{count}");
        }
        table.entries.insert(0, ("name".to_owned(), Value::Text(name.clone())));
        table.place = Some(directive.place.clone());
        limits.push(table);
        Ok(name)
    }
}

/// The name in `zone=NAME:SIZE`.
fn zone_name(directive: &Directive) -> Option<&str> {
    let zone = directive.texts().find_map(|word| word.strip_prefix("zone="))?;
    Some(zone.split_once(':').map_or(zone, |(name, _)| name))
}
