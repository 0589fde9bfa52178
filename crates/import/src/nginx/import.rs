//! An import: all parts of the settings file while they are made.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    catalog, listeners,
    locations::Location,
    maps::{Geo, MadeMap},
    process,
    route::Route,
    scope::Scope,
    server::Server,
    text::{Text, Use, Variables},
    tidying,
    units::{bytes, written_size},
};
use crate::{
    grammar::directive::Directive,
    report::{Notes, Report},
    settings::{
        file::{SettingsFile, SiteTable},
        table::Table,
        value::Value,
    },
};

/// An import.
#[derive(Debug)]
pub(crate) struct Import<'tree> {
    pub(crate) notes: Notes,
    pub(crate) variables: RefCell<Variables>,
    pub(crate) maps: RefCell<Vec<MadeMap<'tree>>>,
    /// Maps without a translation: the directive, the variable, and the reason.
    pub(crate) missing_maps: RefCell<Vec<(&'tree Directive, String, String)>>,
    pub(crate) geos: RefCell<Vec<Geo<'tree>>>,
    pub(crate) upstreams: RefCell<Vec<Table>>,
    pub(crate) upstream_blocks: Vec<&'tree Directive>,
    limits: RefCell<Vec<Table>>,
    /// The servers' named locations that error pages lead to: the number of the server, and the name.
    named: RefCell<Vec<(usize, String)>>,
    uses_cache: RefCell<bool>,
    http: Rc<Scope<'tree>>,
    prefix: PathBuf,
}

impl<'tree> Import<'tree> {
    /// The settings of a configuration, and the report.
    pub(crate) fn run(directives: &'tree [Directive], count: usize, prefix: &Path) -> (String, Report) {
        let main = Scope::outermost(directives);
        let http_directive = main.own_one("http");
        // A file of `sites-enabled` has only servers.
        let http = http_directive.map_or_else(|| Rc::clone(&main), |directive| main.inner(directive));
        let import = Self {
            notes: Notes::new(count),
            variables: RefCell::default(),
            maps: RefCell::default(),
            missing_maps: RefCell::default(),
            geos: RefCell::default(),
            upstreams: RefCell::default(),
            upstream_blocks: http.own("upstream").collect(),
            limits: RefCell::default(),
            named: RefCell::default(),
            uses_cache: RefCell::default(),
            http: Rc::clone(&http),
            prefix: prefix.to_owned(),
        };
        if let Some(directive) = http_directive {
            import.notes.translated(directive);
        }
        import.read_maps(http.directives);
        let mut file = SettingsFile::default();
        process::set(&import, &main, &http, &mut file.root);
        import.servers(&mut file);
        import.finish(&mut file);
        tidying::tidy(&mut file);
        catalog::note_rest(&import.notes, directives);
        let report = import.notes.report(directives);
        (file.text(), report)
    }

    fn servers(&self, file: &mut SettingsFile) {
        let servers: Vec<&'tree Directive> = self.http.own("server").collect();
        let listening = listeners::of(self, &self.http, &servers);
        file.root.set_some("trust", process::trust(self, &self.http, &servers));
        process::trust_header(self, &self.http, &mut file.root);
        listening.set_root(&mut file.root);
        for (position, directive) in servers.iter().enumerate() {
            self.notes.translated(directive);
            let scope = self.http.inner(directive);
            let names = listeners::names(&scope);
            let root = Location::of_server(directive, &scope, &self.notes);
            let server = Server::new(self, directive, &scope, &root, &names);
            let mut routes = server.routes();
            self.named_routes(&server, &mut routes);
            for location in server.locations() {
                if !self.notes.has(location.directive) {
                    server.unreached(location.directive);
                }
            }
            let mut site = SiteTable::default();
            site.table.comment(format!("{}", directive.place));
            if !listening.set_site(self, position, &scope, &names, &mut site.table) {
                continue;
            }
            site.routes = routes.into_iter().map(Route::into_table).collect();
            file.sites.push(site);
        }
    }

