//! The directives of nginx's module `rewrite` in a server or location: `set`, `if`, `return`, `rewrite`, `break`. Each path
//! through them becomes a route, in their order.

use std::rc::Rc;

use serow_nginx_syntax::{directive::Directive, pattern::Pattern, scope::Scope};
use serow_settings_writer::{
    matching::{self, Match},
    route::{Route, highest_group},
};

use super::{
    condition::{Condition, Existing, Test},
    content::Content,
    handler::{Handler, HandlerKind},
    policies::{self, errors},
    position::Position,
    redirects::{self, Rewrite},
    server_routes,
    text::{Part, Text, Use},
};

/// A run through the directives of a block.
#[derive(Debug)]
pub(crate) struct Flow<'a, 'tree> {
    /// Where it is.
    pub(crate) position: Position<'a, 'tree>,
    /// The location's content; nothing in a server, whose locations follow.
    content: Option<Content<'a, 'tree>>,
    /// The blocks of `if` that change settings of the content, in their order.
    changed: Vec<(Match, Rc<Scope<'tree>>)>,
    pub(crate) routes: Vec<Route>,
}

/// Whether requests get behind a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoesOn,
    /// They get behind the block, and not to its next directives.
    LeavesBlock,
    Ends,
}

impl<'a, 'tree> Flow<'a, 'tree> {
    pub(crate) fn new(position: Position<'a, 'tree>, content: Option<Content<'a, 'tree>>) -> Self {
        Self { position, content, changed: Vec::new(), routes: Vec::new() }
    }

    /// Runs through a block: the routes are in [`Self::routes`] then. Whether requests get to its end.
    pub(crate) fn run(&mut self, scope: &Rc<Scope<'tree>>, matching: &Match) -> bool {
        let next = self.steps(scope, matching);
        if next == Next::GoesOn {
            self.finish(scope, matching);
        }
        next == Next::GoesOn
    }

    fn steps(&mut self, scope: &Rc<Scope<'tree>>, matching: &Match) -> Next {
        for (position, directive) in scope.directives.iter().enumerate() {
            let next = match directive.name() {
                "set" => self.set(directive),
                "if" => self.condition(directive, scope, matching),
                "return" => self.respond(directive, scope, matching),
                "break" => {
                    self.position.notes().translated(directive);
                    self.finish(scope, matching);
                    Next::Ends
                }
                "rewrite" => {
                    let is_last = !scope.directives[position + 1..].iter().any(|next| is_step(next.name()));
                    self.rewrite(directive, scope, matching, is_last)
                }
                "rewrite_log" | "uninitialized_variable_warn" => {
                    self.position.notes().no_line(directive, "it only concerns nginx's error log");
                    Next::GoesOn
                }
                _ => Next::GoesOn,
            };
            if next != Next::GoesOn {
                for unreached in scope.directives[position + 1..].iter().filter(|next| is_step(next.name())) {
                    self.position.server.unreached(unreached);
                }
                return if next == Next::LeavesBlock { Next::GoesOn } else { next };
            }
        }
        Next::GoesOn
    }

    /// The content of the location, with the settings of the last `if` that holds.
    fn finish(&mut self, scope: &Rc<Scope<'tree>>, matching: &Match) {
        let Some(content) = self.content else { return };
        for (matching, changed) in std::mem::take(&mut self.changed).into_iter().rev() {
            content.append(self, &changed, &matching, true);
        }
        content.append(self, scope, matching, false);
    }

    fn set(&mut self, directive: &'tree Directive) -> Next {
        let (Some(name), Some(value)) = (directive.word(0), directive.word(1)) else { return Next::GoesOn };
        self.position.notes().translated(directive);
        let value = self.position.filled(value);
        self.position.variables.set(name.trim_start_matches('$'), value);
        Next::GoesOn
    }

