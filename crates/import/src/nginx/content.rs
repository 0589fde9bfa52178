//! The content of a location: files, another server, a program.

use std::rc::Rc;

use super::{
    catalog,
    flow::Flow,
    handler::{Handler, HandlerKind},
    matching::{self, Match},
    pattern::Pattern,
    policies::{
        access::{self, Restriction},
        caching,
    },
    programs, proxying,
    redirects::{path_of_target, with_query},
    route::Route,
    scope::Scope,
    text::{Text, Use},
};
use crate::{
    grammar::directive::Directive,
    settings::{table::Table, value::Value},
};

/// The content of a location.
#[derive(Clone, Debug)]
pub(crate) struct Content<'tree> {
    /// The block of the location.
    pub(crate) scope: Rc<Scope<'tree>>,
    /// Where it is.
    pub(crate) directive: &'tree Directive,
    /// The prefix of paths that the location has, for `alias` and `proxy_pass` with a path.
    pub(crate) prefix: Option<String>,
    /// Whether the location is for one path.
    pub(crate) is_exact: bool,
    /// How many named locations have led here: they can lead in a circle.
    pub(crate) depth: usize,
}

/// Directives that pass requests to another server.
pub(super) const PASSES: &[&str] =
    &["proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass"];

/// The reason why a location with passwords or limits cannot lead on to others.
const RESTRICTED: &str = "nginx checks the access to this location before it goes on to another: write that access control \
                          into the other location, too";

impl<'tree> Content<'tree> {
    /// Appends routes for the requests, with the settings of a block: of the location, or of an `if` in it.
    pub(crate) fn append(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        in_if: bool,
    ) {
        self.append_content(flow, settings, matching, in_if, None);
    }

    /// The same for requests that get another path for the content.
    pub(crate) fn append_rewritten(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        path: String,
    ) {
        self.append_content(flow, settings, matching, !Rc::ptr_eq(settings, &self.scope), Some(path));
    }

    fn append_content(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        in_if: bool,
        rewrite: Option<String>,
    ) {
        if let Some(lost) = self.scope.directives.iter().find(|directive| catalog::is_content(directive.name())) {
            let why = catalog::without_counterpart(lost.name()).unwrap_or("Serow has no such content");
            return self.refuse(flow, lost, matching, why.to_owned());
        }
        let pass = |scope: &Scope<'tree>| PASSES.iter().find_map(|name| scope.own_one(name));
        let passing = pass(settings).or_else(|| pass(&self.scope));
        let candidates = self.scope.own_one("try_files").or_else(|| {
            self.scope.nearest_one("try_files").filter(|_| {
                // Only the server's own is for paths that no location takes.
                flow.server.is_server(&self.scope)
            })
        });
        let below;
        let matching = match self.alias_without_slash(flow, settings, matching) {
            Some(narrower) => {
                below = narrower;
                &below
            }
            None => matching,
        };
        let candidates = candidates.filter(|_| !in_if && rewrite.is_none());
        if passing.is_none() && rewrite.is_none() {
            match access::restriction(flow, settings) {
                Restriction::None | Restriction::Other => {}
                Restriction::All => return self.push_files(flow, settings, matching),
                // The routes of this location lead on to others, which nginx does only for these clients.
                Restriction::Addresses(refused) => {
                    for clients in refused {
                        let condition = matching::Condition { kind: "client", name: String::new(), patterns: clients };
                        self.push(flow, settings, &matching.and(condition), &Handler::responding(403), self.directive);
                    }
                }
            }
        }
        if let Some(candidates) = candidates {
            self.try_files(flow, candidates, matching, passing);
            return;
        }
        let handler = match passing {
            Some(passing) => self.pass(flow, passing, settings, matching, rewrite),
            None => {
                if rewrite.is_none() {
                    self.append_indexes(flow, settings, matching);
                }
                self.files(flow, settings, rewrite).map(Some)
            }
        };
        let reported = passing.unwrap_or(self.directive);
        match handler {
            Ok(Some(handler)) => self.push(flow, settings, matching, &handler, reported),
            Ok(None) => {}
            Err(why) => self.refuse(flow, reported, matching, why),
        }
    }

    /// Where a location and its `alias` have no slash at their ends: the requests below the location, and a redirect to the slash.
    fn alias_without_slash(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
    ) -> Option<Match> {
        let folder = flow.server.folder_of(settings)?;
        let prefix = self.prefix.as_deref().filter(|prefix| matching.prefix() == Some(prefix))?;
        if !folder.is_alias || self.is_exact || prefix.ends_with('/') || folder.path.ends_with('/') {
            return None;
        }
        flow.server
            .notes()
            .differs(self.directive, format!("paths such as {prefix}x, without a slash behind {prefix}, get 404"));
        let mut table = Table::default();
        table.set("to", format!("{prefix}/"));
        table.set("status", Value::Number(301));
        let handler = Handler { kind: HandlerKind::Redirect, table, fields: Vec::new(), rewrite: None };
        self.push(flow, settings, &matching.only(prefix), &handler, self.directive);
        Some(matching.below(&format!("{prefix}/")))
    }

