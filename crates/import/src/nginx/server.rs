//! A server: its names and locations, and the questions about them that its routes ask.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use serow_nginx_syntax::{alias::names_file, directive::Directive, pattern::Pattern, scope::Scope};
use serow_settings_writer::{matching, table::Table, value::Value};

use super::{
    condition::decided_field,
    import::Import,
    locations::{Kind, Location},
    text::{Part, Text, Use, Variables},
};
use crate::report::Notes;

/// A server.
#[derive(Debug)]
pub(crate) struct Server<'a, 'tree> {
    pub(crate) import: &'a Import<'tree>,
    pub(crate) directive: &'tree Directive,
    pub(crate) scope: Rc<Scope<'tree>>,
    /// The server as a location for all paths.
    pub(crate) root: &'a Location<'tree>,
    /// All its locations, also those in others.
    pub(crate) locations: Vec<&'a Location<'tree>>,
    names: &'a [String],
    /// The variables that locations set before they lead on to others, which get their values.
    carried: Vec<(&'a Location<'tree>, &'tree str)>,
    /// The named locations that error pages lead to.
    error_locations: RefCell<Vec<String>>,
    /// The locations that take index files, by the names of the files: each location of thousands asks for them.
    index_takers: RefCell<HashMap<String, Vec<&'a Location<'tree>>>>,
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

impl<'a, 'tree> Server<'a, 'tree> {
    pub(crate) fn new(
        import: &'a Import<'tree>,
        directive: &'tree Directive,
        scope: &Rc<Scope<'tree>>,
        root: &'a Location<'tree>,
        names: &'a [String],
    ) -> Self {
        let locations = root.all();
        let set = |location: &&'a Location<'tree>| {
            let (location, names) = (*location, location.carried_variables());
            names.into_iter().map(move |name| (location, name))
        };
        Self {
            import,
            directive,
            scope: Rc::clone(scope),
            root,
            carried: locations.iter().flat_map(set).collect(),
            locations,
            names,
            error_locations: RefCell::default(),
            index_takers: RefCell::default(),
        }
    }

    pub(crate) fn notes(&self) -> &'a Notes {
        &self.import.notes
    }

    /// The first of its names that is one.
    pub(crate) fn first_name(&self) -> Option<String> {
        self.names
            .iter()
            .map(String::as_str)
            .find(|name| !name.is_empty() && *name != "_" && !name.contains(['*', '~']))
            .map(str::to_ascii_lowercase)
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
        self.locations.iter().any(|location| location.scope.own_one("internal").is_some())
    }

    /// Whether a path may be that of an internal location: one with variables may be any.
    pub(crate) fn may_be_internal(&self, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        let is_internal = |location: &Location<'tree>| location.scope.own_one("internal").is_some();
        self.has_internal() && (path.contains('$') || self.script_location(path).is_some_and(is_internal))
    }

    /// Whether the server has rewrites of its own, which look at the path.
    pub(crate) fn has_path_steps(&self) -> bool {
        let looks_at_path =
            |word: &str| ["$uri", "$document_uri", "$arg", "-f", "-d", "-e"].iter().any(|part| word.contains(part));
        let is_path = |to: &str| to.starts_with('/');
        let leads_elsewhere = |inner: &Directive| {
            let is_redirect = matches!(inner.word(2), Some("redirect" | "permanent"));
            inner.name() == "rewrite"
                && (inner.word(0) != Some("^") || inner.word(1).is_some_and(is_path) && !is_redirect)
        };
        let is_step = |directive: &Directive| match directive.name() {
            "rewrite" => true,
            "if" => directive.texts().any(looks_at_path) || directive.children().iter().any(leads_elsewhere),
            _ => false,
        };
        self.scope.directives.iter().any(is_step)
    }

    /// The named location with this name.
    pub(crate) fn named(&self, name: &str) -> Result<&'a Location<'tree>, String> {
        self.root.named(name).ok_or_else(|| format!("there is no location @{name}"))
    }

    /// Notes that error pages lead to a named location.
    pub(crate) fn use_for_errors(&self, name: &str) {
        let mut names = self.error_locations.borrow_mut();
        if !names.iter().any(|own| own == name) {
            names.push(name.to_owned());
        }
    }

    /// The named location, by its number among them, that error pages lead to.
    pub(crate) fn error_location(&self, number: usize) -> Option<String> {
        self.error_locations.borrow().get(number).cloned()
    }

    /// Whether a named location sends clients to the address that the server of `auth_request` names: Serow passes its redirect
    /// on without it.
    pub(crate) fn passes_on_redirect(&self, name: &str, settings: &Scope<'tree>) -> bool {
        let named = settings.nearest("auth_request_set");
        let is_location = |variable: &str| {
            named.iter().any(|set| set.word(0) == Some(variable) && set.word(1) == Some("$upstream_http_location"))
        };
        self.named(name).is_ok_and(|location| {
            let returns = location.scope.own_one("return");
            returns.is_some_and(|returns| returns.word(1).or(returns.word(0)).is_some_and(is_location))
        })
    }

    /// The location that nginx chooses for a path, if an exact location or a prefix decides.
    pub(crate) fn location_for(&self, path: &str) -> Option<&'a Location<'tree>> {
        let exact = self.locations.iter().find(|location| matches!(&location.kind, Kind::Exact(own) if own == path));
        let of_prefix = || {
            self.locations
                .iter()
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
        let decided = self.location_for(&script);
        if decided.is_some_and(|location| matches!(location.kind, Kind::Exact(_) | Kind::Prefix { stops: true, .. })) {
            return decided;
        }
        let matches =
            |location: &&&Location<'_>| matches!(&location.kind, Kind::Expression(own) if own.matches(&script));
        self.locations.iter().find(matches).copied().or(decided)
    }

    /// Whether the location for a path sends files, and passes nothing on.
    pub(crate) fn is_file_location(&self, path: &str) -> bool {
        let passes = |scope: &Scope<'tree>| {
            let names = super::locations::PASSES.iter().chain(&["return", "rewrite", "if"]);
            names.into_iter().any(|name| scope.own_one(name).is_some())
        };
        // A page whose folder a variable names is one in each of them.
        let page = match path.contains('$') {
            true if path.ends_with(".html") => Text::of(path).replaced(|_| Ok(Some(Text::of("x")))),
            true => return false,
            false => Ok(Text::of(path)),
        };
        let page = page.ok().and_then(|page| page.literal().map(str::to_owned)).unwrap_or_default();
        self.script_location(&page).is_none_or(|location| !passes(&location.scope))
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
        let mut takers = self.index_takers.borrow_mut();
        let takers =
            takers.entry(name.to_owned()).or_insert_with(|| self.locations.iter().copied().filter(takes).collect());
        takers.iter().any(|location| !Rc::ptr_eq(&location.scope, scope))
    }

    /// The folder that `root` or `alias` names for a block.
    pub(crate) fn folder_of(&self, scope: &Scope<'tree>) -> Option<Folder<'tree>> {
        let found = scope.nearest_of(&["root", "alias"]);
        let directive = *found.last()?;
        let path = self.import.path(directive.word(0)?);
        Some(Folder { directive: Some(directive), path, is_alias: directive.name() == "alias" })
    }

    /// The folder of the files of a block.
    pub(crate) fn files_of(&self, scope: &Scope<'tree>) -> Folder<'tree> {
        // nginx's default is the folder `html` beside its own.
        let default = Folder { directive: None, path: self.import.path("html"), is_alias: false };
        self.folder_of(scope).unwrap_or(default)
    }

    /// The variables with which a request begins: those of `set` are empty until a `set` is reached.
    pub(crate) fn first_variables(&self) -> Variables {
        let mut variables = self.import.variables.borrow().clone();
        for name in self.names {
            if let Some(Ok(pattern)) = name.strip_prefix('~').map(|expression| Pattern::new(expression, true)) {
                self.import.name_groups("$host", &pattern, &mut variables);
            }
        }
        let mut blocks = vec![self.directive];
        while let Some(block) = blocks.pop() {
            for inner in block.children() {
                match (inner.name(), inner.word(0)) {
                    ("set", Some(name)) => variables.set(name.trim_start_matches('$'), Text::default()),
                    ("if" | "location", _) => blocks.push(inner),
                    _ => {}
                }
            }
        }
        variables
    }

    /// The variables in a location to which others lead on: the values of those that they have set depend on the way there.
    pub(crate) fn with_carried(&self, variables: &Variables, location: &Location<'tree>) -> Variables {
        let mut variables = variables.clone();
        for (other, name) in self.carried.iter().filter(|(other, _)| !std::ptr::eq(*other, location)) {
            variables.lose(name, &format!("{} sets it, too, and leads on to other locations", other.directive.place));
        }
        variables
    }

    /// The variables in a block, with those of its folder.
    pub(crate) fn with_folder(&self, variables: &Variables, scope: &Scope<'tree>) -> Variables {
        let mut variables = variables.clone();
        if let Some(folder) = self.folder_of(scope) {
            for name in ["document_root", "realpath_root"] {
                variables.set(name, variables.filled(&Text::of(&folder.path)));
            }
        }
        variables
    }

    /// Sets the folder of a handler. Returns the path that the handler gets in place of that of the request, if it is another.
    pub(crate) fn set_folder(
        &self,
        location: &Location<'tree>,
        settings: &Scope<'tree>,
        variables: &Variables,
        table: &mut Table,
    ) -> Result<Option<String>, String> {
        let folder = self.files_of(settings);
        if let Some(directive) = folder.directive {
            self.notes().translated(directive);
        }
        let path = variables.resolve(&Text::of(&folder.path), Use::Message)?;
        if let (true, Some(path), Some(prefix)) = (folder.is_alias, path.literal(), location.path()) {
            // `location /a` with `alias /b/`: nginx reads `/b//x` as `/b/x`.
            let fits = prefix.ends_with('/') == path.ends_with('/') || !prefix.ends_with('/');
            if fits && !is_alias_of_file(location, path) {
                let folder = path.trim_end_matches('/');
                table.set("root", if folder.is_empty() { "/" } else { folder });
                if prefix != "/" {
                    table.set("strip-prefix", Value::Bool(true));
                }
                return Ok(None);
            }
        }
        if folder.is_alias {
            return alias(&path, location, table).map(Some);
        }
        match path.literal() {
            Some(path) => {
                table.set("root", path);
                Ok(None)
            }
            // The folder around those that the variable names.
            None => Ok(Some(format!("{}$uri", split_folder(&path, table)?.trim_end_matches('/')))),
        }
    }

    /// The text of a path of a file, with the folder in place of `$document_root` and `$request_filename`.
    pub(crate) fn path_text(&self, text: &Text, scope: &Scope<'tree>, variables: &Variables) -> Result<String, String> {
        let folder = self.folder_of(scope).map(|folder| folder.path);
        let path = text.replaced(|name| match (name, &folder) {
            ("request_filename", Some(folder)) => Ok(Some(variables.filled(&Text::of(&format!("{folder}$uri"))))),
            ("document_root" | "realpath_root", Some(folder)) => Ok(Some(variables.filled(&Text::of(folder)))),
            _ => variables.resolve_one(name, Use::Message).map(Some),
        })?;
        Ok(path.written())
    }

    /// A text with the values of variables that `set` makes around or in a block.
    pub(crate) fn constant(&self, text: &str, scope: &Scope<'tree>) -> String {
        let mut variables = Variables::default();
        for set in self.scope.own("set").chain(scope.own("set")) {
            if let (Some(name), Some(value)) = (set.word(0), set.word(1)) {
                self.notes().translated(set);
                variables.set(name.trim_start_matches('$'), variables.filled(&Text::of(value)));
            }
        }
        let filled = variables.filled(&Text::of(text));
        filled.literal().map_or_else(|| filled.written(), str::to_owned)
    }

    /// The variables of a block, with those that `auth_request_set` makes: the request has these fields then.
    pub(crate) fn with_decisions(&self, variables: &Variables, settings: &Scope<'tree>) -> Variables {
        let mut variables = variables.clone();
        for set in settings.nearest("auth_request_set") {
            if let (Some(name), Some(field)) = (set.word(0), decided_field(set)) {
                let field = field.to_ascii_lowercase().replace('-', "_");
                variables.set(name.trim_start_matches('$'), Text::of(&format!("$http_{field}")));
            }
        }
        variables
    }

    /// The condition for requests with a Referer that `valid_referers` does not name.
    pub(crate) fn invalid_referer(&self, directive: &Directive) -> Result<matching::Condition, String> {
        let scopes = self.locations.iter().map(|location| &location.scope).chain([&self.scope]);
        let holds = |scope: &&Rc<Scope<'tree>>| scope.directives.iter().any(|inner| std::ptr::eq(inner, directive));
        let scope = scopes.into_iter().find(holds).ok_or("`valid_referers` is not beside it")?;
        let valid = scope.nearest("valid_referers");
        let mut patterns = Vec::new();
        for word in valid.iter().flat_map(|directive| directive.texts()) {
            match word {
                "none" => patterns.push("!".to_owned()),
                "blocked" => patterns.push("!~^[^/]*$".to_owned()),
                "server_names" => patterns.extend(
                    self.names
                        .iter()
                        .map(|name| format!("!~*^https?://{}(:|/|$)", serow_nginx_syntax::pattern::escaped(name))),
                ),
                word if word.starts_with('~') => {
                    patterns.push(format!("!~*^https?://{}", word.trim_start_matches('~').trim_start_matches('^')))
                }
                word => {
                    let host = serow_nginx_syntax::pattern::escaped(word).replace("\\*", "[^/]*");
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

/// Whether an `alias` names the file of a single path.
pub(super) fn is_alias_of_file(location: &Location<'_>, alias: &str) -> bool {
    location.is_exact() || location.path().is_some_and(|prefix| names_file(prefix, alias))
}

/// An `alias` that is a file, that captures are a part of, or that the rest of the path follows without a slash: the folder,
/// and the path below it.
fn alias(path: &Text, location: &Location<'_>, table: &mut Table) -> Result<String, String> {
    let rest = split_folder(path, table)?;
    Ok(match location.path().is_none() || path.literal().is_some_and(|path| is_alias_of_file(location, path)) {
        true => rest,
        // The star of the path.
        false => format!("{rest}$1"),
    })
}

/// Sets the folder in front of the first variable, or of the name of a file; the rest of the path.
fn split_folder(path: &Text, table: &mut Table) -> Result<String, String> {
    let Some((folder, name)) = path.leading().rsplit_once('/') else {
        return Err("a folder whose path begins with a variable has no translation: write a route for each".to_owned());
    };
    let mut rest = Text { parts: path.parts.clone() };
    rest.parts[0] = Part::Literal(format!("/{name}"));
    table.set("root", if folder.is_empty() { "/" } else { folder });
    Ok(rest.written().replace('*', "%2A"))
}
