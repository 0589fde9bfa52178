//! The translation of a whole configuration.

use std::{path::Path, rc::Rc};

use serow_nginx_syntax::{
    directive::Directive,
    scope::Scope,
    units::{bytes, written_size},
};
use serow_settings_writer::{
    file::{SettingsFile, SiteTable, Written},
    matching::Match,
    route::Route,
    table::Table,
    tidying,
};

use super::{
    catalog, import::Import, listeners, locations::Location, maps::MadeMap, process, server::Server, server_routes,
};
use crate::report::Report;

/// The settings of a configuration with this number of directives, and the report.
pub(crate) fn translate(directives: &[Directive], count: usize, prefix: &Path) -> (Written, Report) {
    let main = Scope::outermost(directives);
    let http_directive = main.own_one("http");
    // A file of `sites-enabled` has only servers.
    let http = http_directive.map_or_else(|| Rc::clone(&main), |directive| main.inner(directive));
    let import = Import::new(&http, count, prefix);
    if let Some(directive) = http_directive {
        import.notes.translated(directive);
    }
    import.read_maps(http.directives);
    let mut file = SettingsFile::default();
    process::set(&import, &main, &http, &mut file.root);
    set_sites(&import, &mut file);
    file.upstreams = import.upstreams.take();
    file.limits = import.limits.take();
    set_maps(&import, &mut file);
    if import.uses_cache.get() {
        file.sections.push(("cache", cache(&import)));
    }
    tidying::tidy(&mut file);
    catalog::note_rest(&import.notes, directives);
    let report = import.notes.report(directives);
    (file.written(), report)
}

fn set_sites(import: &Import<'_>, file: &mut SettingsFile) {
    let http = &import.http;
    let servers: Vec<&Directive> = http.own("server").collect();
    let listening = listeners::of(import, http, &servers);
    file.root.set_some("trust", process::trust(import, http, &servers));
    process::trust_header(import, http, &mut file.root);
    listening.set_root(&mut file.root);
    for (position, directive) in servers.iter().enumerate() {
        if !listening.listens(position) {
            import.notes.lost_with_all(directive, "it has no address that Serow listens on");
            continue;
        }
        import.notes.translated(directive);
        let scope = http.inner(directive);
        let names = listeners::names(&scope);
        let root = Location::of_server(directive, &scope, &import.notes);
        let server = Server::new(import, directive, &scope, &root, &names);
        let mut routes = server_routes::of_server(&server);
        for location in &server.locations {
            if !import.notes.has(location.directive) {
                server.unreached(location.directive);
            }
        }
        let mut site = SiteTable::default();
        site.table.comment(format!("{}", directive.place));
        site.table.place = Some(directive.place.clone());
        if !listening.set_site(import, position, &scope, &names, &mut site.table) {
            continue;
        }
        if routes.is_empty() {
            // Its requests must not reach another site.
            routes.push(Route::refusing(Match::all(), format!("{}: nothing is translated", directive.place)));
        }
        let refusal = listening.overlapping.refusal_elsewhere(position);
        site.routes = refusal.into_iter().chain(routes).map(Route::into_table).collect();
        for route in &mut site.routes {
            route.place.get_or_insert_with(|| directive.place.clone());
        }
        file.sites.push(site);
    }
}

/// The maps that the rest of the file names, and those that these name.
fn set_maps(import: &Import<'_>, file: &mut SettingsFile) {
    let mut text = file.text();
    let mut left = import.maps.take();
    loop {
        let is_named = |map: &MadeMap<'_>| tidying::names_variable(&text, &map.name);
        let (named, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_named);
        left = others;
        if named.is_empty() {
            break;
        }
        for mut map in named {
            map.table.place = map.directive.map(|directive| directive.place.clone());
            let mut more = String::new();
            map.table.append("[[map]]", &mut more);
            text.push_str(&more);
            if let Some(directive) = map.directive {
                import.notes.translated(directive);
                directive.children().iter().for_each(|line| import.notes.translated(line));
            }
            file.maps.push(map.table);
        }
    }
    let unnamed = left.into_iter().filter_map(|map| map.directive);
    let missing = import.missing_maps.take().into_iter().filter(|directive| !import.notes.has(directive));
    for directive in unnamed.chain(missing) {
        for line in [directive].into_iter().chain(directive.children()) {
            import.notes.no_line(line, "no setting names its variable");
        }
    }
}

/// `[cache]`, from all paths of caches together.
fn cache(import: &Import<'_>) -> Table {
    let mut table = Table::default();
    let mut size = 0;
    for name in ["proxy_cache_path", "fastcgi_cache_path", "uwsgi_cache_path", "scgi_cache_path"] {
        for directive in import.http.own(name) {
            import.notes.translated(directive);
            if table.get("dir").is_none() {
                table.set("memory", "64M");
                table.set_some("dir", directive.word(0).map(|path| import.path(path)));
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
    table
}