    fn push_files(&self, flow: &mut Flow<'_, 'tree>, settings: &Rc<Scope<'tree>>, matching: &Match) {
        match self.files(flow, settings, None) {
            Ok(handler) => self.push(flow, settings, matching, &handler, self.directive),
            Err(_) => self.push(flow, settings, matching, &Handler::responding(403), self.directive),
        }
    }

    /// Adds a route with this handler.
    pub(super) fn push(
        &self,
        flow: &mut Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        handler: &Handler,
        reported: &Directive,
    ) {
        let mut route = Route::new(matching.clone());
        flow.server.policies(flow, settings, handler, &mut route.table);
        // Requests for which such a variable is set pass the cache by.
        for name in caching::take_variables(&mut route.table) {
            let patterns = vec!["!".to_owned(), "!0".to_owned()];
            let condition = matching::Condition { kind: "variable", name, patterns };
            let mut uncached = Route { matching: matching.and(condition), table: route.table.clone() };
            uncached.table.remove("cache");
            flow.push(uncached, reported);
        }
        flow.push(route, reported);
    }

    /// A route that refuses requests in place of one that has no translation: those behind it must not take them.
    fn refuse(&self, flow: &mut Flow<'_, 'tree>, directive: &Directive, matching: &Match, why: String) {
        flow.server.notes().lost(directive, why);
        let mut route = Route::new(matching.clone());
        route.table.comment(format!("{}: {} has no translation", directive.place, directive.name()));
        route.table.set("respond", Handler::responding(501).table.into_value());
        flow.push(route, directive);
    }

    fn pass(
        &self,
        flow: &mut Flow<'_, 'tree>,
        passing: &'tree Directive,
        settings: &Rc<Scope<'tree>>,
        matching: &Match,
        rewrite: Option<String>,
    ) -> Result<Option<Handler>, String> {
        match passing.name() {
            "proxy_pass" | "grpc_pass" => proxying::handlers(self, flow, passing, settings, matching, rewrite),
            "memcached_pass" => Err("Serow does not speak memcached".to_owned()),
            _ => programs::handler(self, flow, passing, settings, matching, rewrite).map(Some),
        }
    }

    /// Routes for folders with an index file that another location takes: nginx looks for the location again.
    fn append_indexes(&self, flow: &mut Flow<'_, 'tree>, settings: &Rc<Scope<'tree>>, matching: &Match) {
        let Some(folder) =
            flow.server.folder_of(settings).filter(|folder| !folder.is_alias && !folder.path.contains('$'))
        else {
            return;
        };
        if access::restriction(flow, settings) == Restriction::Other {
            // The route that looks for the location again would pass by the access control of this one.
            return;
        }
        let index = settings.nearest("index");
        let mut names: Vec<&str> = index.iter().flat_map(|directive| directive.texts()).collect();
        if names.is_empty() {
            names.push("index.html");
        }
        let Ok(slash) = Pattern::new("/$", false) else { return };
        let mut before: Vec<String> = Vec::new();
        for name in names.iter().filter(|name| !name.contains(['$', '/'])) {
            let file = format!("{}${{uri}}{name}", folder.path.trim_end_matches('/'));
            if matching.excludes_files_below() || flow.server.has_location_for_index(name, &self.scope) {
                let patterns = [vec![file.clone()], before.clone()].concat();
                let condition = matching::Condition { kind: "file", name: String::new(), patterns };
                let Some(folders) = matching.and_expression(&slash) else { continue };
                let mut route = Route::new(folders.and(condition));
                let to = ("to".to_owned(), Value::Text(format!("${{uri}}{name}")));
                route.table.set("rewrite", Value::Table(vec![to, ("restart".to_owned(), Value::Bool(true))]));
                flow.push(route, self.directive);
            }
            before.push(format!("!{file}"));
        }
    }

    /// The folder of the location as files.
    pub(super) fn files(
        &self,
        flow: &Flow<'_, 'tree>,
        settings: &Scope<'tree>,
        rewrite: Option<String>,
    ) -> Result<Handler, String> {
        let mut table = Table::default();
        let own = flow.server.set_folder(self, settings, &flow.variables, &mut table)?;
        flow.server.set_files(settings, &mut table);
        Ok(Handler { kind: HandlerKind::Files, table, fields: Vec::new(), rewrite: rewrite.or(own) })
    }

