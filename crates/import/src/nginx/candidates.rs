//! `try_files`: files that are looked for in turn, and the last resort.

use serow_nginx_syntax::directive::Directive;
use serow_settings_writer::{
    matching::{self, Match},
    route::Route,
    table::Table,
    value::Value,
};

use super::{
    content::{Content, Handlers, RESTRICTED, push},
    flow::Flow,
    handler::{Handler, HandlerKind},
    locations::Kind,
    policies::{
        self,
        access::{self, Restriction},
    },
    position::Position,
    programs,
    redirects::{path_of_target, with_query_mark},
    server_routes,
    text::{Part, Text, Use},
};

impl<'tree> Content<'_, 'tree> {
    /// The routes of `try_files`.
    pub(super) fn try_files(
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
