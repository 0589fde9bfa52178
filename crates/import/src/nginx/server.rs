//! A server: its names, its routes, and the parts that several of them need.

use std::rc::Rc;

use super::{
    content::Content,
    flow::Flow,
    handler::{Handler, HandlerKind},
    import::Import,
    locations::{Choice, Kind, Location},
    matching::{self, Match},
    policies,
    route::Route,
    scope::Scope,
    text::{Part, Text, Use, Variables},
};
use crate::{
    grammar::directive::Directive,
    report::Notes,
    settings::{table::Table, value::Value},
};

/// A server.
#[derive(Debug)]
pub(crate) struct Server<'a, 'tree> {
    pub(crate) import: &'a Import<'tree>,
    pub(crate) directive: &'tree Directive,
    pub(crate) scope: Rc<Scope<'tree>>,
    root: &'a Location<'tree>,
    names: &'a [String],
}

/// The folder of a location.
#[derive(Clone, Debug)]
pub(crate) struct Folder<'tree> {
    /// `root` or `alias`.
    pub(crate) directive: Option<&'tree Directive>,
    /// The path.
    pub(crate) path: String,
    /// Whether the location's prefix is left out of the path below it.
    pub(crate) is_alias: bool,
}

/// How many named locations may lead to each other, as in nginx.
const DEEPEST_NAMES: usize = 10;

impl<'a, 'tree> Server<'a, 'tree> {
    pub(crate) fn new(
        import: &'a Import<'tree>,
        directive: &'tree Directive,
        scope: &Rc<Scope<'tree>>,
        root: &'a Location<'tree>,
        names: &'a [String],
    ) -> Self {
        Self { import, directive, scope: Rc::clone(scope), root, names }
    }

