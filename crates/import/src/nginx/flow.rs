//! The directives of nginx's module `rewrite` in a server or location: `set`, `if`, `return`, `rewrite`, `break`. Each path
//! through them becomes a route, in their order.

use std::rc::Rc;

use super::{
    condition::{Condition, Existing, Test},
    content::Content,
    handler::Handler,
    matching::{self, Match},
    pattern::Pattern,
    redirects,
    route::Route,
    scope::Scope,
    server::Server,
    text::{Text, Use, Variables},
};
use crate::grammar::directive::Directive;

/// A run through the directives of a block.
#[derive(Debug)]
pub(crate) struct Flow<'a, 'tree> {
    pub(crate) server: &'a Server<'a, 'tree>,
    /// The variables at this point.
    pub(crate) variables: Variables,
    /// The location's content; nothing in a server, whose locations follow.
    pub(crate) content: Option<Content<'tree>>,
    /// The blocks of `if` that change settings of the content, in their order.
    changed: Vec<(Match, Rc<Scope<'tree>>)>,
    pub(crate) routes: Vec<Route>,
}

/// Whether requests get behind a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoesOn,
    Ends,
}

impl<'a, 'tree> Flow<'a, 'tree> {
    pub(crate) fn new(server: &'a Server<'a, 'tree>, variables: Variables, content: Option<Content<'tree>>) -> Self {
        Self { server, variables, content, changed: Vec::new(), routes: Vec::new() }
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
                    self.server.notes().translated(directive);
                    self.finish(scope, matching);
                    Next::Ends
                }
                "rewrite" => {
                    let is_last = !scope.directives[position + 1..].iter().any(|next| is_step(next.name()));
                    self.rewrite(directive, scope, matching, is_last)
                }
                "rewrite_log" | "uninitialized_variable_warn" => {
                    self.server.notes().no_line(directive, "it only concerns nginx's error log");
                    Next::GoesOn
                }
                _ => Next::GoesOn,
            };
            if next == Next::Ends {
                for unreached in scope.directives[position + 1..].iter().filter(|next| is_step(next.name())) {
                    self.server.unreached(unreached);
                }
                return Next::Ends;
            }
        }
        Next::GoesOn
    }

    /// The content of the location, with the settings of the last `if` that holds.
    fn finish(&mut self, scope: &Rc<Scope<'tree>>, matching: &Match) {
        let Some(content) = self.content.clone() else { return };
        for (matching, changed) in std::mem::take(&mut self.changed).into_iter().rev() {
            content.append(self, &changed, &matching, true);
        }
        content.append(self, scope, matching, false);
    }

    fn set(&mut self, directive: &'tree Directive) -> Next {
        let (Some(name), Some(value)) = (directive.word(0), directive.word(1)) else { return Next::GoesOn };
        self.server.notes().translated(directive);
        let value = self.filled(&Text::of(value));
        self.variables.set(name.trim_start_matches('$'), value);
        Next::GoesOn
    }

    /// A text in which variables that `set` made are replaced by their values.
    pub(crate) fn filled(&self, text: &Text) -> Text {
        let mut filled = Text::default();
        for part in &text.parts {
            let single = Text { parts: vec![part.clone()] };
            match single.variable().and_then(|name| self.variables.text_of(name)) {
                Some(value) => filled.push_text(value),
                None => filled.push_text(&single),
            }
        }
        filled
    }

    fn condition(&mut self, directive: &'tree Directive, scope: &Rc<Scope<'tree>>, matching: &Match) -> Next {
        let notes = self.server.notes();
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
                self.server.unreached(directive);
                return Next::GoesOn;
            }
            Err(why) => return self.lose_condition(directive, &inner, matching, why),
        };
        notes.translated(directive);
        let variables = self.variables.clone();
        let next = self.steps(&inner, &narrowed);
        let changes_settings = inner.directives.iter().any(|inner| !is_step(inner.name()));
        if next == Next::GoesOn {
            if self.content.is_some() && changes_settings {
                self.changed.push((narrowed, inner));
            } else if inner.directives.iter().any(|inner| inner.name() == "set") {
                self.server.lose(directive, "a `set` beside other directives in an `if` has no translation");
            }
        }
        self.variables = variables;
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
            self.variables.lose(name, &why);
        }
        let refuses =
            inner.own("return").any(|inner| inner.word(0).is_some_and(|status| status.starts_with(['4', '5'])));
        self.server.lose(directive, why);
        if !refuses {
            return Next::GoesOn;
        }
        let mut route = Route::new(matching.clone());
        route.table.comment(format!("{}: this refusal has no translation", directive.place));
        route.table.set("respond", Handler::responding(501).table.into_value());
        self.push(route, directive);
        Next::Ends
    }

    /// Variables that are set if a condition holds: maps whose value is the former one otherwise.
    fn conditional_set(&mut self, condition: &Condition, inner: &Scope<'tree>) -> Result<(), String> {
        for directive in inner.directives {
            let (Some(name), Some(value)) = (directive.word(0), directive.word(1)) else { continue };
            let name = name.trim_start_matches('$');
            let value = self.variables.resolve(&self.filled(&Text::of(value)), Use::Message)?;
            let former = match self.variables.text_of(name) {
                Some(former) => self.variables.resolve(former, Use::Message)?,
                None => Text::default(),
            };
            let operand = self.variables.resolve(&self.filled(&condition.operand), Use::Message)?;
            if let Some(constant) = operand.literal() {
                if condition.holds(constant).ok_or("its value has variables")? {
                    self.variables.set(name, value);
                }
                continue;
            }
            let made = self.server.import.conditional_map(name, condition, &operand, &value, &former)?;
            self.variables.add_map(&made);
            self.variables.set(name, Text::of(&format!("${made}")));
        }
        Ok(())
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
            return self.server.invalid_referer(directive).map(|condition| Some(matching.and(condition)));
        }
        if let Some(name) = condition.operand.variable()
            && let Some(clients) = self.server.import.geo_clients(name, condition)
        {
            let condition = matching::Condition { kind: "client", name: String::new(), patterns: clients? };
            return Ok(Some(matching.and(condition)));
        }
        let operand = self.variables.resolve(&self.filled(&condition.operand), Use::Message)?;
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
                let name = self.server.import.text_map(&operand);
                self.variables.add_map(&name);
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
        let scope =
            self.content.as_ref().map_or_else(|| Rc::clone(&self.server.scope), |content| Rc::clone(&content.scope));
        let path = self.server.path_text(&self.filled(&condition.operand), &scope, &self.variables)?;
        let mark = if negated { "!" } else { "" };
        let patterns = match kind {
            Existing::File => vec![format!("{mark}{path}")],
            Existing::Folder => vec![format!("{mark}{path}/")],
            Existing::Either => vec![format!("{mark}{path}"), format!("{mark}{path}/")],
        };
        Ok(matching.and(matching::Condition { kind: "file", name: String::new(), patterns }))
    }

    fn respond(&mut self, directive: &'tree Directive, scope: &Rc<Scope<'tree>>, matching: &Match) -> Next {
        let notes = self.server.notes();
        let mut route = Route::new(matching.clone());
        match redirects::of_return(self, directive, scope) {
            Ok(handler) => {
                notes.translated(directive);
                let changed = std::mem::take(&mut self.changed);
                for (matching, changed) in changed.into_iter().rev() {
                    let mut route = Route::new(matching);
                    self.server.policies(self, &changed, &handler, &mut route.table);
                    self.push(route, directive);
                }
                self.server.policies(self, scope, &handler, &mut route.table);
                self.push(route, directive);
            }
            Err(why) => {
                notes.lost(directive, why);
                // Requests that nginx answers here must not get to what follows.
                route.table.set("respond", Handler::responding(501).table.into_value());
                route.table.comment(format!("{}: not translated", directive.place));
                self.routes.push(route);
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
        let (expression, target) = redirects::with_slash(expression, &self.filled(&Text::of(target)));
        let pattern = match Pattern::new(&expression, false) {
            Ok(pattern) => pattern,
            Err(why) => {
                self.server.notes().lost(directive, why);
                return Next::GoesOn;
            }
        };
        let always = matches!(pattern.expression(), "^" | "" | ".*" | "^.*$" | "^(.*)$" | "^/(.*)$" | "^/");
        let Some(narrowed) = matching.and_expression(&pattern) else {
            self.server.unreached(directive);
            return Next::GoesOn;
        };
        self.server.notes().translated(directive);
        if let Err(why) = redirects::of_rewrite(self, directive, scope, &narrowed, &target, is_last) {
            self.server.notes().lost(directive, why);
            return Next::GoesOn;
        }
        if always { Next::Ends } else { Next::GoesOn }
    }

    /// Adds a route for a directive, unless two of its conditions are on the same text.
    pub(crate) fn push(&mut self, route: Route, directive: &Directive) {
        if route.matching.is_writable() {
            self.routes.push(route);
        } else {
            self.server.notes().lost(directive, "several conditions on the same variable have no translation");
            // Other routes must not take these requests.
            let mut refusal = Route::new(route.matching.without_conditions());
            refusal.table.comment(format!("{}: the conditions have no translation", directive.place));
            refusal.table.set("respond", Handler::responding(501).table.into_value());
            self.routes.push(refusal);
        }
    }
}

/// Whether a directive belongs to the module `rewrite`.
fn is_step(name: &str) -> bool {
    ["set", "if", "return", "rewrite", "break", "rewrite_log"].contains(&name)
}