    /// The routes of `try_files`.
    fn try_files(
        &self,
        flow: &mut Flow<'_, 'tree>,
        candidates: &'tree Directive,
        matching: &Match,
        passing: Option<&'tree Directive>,
    ) {
        let notes = flow.server.notes();
        let texts: Vec<Text> = candidates.texts().map(|word| flow.filled(&Text::of(word))).collect();
        let Some((last, texts)) = texts.split_last() else { return };
        notes.translated(candidates);
        if let Some(passing) = passing {
            // nginx looks whether a file exists, and passes the request either way.
            self.try_before_pass(flow, candidates, passing, matching, texts, last);
            return;
        }
        if let Some(php) = programs::front_controller(self, flow, texts, last) {
            match php {
                Ok(handler) => self.push(flow, &Rc::clone(&self.scope), matching, &handler, candidates),
                Err(why) => self.refuse(flow, candidates, matching, why),
            }
            return;
        }
        if let Err(why) = self.candidates(flow, texts, last, matching, candidates) {
            self.refuse(flow, candidates, matching, why);
            return;
        }
        self.fallback(flow, last, matching, candidates);
    }

    /// Routes for the candidates of `try_files` that are files.
    fn candidates(
        &self,
        flow: &mut Flow<'_, 'tree>,
        texts: &[Text],
        last: &Text,
        matching: &Match,
        candidates: &'tree Directive,
    ) -> Result<(), String> {
        let scope = Rc::clone(&self.scope);
        let ends_with_status = last.literal().is_some_and(|last| last == "=404");
        let mut rest = texts.iter().peekable();
        while let Some(text) = rest.next() {
            let written = text.written();
            if written.is_empty() || written == "/dev/null" || written == "/nonexistent" || written.starts_with('@') {
                // Names that nobody expects to exist: the next candidate counts.
                continue;
            }
            if !matches!(written.as_str(), "$uri" | "$uri/" | "/$uri" | "$uri.html") {
                self.single_candidate(flow, text, matching, candidates)?;
                continue;
            }
            let mut handler = self.files(flow, &scope, None)?;
            let has_index = texts.iter().any(|text| text.written() == "$uri/");
            if has_index && std::ptr::eq(texts.first().unwrap_or(text), text) {
                self.append_indexes(flow, &scope, matching);
            }
            let mut shapes = vec![written];
            while let Some(next) =
                rest.next_if(|next| matches!(next.written().as_str(), "$uri/" | "$uri.html" | "$uri/index.html"))
            {
                shapes.push(next.written());
            }
            let has_folders = shapes.iter().any(|shape| shape == "$uri/" || shape == "$uri/index.html");
            if !has_folders {
                handler.table.set("index", Value::List(Vec::new()));
            }
            if shapes.iter().any(|shape| shape == "$uri/index.html") {
                let why = "a folder is served under the address with a slash, to which Serow redirects";
                flow.server.notes().differs(candidates, why);
            }
            if shapes.iter().any(|shape| shape == "$uri.html") {
                handler.table.set("extensions", ".html");
            }
            // A folder without its index is not a file; endings of files leave no folders.
            let is_end = rest.peek().is_none() && ends_with_status && (has_folders || matching.is_for_endings());
            if !is_end {
                handler.table.remove("listing");
                handler.table.set("missing", "next");
            }
            self.push(flow, &scope, matching, &handler, candidates);
        }
        Ok(())
    }

    /// A route for a candidate that is another file than that of the request.
    fn single_candidate(
        &self,
        flow: &mut Flow<'_, 'tree>,
        text: &Text,
        matching: &Match,
        candidates: &'tree Directive,
    ) -> Result<(), String> {
        let scope = Rc::clone(&self.scope);
        let Some(folder) = flow.server.folder_of(&scope) else {
            flow.server.notes().differs(candidates, "there is no `root`: the candidates are looked for nowhere");
            return Ok(());
        };
        let text = flow.variables.resolve(text, Use::Message)?;
        let mut path = Text::default();
        path.push_literal(folder.path.trim_end_matches('/'));
        if !text.leading().starts_with('/')
            && text.variable() != Some("uri")
            && !matches!(text.parts.first(), Some(super::text::Part::Variable(name)) if name == "uri")
        {
            path.push_literal("/");
        }
        path.push_text(&text);
        let condition = matching::Condition { kind: "file", name: String::new(), patterns: vec![path.written()] };
        let mut handler = Handler {
            kind: HandlerKind::Files,
            table: Table::default(),
            fields: Vec::new(),
            rewrite: Some(text.written()),
        };
        handler.table.set("root", folder.path.as_str());
        flow.server.set_files(&scope, &mut handler.table);
        if let Some(index) = text.written().strip_suffix('/') {
            handler.rewrite = Some(format!("{index}/"));
        }
        self.push(flow, &scope, &matching.and(condition), &handler, candidates);
        Ok(())
    }