    fn condition(&mut self, directive: &'tree Directive, scope: &Rc<Scope<'tree>>, matching: &Match) -> Next {
        let notes = self.position.notes();
        let inner = scope.inner(directive);
        let condition = match Condition::of(directive) {
            Ok(condition) => condition,
            Err(why) => return self.lose_condition(directive, &inner, matching, why),
        };
        if inner.directives.iter().all(|inner| inner.name() == "set") && !inner.directives.is_empty() {
            match self.conditional_set(&condition, &inner) {
                Ok(()) => inner.directives.iter().chain([directive]).for_each(|done| notes.translated(done)),
                Err(why) => return self.lose_condition(directive, &inner, matching, why),
            }
            return Next::GoesOn;
        }
        let narrowed = match self.narrowed(directive, matching, &condition) {
            Ok(Some(narrowed)) => narrowed,
            Ok(None) => {
                self.position.server.unreached(directive);
                return Next::GoesOn;
            }
            Err(why) => return self.lose_condition(directive, &inner, matching, why),
        };
        notes.translated(directive);
        let variables = self.position.variables.clone();
        let next = self.steps(&inner, &narrowed);
        let changes_settings = inner.directives.iter().any(|inner| !is_step(inner.name()));
        if next == Next::GoesOn {
            if self.content.is_some() && changes_settings {
                self.changed.push((narrowed, inner));
            } else if inner.directives.iter().any(|inner| inner.name() == "set") {
                self.position.server.lose(directive, "a `set` beside other directives in an `if` has no translation");
            }
        }
        self.position.variables = variables;
        Next::GoesOn
    }

    /// Goes on behind an `if` without a translation. One that refuses requests refuses all of them: the settings must not
    /// permit more than nginx does.
    fn lose_condition(
        &mut self,
        directive: &'tree Directive,
        inner: &Scope<'tree>,
        matching: &Match,
        why: String,
    ) -> Next {
        for set in inner.own("set") {
            let name = set.word(0).unwrap_or_default().trim_start_matches('$');
            self.position.variables.lose(name, &why);
        }
        let refuses =
            inner.own("return").any(|inner| inner.word(0).is_some_and(|status| status.starts_with(['4', '5'])));
        self.position.server.lose(directive, why);
        if !refuses {
            return Next::GoesOn;
        }
        let why = format!("{}: this refusal has no translation", directive.place);
        self.push(Route::refusing(matching.clone(), why), directive);
        Next::Ends
    }

    /// Variables that are set if a condition holds: maps whose value is the former one otherwise.
    fn conditional_set(&mut self, condition: &Condition, inner: &Scope<'tree>) -> Result<(), String> {
        if let Test::Exists { negated, .. } = condition.test {
            return match negated && self.are_folders_in_place_of(condition, inner) {
                true => Ok(()),
                false => Err("a variable that depends on a file has no translation".to_owned()),
            };
        }
        for directive in inner.directives {
            let (Some(name), Some(value)) = (directive.word(0), directive.word(1)) else { continue };
            let name = name.trim_start_matches('$');
            let value = self.position.text(value, Use::Message)?;
            let former = match self.position.variables.text_of(name) {
                Some(former) => self.position.variables.resolve(former, Use::Message)?,
                None => Text::default(),
            };
            let operand = self.operand(condition)?;
            if let Some(constant) = operand.literal() {
                if condition.holds(constant).ok_or("its value has variables")? {
                    self.position.variables.set(name, value);
                }
                continue;
            }
            let made = self.position.server.import.conditional_map(name, condition, &operand, &value, &former)?;
            self.position.variables.add_map(&made);
            self.position.variables.set(name, Text::of(&format!("${made}")));
        }
        Ok(())
    }

