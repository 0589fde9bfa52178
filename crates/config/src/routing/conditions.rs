//! The meaning of maps, and of the conditions of routes.

use std::{collections::BTreeMap, fmt::Display, path::Path, sync::Arc};

use serow_document::{Place, Problem, Problems};
use serow_message::Scheme;
use serow_router::{Conditions, FileConditions, HostPatterns, Networks};
use serow_variables::{
    Expression, InvalidMap, Letters, MapPart, MapTable as VariableMap, Maps, Scope, Text, ValuePatterns,
};

use crate::{
    tables::{
        maps::{MapSettings, MapTable},
        matching::{SchemeChoice, WhenTable},
    },
    values::Patterns,
};

/// The maps of a file; none where one is wrong.
pub fn maps(tables: Vec<MapTable>, problems: &Problems) -> Arc<Maps> {
    let places: Vec<(Place, &str)> =
        tables.iter().map(|table| (table.place.clone(), table.settings.entries().0)).collect();
    let maps: Vec<VariableMap> = tables.into_iter().map(|table| variable_map(table.settings)).collect();
    let note = |error: &InvalidMap| {
        let (place, entries) = places.get(error.map).cloned().unwrap_or_default();
        let place = match error.part {
            MapPart::From => place.key("from"),
            MapPart::To => place.key("to"),
            MapPart::Default => place.key("default"),
            MapPart::Value(number) => {
                let pair = maps.get(error.map).and_then(|map| map.entries.pairs().get(number));
                place.key(entries).key(pair.map(|(key, _)| key.clone()).unwrap_or_default())
            }
        };
        problems.add(Problem::of_value(place, error.problem.clone()));
    };
    Arc::new(Maps::new(&maps).inspect_err(note).unwrap_or_default())
}

fn variable_map(settings: MapSettings) -> VariableMap {
    let (_, entries) = settings.entries();
    VariableMap { from: settings.from, to: settings.to, entries, default: settings.default }
}

/// Reads conditions, and notes what is wrong with them.
pub struct Matching<'a> {
    /// Which variables texts may name.
    pub scope: &'a Scope,
    /// The folder of the settings file.
    pub folder: &'a Path,
    /// Where problems are reported.
    pub problems: &'a Problems,
}

impl Matching<'_> {
    /// The conditions of a route; nothing where something is wrong.
    pub fn conditions(&self, path: Option<Expression>, when: WhenTable, place: &Place) -> Option<Conditions> {
        let WhenTable { header, cookie, query, variable, client, scheme, host, file } = when;
        let fields = self.named(header, Letters::AnyCase, &place.key("header"));
        let cookies = self.named(cookie, Letters::Exact, &place.key("cookie"));
        let arguments = self.named(query, Letters::Exact, &place.key("query"));
        let texts = self.named(variable, Letters::AnyCase, &place.key("variable"));
        let texts = texts.and_then(|texts| self.texts(texts, &place.key("variable")));
        let clients = self.noted(Networks::parse(&client.0), &client, &place.key("client"));
        let hosts = self.noted(HostPatterns::parse(&host.0), &host, &place.key("host"));
        let files = self.files(file.as_ref(), &place.key("file"));
        let scheme = scheme.map(|scheme| match scheme {
            SchemeChoice::Http => Scheme::Http,
            SchemeChoice::Https => Scheme::Https,
        });
        Some(Conditions {
            path,
            fields: fields?,
            cookies: cookies?,
            arguments: arguments?,
            texts: texts?,
            clients: clients?,
            scheme,
            hosts: hosts?,
            files: files?,
        })
    }

    fn files(&self, file: Option<&Patterns>, place: &Place) -> Option<FileConditions> {
        let Some(patterns) = file else { return Some(FileConditions::default()) };
        if patterns.is_empty() {
            self.problems.add(Problem::of_value(place.clone(), "there is no file: name one, or leave the key out"));
            return None;
        }
        self.noted(FileConditions::parse(&patterns.0, self.folder, self.scope), patterns, place)
    }

    fn named(
        &self,
        table: BTreeMap<String, Patterns>,
        letters: Letters,
        place: &Place,
    ) -> Option<Vec<(String, ValuePatterns)>> {
        let read = |(name, patterns): (String, Patterns)| {
            let parsed = ValuePatterns::parse(&patterns.0, letters);
            let parsed = self.noted(parsed, &patterns, &place.key(name.clone()))?;
            Some((name, parsed))
        };
        let read: Vec<_> = table.into_iter().map(read).collect();
        read.into_iter().collect()
    }

    fn texts(&self, named: Vec<(String, ValuePatterns)>, place: &Place) -> Option<Vec<(Text, ValuePatterns)>> {
        let read = |(name, patterns): (String, ValuePatterns)| {
            let text = Text::parse(&format!("${{{}}}", name.trim_start_matches('$')), self.scope);
            let problem = |error: &_| self.problems.add(Problem::of_key(place.key(name.clone()), format!("{error}")));
            Some((text.inspect_err(problem).ok()?, patterns))
        };
        let read: Vec<_> = named.into_iter().map(read).collect();
        read.into_iter().collect()
    }

    fn noted<T, E: Display>(&self, read: Result<T, (usize, E)>, patterns: &Patterns, place: &Place) -> Option<T> {
        let note = |(number, error): &(usize, E)| {
            let text = patterns.0.get(*number).map_or("", |text| text);
            let problem = match error.to_string() {
                // An expression says what it is, an address what it is not.
                error if ["is ", "has ", "needs ", "names ", "begins "].iter().any(|verb| error.starts_with(verb)) => {
                    format!("{text:?} {error}")
                }
                error => format!("{text:?}: {error}"),
            };
            self.problems.add(Problem::of_value(place.element(*number), problem));
        };
        read.inspect_err(note).ok()
    }
}