    /// The last element of `try_files`: a status, a named location, or another path.
    fn fallback(&self, flow: &mut Flow<'_, 'tree>, last: &Text, matching: &Match, candidates: &'tree Directive) {
        let literal = last.literal().unwrap_or_default();
        if let Some(status) = literal.strip_prefix('=') {
            if status == "404" && !flow.routes.last().is_some_and(|route| has_next(&route.table)) {
                return;
            }
            let status: u64 = status.parse().unwrap_or(404);
            let handler = Handler::responding(status);
            self.push(flow, &Rc::clone(&self.scope), matching, &handler, candidates);
            return;
        }
        let is_restricted = access::restriction(flow, &self.scope) == Restriction::Other;
        if let Some(name) = literal.strip_prefix('@') {
            let before = flow.routes.len();
            if let Err(why) = flow.server.append_named(flow, name, matching, self.depth) {
                self.refuse(flow, candidates, matching, why);
            } else if is_restricted && !access::extend(flow, &self.scope, before) {
                flow.routes.truncate(before);
                self.refuse(flow, candidates, matching, RESTRICTED.to_owned());
            }
            return;
        }
        if is_restricted {
            return self.refuse(flow, candidates, matching, RESTRICTED.to_owned());
        }
        let path = path_of_target(last);
        let names_query = path != *last;
        let target = match flow.variables.resolve(&path, Use::Message) {
            Ok(target) => target.written(),
            Err(why) => return self.refuse(flow, candidates, matching, why),
        };
        // The query of the request does not get there, unless the text names it.
        let target = if target.contains('?') || names_query { target } else { format!("{target}?") };
        let target = if target.starts_with(['/', '$']) { target } else { format!("/{target}") };
        // A page is for GET and HEAD, and with another method would lead to itself.
        let is_page = flow.server.is_file_location(target.split('?').next().unwrap_or_default());
        let mut route = Route::new(if is_page { matching.and_method("GET") } else { matching.clone() });
        let again =
            vec![("to".to_owned(), Value::Text(with_own_query(&target))), ("restart".to_owned(), Value::Bool(true))];
        route.table.set("rewrite", Value::Table(again));
        flow.push(route, candidates);
    }

    /// `try_files` before a server: a file that exists changes only the path.
    fn try_before_pass(
        &self,
        flow: &mut Flow<'_, 'tree>,
        candidates: &'tree Directive,
        passing: &'tree Directive,
        matching: &Match,
        texts: &[Text],
        last: &Text,
    ) {
        let scope = Rc::clone(&self.scope);
        let is_script = passing.name() == "fastcgi_pass";
        let refuses_missing = last.literal().is_some_and(|last| last.starts_with('='));
        let last_script = last.written();
        let script = last_script.split('?').next().filter(|script| script.ends_with(".php") && !script.contains('$'));
        if let Some(script) = script.filter(|_| is_script) {
            match self.pass(flow, passing, &scope, matching, None) {
                Ok(Some(mut handler)) => {
                    handler.table.set("front-controller", script.trim_start_matches('/'));
                    self.push(flow, &scope, matching, &handler, passing);
                }
                Ok(None) => {}
                Err(why) => self.refuse(flow, passing, matching, why),
            }
            return;
        }
        if is_script && (refuses_missing || texts.iter().all(|text| text.written() == "$uri")) {
            match self.pass(flow, passing, &scope, matching, None) {
                Ok(Some(handler)) => self.push(flow, &scope, matching, &handler, passing),
                Ok(None) => {}
                Err(why) => self.refuse(flow, passing, matching, why),
            }
            return;
        }
        flow.server.notes().differs(
            candidates,
            "beside a `*_pass`, nginx passes the requests for existing files, too: here the files are sent",
        );
        if let Err(why) = self.candidates(flow, texts, last, matching, candidates) {
            self.refuse(flow, candidates, matching, why);
            return;
        }
        self.fallback(flow, last, matching, candidates);
    }
}

/// Whether the files of a route leave other requests to the next ones.
fn has_next(route: &Table) -> bool {
    match route.get("files") {
        Some(Value::Table(entries)) => entries.iter().any(|(key, _)| key == "missing"),
        _ => true,
    }
}

/// A target whose `?` is its own: `with_query` would append that of the request.
fn with_own_query(target: &str) -> String {
    if target.ends_with('?') { with_query(target) } else { target.to_owned() }
}