    /// Whether these variables are only other folders for the case that the folder which they name is not there, as in
    /// `set $root /a; if (!-d /a) { set $root /b; }`: that folder is taken then.
    fn are_folders_in_place_of(&self, condition: &Condition, inner: &Scope<'tree>) -> bool {
        let Some(folder) = condition.operand.literal() else { return false };
        let names_it = |name: &str| self.position.variables.text_of(name).and_then(Text::literal) == Some(folder);
        let is_other = |set: &Directive| set.word(0).is_some_and(|name| names_it(name.trim_start_matches('$')));
        let are_others = inner.directives.iter().all(is_other);
        if are_others {
            for set in inner.directives {
                let why = format!("{folder} is taken to be there: this folder in its place has no translation");
                self.position.notes().lost(set, why);
            }
        }
        are_others
    }

    /// The text that a condition compares.
    fn operand(&self, condition: &Condition) -> Result<Text, String> {
        let variables = &self.position.variables;
        variables.resolve(&variables.filled(&condition.operand), Use::Message)
    }

    /// The requests that meet a condition; nothing if there are none.
    fn narrowed(
        &mut self,
        directive: &Directive,
        matching: &Match,
        condition: &Condition,
    ) -> Result<Option<Match>, String> {
        if let Test::Exists { kind, negated } = condition.test {
            return self.existing(matching, condition, kind, negated).map(Some);
        }
        if condition.operand.variable() == Some("invalid_referer") {
            return self.position.server.invalid_referer(directive).map(|condition| Some(matching.and(condition)));
        }
        let operand = self.operand(condition)?;
        if let Some(constant) = operand.literal() {
            let holds = condition.holds(constant).ok_or("its value has variables")?;
            return Ok(holds.then(|| matching.clone()));
        }
        match (operand.variable(), &condition.test) {
            (Some("uri" | "document_uri"), Test::Matches { pattern, negated: false }) => {
                Ok(matching.and_expression(pattern))
            }
            (Some("request_method"), Test::Equals { value, negated: false }) if value.literal().is_some() => {
                Ok(Some(matching.and_method(value.literal().unwrap_or_default())))
            }
            (Some(name), test) => {
                let condition = match test {
                    Test::Equals { value, .. } if value.literal().is_none() => {
                        return Err("a comparison with a variable has no translation".to_owned());
                    }
                    _ => condition.on_variable(name).ok_or("it has no translation")?,
                };
                Ok(Some(matching.and(condition)))
            }
            (None, _) => {
                let name = self.position.server.import.text_map(&operand);
                self.position.variables.add_map(&name);
                Ok(Some(matching.and(condition.on_variable(&name).ok_or("it has no translation")?)))
            }
        }
    }

    fn existing(
        &mut self,
        matching: &Match,
        condition: &Condition,
        kind: Existing,
        negated: bool,
    ) -> Result<Match, String> {
        let Position { server, variables } = &self.position;
        let scope = self.content.map_or(&server.scope, |content| &content.location.scope);
        let path = server.path_text(&variables.filled(&condition.operand), scope, variables)?;
        if path.starts_with('$') {
            return Err("the name of the file begins with a variable, which clients may choose".to_owned());
        }
        let mark = if negated { "!" } else { "" };
        let patterns = match kind {
            Existing::File => vec![format!("{mark}{path}")],
            Existing::Folder => vec![format!("{mark}{path}/")],
            Existing::Either => vec![format!("{mark}{path}"), format!("{mark}{path}/")],
        };
        Ok(matching.and(matching::Condition::unnamed("file", patterns)))
    }

