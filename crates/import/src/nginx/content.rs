//! The content of a location: files, another server, a program.

use std::rc::Rc;

use serow_nginx_syntax::pattern::Pattern;

use super::{
    catalog,
    flow::Flow,
    handler::{Handler, HandlerKind},
    locations::{Kind, Location, PASSES},
    matching::{self, Match},
    policies::{
        self,
        access::{self, Restriction},
    },
    position::Position,
    programs, proxying,
    redirects::{path_of_target, with_query_mark},
    route::Route,
    scope::Scope,
    server_routes,
    text::{Part, Text, Use},
};
use serow_nginx_syntax::{alias::names_file, directive::Directive};

use crate::settings::{table::Table, value::Value};

/// The content of a location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content<'a, 'tree> {
    /// The location.
    pub(crate) location: &'a Location<'tree>,
    /// How many named locations have led here: they can lead in a circle.
    pub(crate) depth: usize,
}

/// The handlers of some requests, each for a part of them; or the reason why there are none.
type Handlers = Result<Vec<(Match, Handler)>, String>;

/// The reason why a location with passwords or limits cannot lead on to others.
const RESTRICTED: &str = "nginx checks the access to this location before it goes on to another: write that access control \
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

    fn scope(&self) -> &Rc<Scope<'tree>> {
        &self.location.scope
    }

    fn directive(&self) -> &'tree Directive {
        self.location.directive
    }

    /// The directive that passes requests to another server.
    fn passing(&self, settings: &Scope<'tree>) -> Option<&'tree Directive> {
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

    fn pass(
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
    fn append_indexes(
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
    fn files(
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

    /// The routes of `try_files`.
    fn try_files(
        &self,
        flow: &mut Flow<'_, 'tree>,
        candidates: &'tree Directive,
        matching: &Match,
        passing: Option<&'tree Directive>,
    ) {
        let texts: Vec<Text> = candidates.texts().map(|word| flow.position.filled(word)).collect();
        let Some((last, texts)) = texts.split_last() else { return };
        let last = &with_query_mark(last);
        flow.position.notes().translated(candidates);
        let handlers = match passing {
            // nginx looks whether a file exists, and passes the request either way.
            Some(passing) => self.scripts(&flow.position, passing, matching, texts, last),
            None => programs::front_controller(&flow.position, self.location, texts, last)
                .map(|php| php.map(|php| vec![(matching.clone(), php)])),
        };
        match handlers {
            Some(handlers) => {
                let takes_path_info =
                    matches!(&self.location.kind, Kind::Expression(pattern) if pattern.matches("/x.php/y"));
                if passing.is_some() && takes_path_info {
                    let why =
                        "a script gets the path behind its name as PATH_INFO, which `try_files` of nginx takes away";
                    flow.position.notes().differs(candidates, why);
                }
                if passing.is_none() && texts.iter().any(|text| text.written() == "$uri/") {
                    // The handler runs the scripts itself.
                    self.append_indexes(flow, self.scope(), matching, |name| !name.ends_with(".php"));
                }
                return push(flow, self.scope(), matching, handlers, passing.unwrap_or(candidates));
            }
            None if passing.is_none() => {}
            None => flow.position.notes().differs(
                candidates,
                "beside a `*_pass`, nginx passes the requests for existing files, too: here the files are sent",
            ),
        }
        match self.candidates(flow, texts, last, matching, candidates) {
            // The last folder refuses what is missing itself.
            Ok(true) => {}
            Ok(false) => self.fallback(flow, last, matching, candidates),
            Err(why) => flow.refuse(matching, candidates, why),
        }
    }

    /// The scripts that `try_files` looks for before it passes them to php-fpm; nothing if it looks for something else.
    fn scripts(
        &self,
        position: &Position<'_, 'tree>,
        passing: &'tree Directive,
        matching: &Match,
        texts: &[Text],
        last: &Text,
    ) -> Option<Handlers> {
        if passing.name() != "fastcgi_pass" {
            return None;
        }
        let written = last.written();
        let is_script = |script: &&str| script.ends_with(".php") && !script.contains('$');
        let refuses_missing = last.literal().is_some_and(|last| last.starts_with('='));
        let second = texts.last().filter(|_| refuses_missing).and_then(Text::literal);
        let front = written.split('?').next().filter(is_script).or(second.filter(is_script));
        if front.is_none() && !refuses_missing && texts.iter().any(|text| text.written() != "$uri") {
            return None;
        }
        Some(self.pass(position, passing, self.scope(), matching, None).map(|mut handlers| {
            for (_, handler) in handlers.iter_mut().filter(|(_, handler)| handler.kind == HandlerKind::Php) {
                let script = front.map(|script| script.trim_start_matches('/'));
                handler.table.set_some("front-controller", script);
            }
            handlers
        }))
    }

    /// Routes for the candidates of `try_files` that are files. Whether the last one refuses missing files, as `=404` says.
    fn candidates(
        &self,
        flow: &mut Flow<'_, 'tree>,
        texts: &[Text],
        last: &Text,
        matching: &Match,
        candidates: &'tree Directive,
    ) -> Result<bool, String> {
        let ends_with_status = last.literal().is_some_and(|last| last == "=404");
        let mut refuses_missing = false;
        let mut rest = texts.iter().peekable();
        while let Some(text) = rest.next() {
            let written = text.written();
            if written.is_empty() || written == "/dev/null" || written == "/nonexistent" || written.starts_with('@') {
                // Names that nobody expects to exist: the next candidate counts.
                continue;
            }
            if !matches!(written.as_str(), "$uri" | "$uri/" | "/$uri" | "$uri.html") {
                self.single_candidate(flow, text, matching, candidates)?;
                refuses_missing = false;
                continue;
            }
            let mut handler = self.files(&flow.position, self.scope(), None)?;
            let has_index = texts.iter().any(|text| text.written() == "$uri/");
            if has_index && std::ptr::eq(&texts[0], text) {
                self.append_indexes(flow, self.scope(), matching, |_| true);
            }
            let mut shapes = vec![written];
            while let Some(next) =
                rest.next_if(|next| matches!(next.written().as_str(), "$uri/" | "$uri.html" | "$uri/index.html"))
            {
                shapes.push(next.written());
            }
            let has = |shape: &str| shapes.iter().any(|own| own == shape);
            let has_folders = has("$uri/") || has("$uri/index.html");
            if !has_folders {
                handler.table.set("index", Value::List(Vec::new()));
            }
            if has("$uri/index.html") {
                let why = "a folder is served under the address with a slash, to which Serow redirects";
                flow.position.notes().differs(candidates, why);
            }
            if has("$uri.html") {
                handler.table.set("extensions", ".html");
            }
            // A folder without its index is not a file; endings of files leave no folders.
            refuses_missing = rest.peek().is_none() && ends_with_status && (has_folders || matching.is_for_files());
            if !refuses_missing {
                handler.table.remove("listing");
                handler.table.set("missing", "next");
            }
            flow.push_handler(matching, self.scope(), &handler, candidates);
        }
        Ok(refuses_missing)
    }

    /// A route for a candidate that is another file than that of the request.
    fn single_candidate(
        &self,
        flow: &mut Flow<'_, 'tree>,
        text: &Text,
        matching: &Match,
        candidates: &'tree Directive,
    ) -> Result<(), String> {
        let Position { server, variables } = &flow.position;
        let Some(folder) = server.folder_of(self.scope()) else {
            server.notes().differs(candidates, "there is no `root`: the candidates are looked for nowhere");
            return Ok(());
        };
        let text = variables.resolve(text, Use::Message)?.with_single_slashes();
        let folder = variables.resolve(&Text::of(&folder.path), Use::Message)?;
        let folder =
            folder.literal().ok_or("Serow's folders have no variables in their path: write a route for each")?;
        let mut path = Text::default();
        path.push_literal(folder.trim_end_matches('/'));
        let has_slash = match text.parts.first() {
            Some(Part::Literal(literal)) => literal.starts_with('/'),
            Some(Part::Variable(name)) => match name.parse() {
                Ok(group) => matching.expression().is_some_and(|pattern| pattern.group_begins_with_slash(group)),
                Err(_) => name == "uri",
            },
            None => false,
        };
        let is_known = match text.parts.first() {
            Some(Part::Variable(name)) => name.parse::<usize>().is_ok(),
            _ => true,
        };
        if !has_slash && is_known {
            let why =
                format!("{}: nginx looks for it without a slash behind the folder, and finds none", text.written());
            server.notes().no_line(candidates, why);
            return Ok(());
        }
        if !has_slash {
            path.push_literal("/");
        }
        path.push_text(&text);
        let mut handler = Handler::new(HandlerKind::Files, Table::default());
        handler.table.set("root", folder);
        policies::files::set(server, self.scope(), &mut handler.table);
        let written = text.written().replace('*', "%2A");
        handler.rewrite = Some(format!("{}{written}", if has_slash { "" } else { "/" }));
        let existing = matching.and(matching::Condition::unnamed("file", vec![path.written()]));
        flow.push_handler(&existing, self.scope(), &handler, candidates);
        Ok(())
    }

    /// The last element of `try_files`: a status, a named location, or another path.
    fn fallback(&self, flow: &mut Flow<'_, 'tree>, last: &Text, matching: &Match, candidates: &'tree Directive) {
        let literal = last.literal().unwrap_or_default();
        if let Some(status) = literal.strip_prefix('=') {
            let handler = Handler::responding(status.parse().unwrap_or(404));
            return flow.push_handler(matching, self.scope(), &handler, candidates);
        }
        let is_restricted = access::restriction(&flow.position, self.scope()) == Restriction::Other;
        if let Some(name) = literal.strip_prefix('@') {
            let before = flow.routes.len();
            if let Err(why) = server_routes::append_named(flow, name, matching, self.depth) {
                flow.refuse(matching, candidates, why);
            } else if is_restricted && !access::extend(&flow.position, self.scope(), &mut flow.routes[before..]) {
                flow.routes.truncate(before);
                flow.refuse(matching, candidates, RESTRICTED.to_owned());
            }
        } else if is_restricted {
            flow.refuse(matching, candidates, RESTRICTED.to_owned());
        } else if let Err(why) = self.other_path(flow, last, matching, candidates) {
            flow.refuse(matching, candidates, why);
        }
    }

    /// A path at the end of `try_files`, for which nginx looks for the location again.
    fn other_path(
        &self,
        flow: &mut Flow<'_, 'tree>,
        last: &Text,
        matching: &Match,
        candidates: &'tree Directive,
    ) -> Result<(), String> {
        let path = path_of_target(last);
        let names_query = path != *last;
        let target = flow.position.variables.resolve(&path, Use::Message)?.written();
        // The query of the request does not get there, unless the text names it.
        let target = if target.contains('?') || names_query { target } else { format!("{target}?") };
        let target = if target.starts_with(['/', '$']) { target } else { format!("/{target}") };
        // A page is for GET and HEAD, and with another method would lead to itself.
        let page = target.split('?').next().unwrap_or_default();
        let server = flow.position.server;
        let is_own = self.passing(self.scope()).is_none()
            && server.script_location(page).is_some_and(|location| std::ptr::eq(location, self.location));
        let is_page = is_own || server.is_file_location(page);
        let requests = if is_page { matching.and_method("GET") } else { matching.clone() };
        flow.push(Route::restarting(requests, target), candidates);
        if is_page {
            // Not for the routes of other locations, which may permit more.
            flow.push_handler(matching, self.scope(), &Handler::responding(405), candidates);
        }
        Ok(())
    }
}

/// Adds routes with these handlers, or refuses the requests if there are none.
fn push<'tree>(
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