    pub(crate) fn notes(&self) -> &'a Notes {
        &self.import.notes
    }

    /// The first of its names that is one.
    pub(crate) fn first_name(&self) -> Option<&str> {
        self.names
            .iter()
            .map(String::as_str)
            .find(|name| !name.is_empty() && *name != "_" && !name.contains(['*', '~']))
    }

    pub(crate) fn is_server(&self, scope: &Rc<Scope<'tree>>) -> bool {
        Rc::ptr_eq(scope, &self.scope)
    }

    /// Notes that a directive and those in it never act.
    pub(crate) fn unreached(&self, directive: &Directive) {
        self.notes().no_line(directive, "no request gets there");
        directive.children().iter().for_each(|inner| self.unreached(inner));
    }

    /// Notes that a directive and those in it have no translation.
    pub(crate) fn lose(&self, directive: &Directive, why: impl Into<String>) {
        self.notes().lost_with_all(directive, &why.into());
    }

    /// Whether one of its locations is internal.
    pub(crate) fn has_internal(&self) -> bool {
        self.root.all().iter().any(|location| location.scope.own_one("internal").is_some())
    }

    /// Whether the server has rewrites of its own, which look at the path.
    pub(crate) fn has_path_steps(&self) -> bool {
        let looks_at_path =
            |word: &str| ["$uri", "$document_uri", "$arg", "-f", "-d", "-e"].iter().any(|part| word.contains(part));
        let is_step = |directive: &Directive| match directive.name() {
            "rewrite" => true,
            "if" => {
                directive.texts().any(looks_at_path)
                    || directive.children().iter().any(|inner| inner.name() == "rewrite" && inner.word(0) != Some("^"))
            }
            _ => false,
        };
        self.scope.directives.iter().any(is_step)
    }

    /// The routes of the server, in their order.
    pub(crate) fn routes(&'a self) -> Vec<Route> {
        let mut variables = self.import.variables.borrow().clone();
        let folder = self.folder_of(&self.scope).map(|folder| folder.path);
        if let Some(folder) = &folder {
            variables.set("document_root", Text::of(folder));
            variables.set("realpath_root", Text::of(folder));
        }
        let mut flow = Flow::new(self, variables, None);
        let reaches_locations = flow.run(&self.scope, &Match::all());
        let mut routes = std::mem::take(&mut flow.routes);
        let variables = flow.variables;
        if !reaches_locations {
            self.root.all().into_iter().for_each(|location| self.unreached(location.directive));
            return routes;
        }
        for choice in self.root.order() {
            match choice {
                Choice::Location(location, _) if location.is_unreachable() => self.unreached(location.directive),
                Choice::Location(location, within) => {
                    let matching = Match::of(location, within);
                    routes.extend(self.location(location, &matching, &variables, 0));
                }
                Choice::AddSlash(location, path) => {
                    let mut table = Table::default();
                    table.set("to", format!("{path}/"));
                    table.set("status", Value::Number(301));
                    let handler = Handler { kind: HandlerKind::Redirect, table, fields: Vec::new(), rewrite: None };
                    let mut route = Route::new(Match::exact(&path));
                    let flow = Flow::new(self, variables.clone(), None);
                    self.policies(&flow, &location.scope, &handler, &mut route.table);
                    self.notes().translated(location.directive);
                    routes.push(route);
                }
            }
        }
        routes
    }

    /// The routes of a location for these requests.
    fn location(
        &'a self,
        location: &Location<'tree>,
        matching: &Match,
        variables: &Variables,
        depth: usize,
    ) -> Vec<Route> {
        if !self.is_server(&location.scope) {
            self.notes().translated(location.directive);
        }
        let mut variables = variables.clone();
        if let Some(folder) = self.folder_of(&location.scope) {
            variables.set("document_root", Text::of(&folder.path));
            variables.set("realpath_root", Text::of(&folder.path));
        }
        let prefix = match &location.kind {
            Kind::Prefix { path, .. } | Kind::Exact(path) => Some(path.clone()),
            Kind::Expression(_) | Kind::Named(_) => None,
        };
        let is_exact = matches!(location.kind, Kind::Exact(_));
        let content =
            Content { scope: Rc::clone(&location.scope), directive: location.directive, prefix, is_exact, depth };
        let mut flow = Flow::new(self, variables, Some(content.clone()));
        if self.is_server(&location.scope) {
            content.append(&mut flow, &location.scope, matching, false);
        } else {
            flow.run(&location.scope, matching);
        }
        if location.scope.nearest_one("internal").is_some() && !matches!(location.kind, Kind::Named(_)) {
            let leads_on = |route: &Route| matches!(route.table.get("rewrite"), Some(Value::Table(_)));
            let is_restricted = |route: &Route| policies::access::KEYS.iter().any(|key| route.table.get(key).is_some());
            let why = match () {
                () if flow.routes.iter().any(leads_on) => Some("an internal location that leads to other locations"),
                () if flow.routes.iter().any(is_restricted) => Some("access control of an internal location"),
                () => None,
            };
            if let Some(why) = why {
                self.notes().lost(location.directive, format!("{why} has no translation"));
                flow.routes.clear();
            }
            flow.routes.iter_mut().for_each(|route| route.table.set("internal", Value::Bool(true)));
            let handler = Handler::responding(404);
            let mut refusal = Route::new(matching.clone());
            self.policies(&flow, &location.scope, &handler, &mut refusal.table);
            flow.routes.push(refusal);
        }
        flow.routes
    }

    /// Appends the routes of a named location for these requests.
    pub(crate) fn append_named(
        &'a self,
        flow: &mut Flow<'_, 'tree>,
        name: &str,
        matching: &Match,
        depth: usize,
    ) -> Result<(), String> {
        if depth >= DEEPEST_NAMES {
            return Err(format!("named locations lead in a circle at @{name}"));
        }
        let location = self.root.named(name).ok_or_else(|| format!("there is no location @{name}"))?;
        flow.routes.extend(self.location(location, matching, &flow.variables, depth + 1));
        Ok(())
    }

    /// Whether a named location sends clients to the address that the server of `auth_request` names: Serow passes its redirect
    /// on without it.
    pub(crate) fn passes_on_redirect(&self, name: &str, settings: &Scope<'tree>) -> bool {
        let named = settings.nearest("auth_request_set");
        let is_location = |variable: &str| {
            named.iter().any(|set| set.word(0) == Some(variable) && set.word(1) == Some("$upstream_http_location"))
        };
        self.root.named(name).is_some_and(|location| {
            let returns = location.scope.own_one("return");
            returns.is_some_and(|returns| returns.word(1).or(returns.word(0)).is_some_and(is_location))
        })
    }

    /// The routes of a named location that error pages lead to.
    pub(crate) fn named_for_errors(&'a self, name: &str) -> Result<Vec<Route>, String> {
        let location = self.root.named(name).ok_or_else(|| format!("there is no location @{name}"))?;
        let mut routes = self.location(location, &Match::all(), &self.import.variables.borrow(), 1);
        if routes.iter().any(|route| matches!(route.table.get("rewrite"), Some(Value::Table(_)))) {
            return Err(format!("@{name} leads to other locations, which a page of an error does not"));
        }
        for route in &mut routes {
            route.table.entries.insert(0, ("name".to_owned(), Value::Text(name.to_owned())));
            route.table.set("internal", Value::Bool(true));
        }
        Ok(routes)
    }

    /// The location that nginx chooses for a path, if an exact location or a prefix decides.
    pub(crate) fn location_for(&self, path: &str) -> Option<&'a Location<'tree>> {
        let all = self.root.all();
        let exact = all.iter().find(|location| matches!(&location.kind, Kind::Exact(own) if own == path));
        let of_prefix = || {
            all.iter()
                .filter_map(|location| match &location.kind {
                    Kind::Prefix { path: prefix, .. } if path.starts_with(prefix.as_str()) => {
                        Some((prefix.len(), location))
                    }
                    _ => None,
                })
                .max_by_key(|(length, _)| *length)
                .map(|(_, location)| location)
        };
        exact.or_else(of_prefix).copied()
    }

    /// The location that nginx chooses for a script such as `/index.php`.
    pub(crate) fn script_location(&self, script: &str) -> Option<&'a Location<'tree>> {
        let script = format!("/{}", script.trim_start_matches('/'));
        let all = self.root.all();
        let exact = all.iter().find(|location| matches!(&location.kind, Kind::Exact(own) if *own == script));
        let expression = || {
            all.iter().find(|location| matches!(&location.kind, Kind::Expression(pattern) if pattern.matches(&script)))
        };
        exact.or_else(expression).copied().or_else(|| self.location_for(&script))
    }

    /// Whether the location for a path sends files, and passes nothing on.
    pub(crate) fn is_file_location(&self, path: &str) -> bool {
        let passes = |scope: &Scope<'tree>| {
            let names = super::content::PASSES.iter().chain(&["return", "rewrite", "if"]);
            names.into_iter().any(|name| scope.own_one(name).is_some())
        };
        !path.contains('$') && self.script_location(path).is_none_or(|location| !passes(&location.scope))
    }

    /// Whether a location other than this one may take the index files of folders with this name.
    pub(crate) fn has_location_for_index(&self, name: &str, scope: &Rc<Scope<'tree>>) -> bool {
        let takes = |location: &&Location<'tree>| match &location.kind {
            Kind::Exact(path) => path.rsplit('/').next() == Some(name),
            Kind::Expression(pattern) => {
                [format!("/{name}"), format!("/x/{name}")].iter().any(|path| pattern.matches(path))
            }
            Kind::Prefix { path, .. } => path.rsplit('/').next() == Some(name),
            Kind::Named(_) => false,
        };
        self.root.all().iter().any(|location| !Rc::ptr_eq(&location.scope, scope) && takes(location))
    }

    /// All locations.
    pub(crate) fn locations(&self) -> Vec<&'a Location<'tree>> {
        self.root.all()
    }

    /// The folder that `root` or `alias` names for a block.
    pub(crate) fn folder_of(&self, scope: &Scope<'tree>) -> Option<Folder<'tree>> {
        let found = scope.nearest_of(&["root", "alias"]);
        let directive = *found.last()?;
        let path = self.import.path(directive.word(0)?);
        Some(Folder { directive: Some(directive), path, is_alias: directive.name() == "alias" })
    }

    /// Sets the folder of a handler. Returns the path that the handler gets in place of that of the request, if it is another.
    pub(crate) fn set_folder(
        &self,
        content: &Content<'tree>,
        settings: &Scope<'tree>,
        variables: &Variables,
        table: &mut Table,
    ) -> Result<Option<String>, String> {
        // nginx's default is the folder `html` beside its own.
        let default = Folder { directive: None, path: self.import.path("html"), is_alias: false };
        let folder = self.folder_of(settings).unwrap_or(default);
        if let Some(directive) = folder.directive {
            self.notes().translated(directive);
        }
        let path = variables.resolve(&Text::of(&folder.path), Use::Message)?;
        if let (true, Some(path), Some(prefix)) = (folder.is_alias, path.literal(), &content.prefix) {
            let both_end = prefix.ends_with('/') == path.ends_with('/');
            if both_end && !content.is_exact {
                table.set("root", path.trim_end_matches('/'));
                if prefix != "/" {
                    table.set("strip-prefix", Value::Bool(true));
                }
                return Ok(None);
            }
        }
        if folder.is_alias {
            return alias(&path, content, table).map(Some);
        }
        let path = path.literal().ok_or("Serow's folders have no variables in their path: write a route for each")?;
        table.set("root", path);
        Ok(None)
    }

    /// Sets the keys of `files` that do not depend on the folder.
    pub(crate) fn set_files(&self, settings: &Scope<'tree>, table: &mut Table) {
        policies::files::set(self, settings, table);
    }

    /// Sets the keys around a handler, and the handler.
    pub(crate) fn policies(
        &self,
        flow: &Flow<'_, 'tree>,
        settings: &Rc<Scope<'tree>>,
        handler: &Handler,
        table: &mut Table,
    ) {
        policies::set(self, flow, settings, handler, table);
    }

    /// The text of a path of a file, with the folder in place of `$document_root` and `$request_filename`.
    pub(crate) fn path_text(&self, text: &Text, scope: &Scope<'tree>, variables: &Variables) -> Result<String, String> {
        let folder = self.folder_of(scope).map(|folder| folder.path);
        let mut path = Text::default();
        for part in &text.parts {
            let single = Text { parts: vec![part.clone()] };
            match (single.variable(), &folder) {
                (Some("request_filename"), Some(folder)) => path.push_text(&Text::of(&format!("{folder}$uri"))),
                (Some("document_root" | "realpath_root"), Some(folder)) => path.push_literal(folder),
                _ => path.push_text(&variables.resolve(&single, Use::Message)?),
            }
        }
        Ok(path.written())
    }

    /// A text with the values of variables that `set` makes around or in a block.
    pub(crate) fn constant(&self, text: &str, scope: &Scope<'tree>) -> String {
        let mut filled = Text::of(text);
        for set in self.scope.own("set").chain(scope.own("set")) {
            let (Some(name), Some(value)) = (set.word(0), set.word(1)) else { continue };
            self.notes().translated(set);
            let mut next = Text::default();
            for part in &filled.parts {
                match part {
                    Part::Variable(variable) if *variable == name.trim_start_matches('$') => {
                        next.push_text(&Text::of(value))
                    }
                    part => next.push_text(&Text { parts: vec![part.clone()] }),
                }
            }
            filled = next;
        }
        filled.literal().map_or_else(|| filled.written(), str::to_owned)
    }

    /// The variables of a block, with those that `auth_request_set` makes: the request has these fields then.
    pub(crate) fn with_decisions(&self, variables: &Variables, settings: &Scope<'tree>) -> Variables {
        let mut variables = variables.clone();
        for set in settings.nearest("auth_request_set") {
            if let (Some(name), Some(field)) = (set.word(0), policies::access::decided_field(set)) {
                let field = field.to_ascii_lowercase().replace('-', "_");
                variables.set(name.trim_start_matches('$'), Text::of(&format!("$http_{field}")));
            }
        }
        variables
    }

    /// The condition for requests with a Referer that `valid_referers` does not name.
    pub(crate) fn invalid_referer(&self, directive: &Directive) -> Result<matching::Condition, String> {
        let all = self.locations();
        let scopes = all.iter().map(|location| &location.scope).chain([&self.scope]);
        let holds = |scope: &&Rc<Scope<'tree>>| scope.directives.iter().any(|inner| std::ptr::eq(inner, directive));
        let scope = scopes.into_iter().find(holds).ok_or("`valid_referers` is not beside it")?;
        let valid = scope.nearest("valid_referers");
        let mut patterns = Vec::new();
        for word in valid.iter().flat_map(|directive| directive.texts()) {
            match word {
                "none" => patterns.push("!".to_owned()),
                "blocked" => patterns.push("!~^[^/]*$".to_owned()),
                "server_names" => patterns.extend(
                    self.names.iter().map(|name| format!("!~*^https?://{}(:|/|$)", super::pattern::escaped(name))),
                ),
                word if word.starts_with('~') => {
                    patterns.push(format!("!~*^https?://{}", word.trim_start_matches('~').trim_start_matches('^')))
                }
                word => {
                    let host = super::pattern::escaped(word).replace("\\*", "[^/]*");
                    patterns.push(format!("!~*^https?://{host}(:|/|$)"));
                }
            }
        }
        valid.iter().for_each(|directive| self.notes().translated(directive));
        if patterns.is_empty() {
            return Err("there is no `valid_referers` for it".to_owned());
        }
        Ok(matching::Condition { kind: "header", name: "Referer".to_owned(), patterns })
    }
}

/// An `alias` that is a file, that captures are a part of, or that the rest of the path follows without a slash: the folder,
/// and the path below it.
fn alias(path: &Text, content: &Content<'_>, table: &mut Table) -> Result<String, String> {
    let Some((folder, name)) = path.leading().rsplit_once('/') else {
        return Err("Serow's folders have no variables in their path: write a route for each".to_owned());
    };
    let mut rest = Text { parts: path.parts.clone() };
    rest.parts[0] = Part::Literal(format!("/{name}"));
    let rest = rest.written();
    table.set("root", if folder.is_empty() { "/" } else { folder });
    Ok(match content.is_exact || content.prefix.is_none() {
        true => rest,
        // The star of the path.
        false => format!("{rest}$1"),
    })
}