    fn respond(&mut self, directive: &'tree Directive, scope: &Rc<Scope<'tree>>, matching: &Match) -> Next {
        let notes = self.position.notes();
        if let Some((error_page, name)) = errors::leading_on(directive, scope)
            && self.changed.is_empty()
        {
            let depth = self.content.map_or(0, |content| content.depth);
            let before = self.routes.len();
            if server_routes::append_named(self, name, matching, depth).is_ok() {
                notes.translated(directive);
                notes.translated(error_page);
                return Next::Ends;
            }
            self.routes.truncate(before);
        }
        match redirects::of_return(&self.position, directive, scope) {
            Ok(handler) => {
                notes.translated(directive);
                let changed = std::mem::take(&mut self.changed);
                for (matching, changed) in changed.into_iter().rev() {
                    self.push_handler(&matching, &changed, &handler, directive);
                }
                self.push_handler(matching, scope, &handler, directive);
            }
            Err(why) => {
                notes.lost(directive, why);
                self.routes.push(Route::refusing(matching.clone(), format!("{}: not translated", directive.place)));
            }
        }
        Next::Ends
    }

    fn rewrite(
        &mut self,
        directive: &'tree Directive,
        scope: &Rc<Scope<'tree>>,
        matching: &Match,
        is_last: bool,
    ) -> Next {
        let (Some(expression), Some(target)) = (directive.word(0), directive.word(1)) else { return Next::GoesOn };
        let own_groups = Pattern::new(expression, false).map(|pattern| pattern.group_names()).unwrap_or_default();
        let numbered = Text::of(target).replaced(|name| {
            let group = own_groups.iter().find(|(own, _)| own == name);
            Ok(group.map(|(_, number)| Text { parts: vec![Part::Variable(number.to_string())] }))
        });
        let target = self.position.variables.filled(&numbered.unwrap_or_default());
        let (expression, target) = redirects::with_slash(expression, &target);
        let pattern = match Pattern::new(&expression, false) {
            Ok(pattern) => pattern,
            Err(why) => {
                self.position.notes().lost(directive, why);
                return Next::GoesOn;
            }
        };
        let target = target.without_groups_above(pattern.groups());
        let always = matches!(pattern.expression(), "^" | "" | ".*" | "^.*$" | "^(.*)$" | "^/(.*)$" | "^/");
        let Some(narrowed) = matching.and_expression(&pattern) else {
            self.position.server.unreached(directive);
            return Next::GoesOn;
        };
        self.position.notes().translated(directive);
        let rewrite = redirects::of_rewrite(&self.position, directive, &target);
        let leads_to_locations = self.content.is_none() && matches!(rewrite, Ok(Rewrite::Path(_)));
        let rewritten = rewrite.and_then(|rewrite| self.rewritten(rewrite, directive, scope, &narrowed, is_last));
        if let Err(why) = rewritten {
            self.position.notes().lost(directive, why);
            return Next::GoesOn;
        }
        match (always, leads_to_locations, directive.word(2)) {
            (false, ..) | (true, true, None) => Next::GoesOn,
            (true, true, Some(_)) => Next::LeavesBlock,
            (true, false, _) => Next::Ends,
        }
    }

    /// Adds the routes of a `rewrite` for the requests that it matches.
    fn rewritten(
        &mut self,
        rewrite: Rewrite,
        directive: &'tree Directive,
        scope: &Rc<Scope<'tree>>,
        matching: &Match,
        is_last: bool,
    ) -> Result<(), String> {
        let (notes, server) = (self.position.notes(), self.position.server);
        let path = match rewrite {
            Rewrite::Path(path) => path,
            Rewrite::Redirect(handler) => {
                self.push_handler(matching, scope, &handler, directive);
                return Ok(());
            }
        };
        match (directive.word(2).unwrap_or_default(), self.content) {
            ("break", Some(content)) => content.append_rewritten(self, scope, matching, path),
            (flag @ ("" | "last"), Some(_)) if flag == "last" || is_last => {
                let page = path.split('?').next().unwrap_or_default();
                if page.ends_with(".html") && server.is_file_location(page) {
                    // With another method, the page would lead to itself.
                    self.push(Route::restarting(matching.and_method("GET"), path), directive);
                    self.push_handler(matching, scope, &Handler::responding(405), directive);
                } else if matching.is_path_itself(&path) {
                    // nginx ends the circle after ten rounds.
                    self.push_handler(matching, scope, &Handler::responding(500), directive);
                } else {
                    self.push(Route::restarting(matching.clone(), path), directive);
                }
                if server.has_path_steps() {
                    notes.differs(
                        directive,
                        "the rewrites of the server are tried again for the new path; nginx only looks for the location \
                         again",
                    );
                }
            }
            ("", Some(_)) => {
                return Err(
                    "after a rewrite without a flag, nginx goes on with the directives below, and the new path: \
                            write `last` behind it, or one expression"
                        .to_owned(),
                );
            }
            (_, None) => {
                if server.may_be_internal(&path) {
                    let why = "a rewrite of the server does not lead to internal locations, as it does in nginx";
                    notes.differs(directive, why);
                }
                let mut route = Route::new(matching.clone());
                route.table.set("rewrite", path);
                self.push(route, directive);
            }
            (flag, Some(_)) => return Err(format!("`{flag}` is not a flag of `rewrite`")),
        }
        Ok(())
    }

