//! The content of a location: files, another server, a program.

use std::rc::Rc;

use serow_nginx_syntax::{alias::names_file, directive::Directive, pattern::Pattern, scope::Scope};
use serow_settings_writer::{
    matching::{self, Match},
    route::Route,
    table::Table,
};

use super::{
    catalog,
    flow::Flow,
    handler::{Handler, HandlerKind},
    locations::{Location, PASSES},
    policies::{
        self,
        access::{self, Restriction},
    },
    position::Position,
    programs, proxying,
    text::Use,
};

/// The content of a location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content<'a, 'tree> {
    /// The location.
    pub(crate) location: &'a Location<'tree>,
    /// How many named locations have led here: they can lead in a circle.
    pub(crate) depth: usize,
}

/// The handlers of some requests, each for a part of them; or the reason why there are none.
pub(super) type Handlers = Result<Vec<(Match, Handler)>, String>;

/// The reason why a location with passwords or limits cannot lead on to others.
pub(super) const RESTRICTED: &str = "nginx checks the access to this location before it goes on to another: write that access control \
                          into the other location, too";

impl<'tree> Content<'_, 'tree> {
    /// Appends routes for the requests, with the settings of a block: of the location, or of an `if` in it.
    pub(crate) fn append(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        in_if: bool,
    ) {
        if self.refuse_lost(flow, matching) {
            return;
        }
        let passing = self.passing(settings);
        if passing.is_none() && !in_if && self.append_alias_of_file(flow, settings, matching) {
            return;
        }
        let below = self.alias_without_slash(flow, settings, matching);
        let matching = below.as_ref().unwrap_or(matching);
        if passing.is_none() && !self.append_refusals(flow, settings, matching) {
            return;
        }
        if let Some(candidates) = self.scope().own_one("try_files").filter(|_| !in_if) {
            return self.try_files(flow, candidates, matching, passing);
        }
        if passing.is_none() {
            self.append_indexes(flow, settings, matching, |_| true);
        }
        self.append_handlers(flow, settings, matching, None);
    }

    /// The same for requests that get another path for the content.
    pub(crate) fn append_rewritten(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        path: String,
    ) {
        if self.refuse_lost(flow, matching) {
            return;
        }
        if self.passing(settings).is_none() {
            let is_plain = |text: &str| matches!(text, "$uri" | "$uri/" | "=404");
            if let Some(candidates) = self.scope().own_one("try_files")
                && !candidates.texts().all(is_plain)
            {
                let why = "candidates for a path that `rewrite … break` made have no translation";
                return flow.refuse(matching, candidates, why.to_owned());
            }
            // A name with an ending is a file.
            let name = path.split('?').next().and_then(|path| path.rsplit('/').next());
            if name.is_some_and(|name| !name.contains('.')) {
                let why = "an index file that `rewrite … break` leads to keeps the settings of this location";
                flow.position.notes().differs(self.directive(), why);
            }
        }
        let below = self.alias_without_slash(flow, settings, matching);
        self.append_handlers(flow, settings, below.as_ref().unwrap_or(matching), Some(path));
    }

    pub(super) fn scope(&self) -> &Rc<Scope<'tree>> {
        &self.location.scope
    }

    pub(super) fn directive(&self) -> &'tree Directive {
        self.location.directive
    }

    /// The directive that passes requests to another server.
    pub(super) fn passing(&self, settings: &Scope<'tree>) -> Option<&'tree Directive> {
        let pass = |scope: &Scope<'tree>| PASSES.iter().find_map(|name| scope.own_one(name));
        pass(settings).or_else(|| pass(self.scope()))
    }

    /// Refuses the requests if the location has a content that Serow does not have. Whether that is so.
    fn refuse_lost(&self, flow: &mut Flow<'_, 'tree>, matching: &Match) -> bool {
        let Some(lost) = self.scope().directives.iter().find(|directive| catalog::is_content(directive.name())) else {
            return false;
        };
        let why = catalog::without_counterpart(lost.name()).unwrap_or("Serow has no such content");
        flow.refuse(matching, lost, why.to_owned());
        true
    }

    /// Appends the refusals of clients: the routes of this location lead on to others, which nginx does only for clients that
    /// it admits. Whether there are such clients.
    fn append_refusals(&self, flow: &mut Flow<'_, 'tree>, settings: &Rc<Scope<'tree>>, matching: &Match) -> bool {
        match access::restriction(&flow.position, settings) {
            Restriction::None | Restriction::Other => true,
            Restriction::All => {
                let files = self.files(&flow.position, settings, None);
                let handler = files.unwrap_or_else(|_| Handler::responding(403));
                flow.push_handler(matching, settings, &handler, self.directive());
                false
            }
            Restriction::Addresses(refused) => {
                for clients in refused {
                    let refused = matching.and(matching::Condition::unnamed("client", clients));
                    flow.push_handler(&refused, settings, &Handler::responding(403), self.directive());
                }
                true
            }
        }
    }

    /// Appends the routes of the handler.
    fn append_handlers(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        rewrite: Option<String>,
    ) {
        let (handlers, reported) = match self.passing(settings) {
            Some(passing) => (self.pass(&flow.position, passing, settings, matching, rewrite), passing),
            None => {
                let files = self.files(&flow.position, settings, rewrite);
                (files.map(|files| vec![(matching.clone(), files)]), self.directive())
            }
        };
        push(flow, settings, matching, handlers, reported);
    }

    /// Appends the routes of a prefix whose `alias` is a file: longer paths are not found. Whether it is one.
    fn append_alias_of_file(&self, flow: &mut Flow<'_, 'tree>, settings: &Rc<Scope<'tree>>, matching: &Match) -> bool {
        let folder = flow.position.server.folder_of(settings).filter(|folder| folder.is_alias);
        let prefix = self.location.path().filter(|prefix| matching.prefix() == Some(prefix));
        let (Some(folder), Some(prefix)) = (folder, prefix) else { return false };
        if !names_file(prefix, &folder.path) || settings.own_one("try_files").is_some() {
            return false;
        }
        self.append_handlers(flow, settings, &matching.only(prefix), None);
        flow.push_handler(matching, settings, &Handler::responding(404), self.directive());
        true
    }

    /// Where a location with an `alias` has no slash at its end: the requests below the location, and a redirect to the slash.
    fn alias_without_slash(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
    ) -> Option<Match> {
        let folder = flow.position.server.folder_of(settings)?;
        let prefix = self.location.path().filter(|prefix| matching.prefix() == Some(prefix))?;
        if !folder.is_alias || self.location.is_exact() || prefix.ends_with('/') {
            return None;
        }
        let why = format!("paths such as {prefix}x, without a slash behind {prefix}, are not for this location");
        flow.position.notes().differs(self.directive(), why);
        let handler = Handler::redirecting(format!("{}/", prefix.replace('*', "%2A")), 301);
        flow.push_handler(&matching.only(prefix), settings, &handler, self.directive());
        Some(matching.below(&format!("{prefix}/")))
    }

    pub(super) fn pass(
        &self,
        position: &Position<'_, 'tree>,
        passing: &'tree Directive,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        rewrite: Option<String>,
    ) -> Handlers {
        match passing.name() {
            "proxy_pass" | "grpc_pass" => {
                proxying::handlers(position, self.location, passing, settings, matching, rewrite)
            }
            "memcached_pass" => Err("Serow does not speak memcached".to_owned()),
            _ => programs::handlers(position, self.location, passing, settings, matching, rewrite),
        }
    }

    /// Routes for folders with an index file that another location takes: nginx looks for the location again.
    pub(super) fn append_indexes(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        is_meant: impl Fn(&str) -> bool,
    ) {
        let server = flow.position.server;
        let folder = Some(server.files_of(settings)).filter(|folder| !folder.is_alias);
        let folder = folder.map(|folder| flow.position.filled(&folder.path));
        let (Some(folder), Ok(slash)) = (folder.as_ref(), Pattern::new("/$", false)) else { return };
        if access::restriction(&flow.position, settings) == Restriction::Other {
            // The route that looks for the location again would pass by the access control of this one.
            return;
        }
        let index = settings.nearest("index");
        let mut names: Vec<&str> = index.iter().flat_map(|directive| directive.texts()).collect();
        if names.is_empty() {
            names.push("index.html");
        }
        let Some(folder) = folder.literal() else {
            let folder = flow.position.variables.resolve(folder, Use::Message).unwrap_or_default();
            if folder.leading().starts_with('/') {
                // Serow's own redirect would name the path below the folder that it has.
                let path = format!("{}${{uri}}/", folder.written().trim_end_matches('/'));
                if !self.append_slash(flow, settings, matching, "/[^/]+$", path) && !self.location.is_exact() {
                    let why = "the redirect of a folder to its slash has the path below the folder without variables";
                    flow.position.notes().differs(self.directive(), why);
                }
            }
            if names.iter().any(|name| server.has_location_for_index(name, self.scope())) {
                let why = "an index file below a folder with variables keeps the settings of this location";
                server.notes().differs(self.directive(), why);
            }
            return;
        };
        let mut before: Vec<String> = Vec::new();
        for name in names.iter().filter(|name| !name.contains(['$', '/'])) {
            let file = format!("{}${{uri}}{name}", folder.trim_end_matches('/'));
            let is_elsewhere = matching.excludes_files_below() || server.has_location_for_index(name, self.scope());
            if is_elsewhere
                && is_meant(name)
                && let Some(folders) = matching.and_expression(&slash)
            {
                let patterns = [vec![file.clone()], before.clone()].concat();
                let folders = folders.and(matching::Condition::unnamed("file", patterns));
                flow.push(Route::restarting(folders, format!("${{uri}}{name}")), self.directive());
                let path = format!("{}${{uri}}/{name}", folder.trim_end_matches('/'));
                // Only for names without a dot: the others are files, for which nothing is looked up.
                self.append_slash(flow, settings, matching, "/[^/.]+$", path);
            }
            before.push(format!("!{file}"));
        }
    }

    /// A redirect to the slash of a folder whose index is this file, or which this folder is: Serow does not know it as one that
    /// the folder has. Whether there is one.
    fn append_slash(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        names: &str,
        path: String,
    ) -> bool {
        let folders = Pattern::new(names, false).ok().and_then(|name| matching.and_expression(&name));
        let Some(folders) = folders.filter(|_| self.location.kind.takes_folders()) else { return false };
        let folders = folders.and(matching::Condition::unnamed("file", vec![path]));
        flow.push_handler(&folders, settings, &Handler::redirecting("${uri}/", 301), self.directive());
        true
    }

    /// The folder of the location as files.
    pub(super) fn files(
        &self,
        position: &Position<'_, 'tree>,
        settings: &Scope<'tree>,
        rewrite: Option<String>,
    ) -> Result<Handler, String> {
        let mut handler = Handler::new(HandlerKind::Files, Table::default());
        let own = position.server.set_folder(self.location, settings, &position.variables, &mut handler.table)?;
        policies::files::set(position.server, settings, &mut handler.table);
        handler.rewrite = match (rewrite, own.as_ref().and_then(|own| own.strip_suffix("$uri"))) {
            (Some(rewrite), Some(folder)) => Some(format!("{folder}{rewrite}")),
            (rewrite, _) => rewrite.or(own),
        };
        Ok(handler)
    }
}

/// Adds routes with these handlers, or refuses the requests if there are none.
pub(super) fn push<'tree>(
    flow: &mut Flow<'_, 'tree>,
    settings: &Rc<Scope<'tree>>,
    matching: &Match,
    handlers: Handlers,
    reported: &Directive,
) {
    match handlers {
        Err(why) => flow.refuse(matching, reported, why),
        Ok(handlers) => {
            for (matching, handler) in &handlers {
                flow.push_handler(matching, settings, handler, reported);
            }
        }
    }
}