    /// Adds the routes of named locations that error pages lead to.
    fn named_routes(&self, server: &Server<'_, 'tree>, routes: &mut Vec<Route>) {
        let mut done: Vec<String> = Vec::new();
        loop {
            let next = self
                .named
                .borrow()
                .iter()
                .find(|(number, name)| *number == server.directive.number && !done.contains(name))
                .cloned();
            let Some((_, name)) = next else { return };
            done.push(name.clone());
            match server.named_for_errors(&name) {
                Ok(more) => routes.extend(more),
                Err(why) => self.notes.lost(server.directive, why),
            }
        }
    }

    /// Writes maps, limits and upstreams that the sites name.
    fn finish(&self, file: &mut SettingsFile) {
        file.upstreams = self.upstreams.take();
        file.limits = self.limits.take();
        let mut text = file.text();
        let mut left = self.maps.take();
        loop {
            let is_named = |map: &MadeMap<'_>| tidying::names_variable(&text, &map.name);
            let (named, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_named);
            left = others;
            if named.is_empty() {
                break;
            }
            for map in named {
                let mut more = String::new();
                map.table.append("[[map]]", &mut more);
                text.push_str(&more);
                if let Some(directive) = map.directive {
                    self.notes.translated(directive);
                    directive.children().iter().for_each(|line| self.notes.translated(line));
                }
                file.maps.push(map.table);
            }
        }
        for directive in left.into_iter().filter_map(|map| map.directive) {
            self.unnamed(directive);
        }
        for (directive, name, why) in self.missing_maps.take() {
            let _ = (name, why);
            if !self.notes.has(directive) {
                self.unnamed(directive);
            }
        }
        if self.uses_cache.take() {
            self.cache(file);
        }
    }

    fn unnamed(&self, directive: &Directive) {
        self.notes.no_line(directive, "no setting names its variable");
        directive.children().iter().for_each(|line| self.notes.no_line(line, "no setting names its variable"));
    }

    /// `[cache]`, from all paths of caches together.
    fn cache(&self, file: &mut SettingsFile) {
        let mut table = Table::default();
        let mut size = 0;
        for name in ["proxy_cache_path", "fastcgi_cache_path", "uwsgi_cache_path", "scgi_cache_path"] {
            for directive in self.http.own(name) {
                self.notes.translated(directive);
                if table.get("dir").is_none() {
                    table.set("memory", "64M");
                    table.set_some("dir", directive.word(0).map(|path| self.path(path)));
                }
                let max = directive.texts().find_map(|word| bytes(word.strip_prefix("max_size=")?));
                size += max.unwrap_or(0);
            }
        }
        if table.is_empty() {
            table.set("memory", "64M");
        }
        if size > 0 {
            table.set("dir-size", written_size(size));
            if size < 128 << 20 {
                table.set("memory", written_size(size / 2));
            }
        }
        file.sections.push(("cache", table));
    }

    /// Notes that a route has a cache.
    pub(crate) fn use_cache(&self, _zone: &Directive) {
        self.uses_cache.replace(true);
    }

    /// Notes that error pages of a server lead to a named location.
    pub(crate) fn use_named(&self, server: &Directive, name: &str) {
        let named = (server.number, name.to_owned());
        if !self.named.borrow().contains(&named) {
            self.named.borrow_mut().push(named);
        }
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
        let mut table = Table::default();
        if key.written() != "$remote_addr" {
            table.set("key", key.written());
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
        limits.push(table);
        Ok(name)
    }
}

/// The name in `zone=NAME:SIZE`.
fn zone_name(directive: &Directive) -> Option<&str> {
    let zone = directive.texts().find_map(|word| word.strip_prefix("zone="))?;
    Some(zone.split_once(':').map_or(zone, |(name, _)| name))
}