    /// Adds a route with a handler, and the settings of a block around it.
    pub(crate) fn push_handler(
        &mut self,
        matching: &Match,
        settings: &Rc<Scope<'tree>>,
        handler: &Handler,
        reported: &Directive,
    ) {
        if handler.kind == HandlerKind::Files && matching.changes_files() {
            if handler.table.get("missing").is_some() {
                let why = "requests with this method go on to the next candidate, also if there is a file";
                return self.position.notes().differs(reported, why);
            }
            return self.push_handler(matching, settings, &Handler::responding(405), reported);
        }
        let mut route = Route::new(matching.clone());
        policies::set(&self.position, settings, handler, &mut route.table);
        // Requests for which such a variable is set pass the cache by.
        for name in policies::caching::take_variables(&mut route.table) {
            let matching = matching.and(matching::Condition::is_true(name));
            let mut uncached = Route { matching, table: route.table.clone() };
            uncached.table.remove("cache");
            self.push(uncached, reported);
        }
        self.push(route, reported);
    }

    /// Refuses requests in the place of routes that have no translation.
    pub(crate) fn refuse(&mut self, matching: &Match, directive: &Directive, why: String) {
        self.position.notes().lost(directive, why);
        let why = format!("{}: {} has no translation", directive.place, directive.name());
        self.push(Route::refusing(matching.clone(), why), directive);
    }

    /// Adds a route for a directive, unless two of its conditions are on the same text, or it names groups that there are not.
    pub(crate) fn push(&mut self, mut route: Route, directive: &Directive) {
        route.table.place = Some(directive.place.clone());
        let highest = route.table.entries.iter().map(|(_, value)| highest_group(value)).max().unwrap_or(0);
        let lost = match route.matching.is_writable() {
            true if highest <= route.matching.groups() => match self.refused_target(&route) {
                None => return self.routes.push(route),
                Some(why) => (why, "its target"),
            },
            true => (format!("${highest} is of no group in the expression of the location"), "its text"),
            false => ("several conditions on the same variable have no translation".to_owned(), "its condition"),
        };
        self.position.notes().lost(directive, lost.0);
        let why = format!("{}: {} has no translation", directive.place, lost.1);
        self.routes.push(Route::refusing(route.matching.without_conditions(), why));
    }
}

impl Flow<'_, '_> {
    /// The reason why Serow refuses the target of a redirect or rewrite.
    fn refused_target(&self, route: &Route) -> Option<String> {
        // Most name no maps, of which there may be thousands.
        route.refused_target(&[])?;
        let maps = self.position.server.import.maps.borrow();
        let names: Vec<String> = maps.iter().map(|map| map.name.clone()).collect();
        route.refused_target(&names)
    }
}

/// Whether a directive belongs to the module `rewrite`.
fn is_step(name: &str) -> bool {
    ["set", "if", "return", "rewrite", "break", "rewrite_log"].contains(&name)
}
