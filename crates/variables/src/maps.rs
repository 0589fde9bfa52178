//! The maps of a settings file: which depends on which.

use std::{collections::HashMap, error::Error, fmt, sync::Arc};

use serow_message::{Network, NetworkError};

use crate::{
    expression::{Expression, InvalidExpression},
    map::{Map, Results, ValueResults},
    reserved_names::check_new_name,
    scope::Scope,
    shares::Shares,
    text::{Part, Piece, Text, read_pieces},
    value_pattern::{Letters, ValuePattern},
    variable::Variable,
};

/// Maps by the names of their variables.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    maps: HashMap<Box<str>, Arc<Map>>,
}

/// A map as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapTable {
    /// The text that is looked up, with variables.
    pub from: String,
    /// The name of the variable.
    pub to: String,
    /// The variable's values.
    pub entries: MapEntries,
    /// The variable's value for all others.
    pub default: String,
}

/// The values of a map's variable, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapEntries {
    /// Values and patterns of the text, with the variable's value for each.
    Values(Vec<(String, String)>),
    /// The variable's values, with the share of all texts that have it, as in `12.5%`.
    Shares(Vec<(String, String)>),
    /// Networks, with the variable's value for each.
    Networks(Vec<(String, String)>),
}

impl MapEntries {
    /// The keys, with what stands behind each.
    #[must_use]
    pub fn pairs(&self) -> &[(String, String)] {
        match self {
            Self::Values(pairs) | Self::Shares(pairs) | Self::Networks(pairs) => pairs,
        }
    }

    /// The texts of the variable's values.
    fn results(&self) -> impl Iterator<Item = &str> {
        let is_share = matches!(self, Self::Shares(_));
        self.pairs().iter().map(move |(key, value)| if is_share { &**key } else { value })
    }
}

impl Default for MapEntries {
    fn default() -> Self {
        Self::Values(Vec::new())
    }
}

impl Maps {
    /// Maps of these tables, which may use one another.
    ///
    /// # Errors
    ///
    /// The first map that is invalid, or uses itself.
    pub fn new(tables: &[MapTable]) -> Result<Self, InvalidMap> {
        let mut names = HashMap::new();
        for (number, table) in tables.iter().enumerate() {
            let invalid = |problem: String| InvalidMap { map: number, part: MapPart::To, problem };
            check_new_name(&table.to).map_err(|problem| invalid(problem.into_owned()))?;
            if names.insert(&*table.to, number).is_some() {
                return Err(invalid(format!("another map makes ${} as well: choose another name", table.to)));
            }
        }
        let mut building = Building { tables, names, maps: Self::default(), begun: vec![false; tables.len()] };
        (0..tables.len()).try_for_each(|number| building.build(number))?;
        Ok(building.maps)
    }

    /// The map that makes this variable.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<Map>> {
        self.maps.get(name).cloned()
    }

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.maps.keys().map(|name| &**name)
    }
}

/// Maps while they are built, those first that others use.
struct Building<'t> {
    tables: &'t [MapTable],
    names: HashMap<&'t str, usize>,
    maps: Maps,
    /// Which ones have been begun, so that a map that uses itself is found.
    begun: Vec<bool>,
}

impl Building<'_> {
    fn build(&mut self, number: usize) -> Result<(), InvalidMap> {
        let tables = self.tables;
        let Some(table) = tables.get(number) else { return Ok(()) };
        if self.maps.maps.contains_key(&*table.to) {
            return Ok(());
        }
        self.begun[number] = true;
        let patterns = patterns(number, &table.entries)?;
        for (part, text) in [(MapPart::From, &table.from), (MapPart::Default, &table.default)] {
            self.build_used(number, part, (text, None))?;
        }
        for (value, text) in table.entries.results().enumerate() {
            let expression = patterns.get(value).and_then(ValuePattern::expression);
            self.build_used(number, MapPart::Value(value), (text, expression))?;
        }
        let parsing = Parsing { map: number, scope: Scope::new(Arc::new(self.maps.clone())) };
        let from = parsing.text(MapPart::From, &table.from)?;
        let default = parsing.text(MapPart::Default, &table.default)?;
        if !from.parts().iter().any(|part| matches!(part, Part::Variable(_))) {
            let problem = "there is no variable in it: write one, as in \"$http_user_agent\"".to_owned();
            return Err(InvalidMap { map: number, part: MapPart::From, problem });
        }
        let results = match &table.entries {
            MapEntries::Values(pairs) => parsing.values(pairs, patterns)?,
            MapEntries::Shares(pairs) => parsing.shares(pairs)?,
            MapEntries::Networks(pairs) => parsing.networks(pairs)?,
        };
        self.maps.maps.insert(table.to.as_str().into(), Arc::new(Map::new(from, results, default)));
        Ok(())
    }

    /// Builds the maps that a text uses, whose other names may be groups of this expression.
    fn build_used(
        &mut self,
        number: usize,
        part: MapPart,
        (text, expression): (&str, Option<&Expression>),
    ) -> Result<(), InvalidMap> {
        let is_group = |name| expression.is_some_and(|it| it.group_names().flatten().any(|group| group == name));
        let invalid = |problem: String| InvalidMap { map: number, part, problem };
        for piece in read_pieces(text).map_err(|error| invalid(error.to_string()))? {
            let Piece::Name(name) = piece else { continue };
            if is_group(name) {
                continue;
            }
            let Some(used) = self.names.get(name).copied().filter(|_| Variable::find(name).is_none()) else { continue };
            if self.begun[used] && !self.maps.maps.contains_key(name) {
                return Err(invalid(format!(
                    "${name} is made of itself here: maps must not use one another in a circle"
                )));
            }
            self.build(used)?;
        }
        Ok(())
    }
}

/// The texts of a map while they are parsed.
struct Parsing {
    map: usize,
    scope: Scope,
}

impl Parsing {
    fn invalid(&self, part: MapPart, problem: String) -> InvalidMap {
        InvalidMap { map: self.map, part, problem }
    }

    fn text(&self, part: MapPart, text: &str) -> Result<Text, InvalidMap> {
        self.text_in(part, text, &self.scope)
    }

    fn text_in(&self, part: MapPart, text: &str, scope: &Scope) -> Result<Text, InvalidMap> {
        Text::parse(text, scope).map_err(|error| self.invalid(part, error.to_string()))
    }

    fn values(&self, pairs: &[(String, String)], patterns: Vec<ValuePattern>) -> Result<Results, InvalidMap> {
        let (mut exact, mut others) = (HashMap::new(), Vec::new());
        for (value, ((_, text), pattern)) in pairs.iter().zip(patterns).enumerate() {
            let part = MapPart::Value(value);
            let text = match pattern.expression() {
                Some(expression) => self.text_in(part, text, &self.scope.of_map_value(expression))?,
                None => self.text(part, text)?,
            };
            match pattern.exact() {
                Some(value) => drop(exact.insert(value.to_ascii_lowercase().into(), text)),
                None => others.push((pattern, text)),
            }
        }
        Ok(Results::Values(ValueResults::new(exact, others)))
    }

    fn shares(&self, pairs: &[(String, String)]) -> Result<Results, InvalidMap> {
        let mut shares = Shares::default();
        for (value, (text, share)) in pairs.iter().enumerate() {
            let part = MapPart::Value(value);
            shares.push(share, self.text(part, text)?).map_err(|problem| self.invalid(part, problem))?;
        }
        Ok(Results::Shares(shares))
    }

    fn networks(&self, pairs: &[(String, String)]) -> Result<Results, InvalidMap> {
        let mut networks = Vec::new();
        for (value, (network, text)) in pairs.iter().enumerate() {
            let part = MapPart::Value(value);
            let read = network.parse().map_err(|error: NetworkError| error.to_string());
            let read = read.and_then(|read| match read {
                Network::Unix => Err("the texts of a map are addresses; others have the default".to_owned()),
                Network::Addresses(_) => Ok(read),
            });
            let read = read.map_err(|problem| self.invalid(part, format!("{network:?}: {problem}")))?;
            networks.push((read, self.text(part, text)?));
        }
        Ok(Results::Networks(networks.into_iter().collect()))
    }
}

/// The patterns of a map's values; none of shares and networks.
fn patterns(map: usize, entries: &MapEntries) -> Result<Vec<ValuePattern>, InvalidMap> {
    let MapEntries::Values(pairs) = entries else { return Ok(Vec::new()) };
    let parse = |(value, (key, _)): (usize, &(String, String))| {
        ValuePattern::parse(key, Letters::AnyCase).map_err(|error: InvalidExpression| InvalidMap {
            map,
            part: MapPart::Value(value),
            problem: format!("{key:?} {error}"),
        })
    };
    pairs.iter().enumerate().map(parse).collect()
}

/// Why maps are invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMap {
    /// The number of the map, from 0.
    pub map: usize,
    /// The invalid part of the map.
    pub part: MapPart,
    /// The problem, and what to do about it.
    pub problem: String,
}

/// A part of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapPart {
    /// The text that is looked up.
    From,
    /// The name.
    To,
    /// The value, share or network with this number, from 0.
    Value(usize),
    /// The default.
    Default,
}

impl fmt::Display for InvalidMap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "map {}: {}", self.map + 1, self.problem)
    }
}

impl Error for InvalidMap {}

#[cfg(test)]
mod tests {
    use serow_message::Request;

    use super::*;
    use crate::{Form, Source};

    fn table(from: &str, to: &str, values: &[(&str, &str)], default: &str) -> MapTable {
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let entries = MapEntries::Values(values);
        MapTable { from: from.to_owned(), to: to.to_owned(), entries, default: default.to_owned() }
    }

    #[test]
    fn values_are_looked_up_exactly_first_and_then_by_patterns_in_their_order() {
        let maps = Maps::new(&[
            table("$kind-$arg_v", "both", &[("cli-2", "second cli")], "$kind/$arg_v"),
            table(
                "$http_user_agent",
                "kind",
                &[("*curl*", "cli"), ("~^curl/9", "new"), ("curl/8", "eight"), ("", "none")],
                "web",
            ),
        ]);
        let scope = Scope::new(Arc::new(maps.unwrap()));
        for (agent, query, expected) in [
            ("CURL/8", "/?v=2", "eight eight/2"),
            ("curl/9", "/?v=2", "cli second cli"),
            ("Firefox", "/?v=$kind", "web web/$kind"),
            ("", "/", "none none/"),
        ] {
            let mut request = Request::default();
            request.target = serow_message::Target::parse(query.into(), false).unwrap();
            if !agent.is_empty() {
                request.headers.append("user-agent", agent).unwrap();
            }
            let mut output = Vec::new();
            Text::parse("$kind $both", &scope).unwrap().append(&Source::of(&request, b"/"), Form::Raw, &mut output);
            assert_eq!(String::from_utf8(output).unwrap(), expected, "{agent}");
        }
    }

    #[test]
    fn values_name_the_groups_of_their_expression() {
        let maps = Maps::new(&[
            table("$uri$arg_inner", "lang", &[("~^/(?<rest>[a-z]*)", "<$rest>")], "none"),
            table(
                "$arg_v",
                "found",
                &[
                    ("~^/old/(?<rest>.*)$", "/new/$rest"),
                    ("~*^([a-z]+)\\.(x)?", "$1-$2|$lang|$$1"),
                    ("exact", "$lang"),
                    ("~^(a)", "$arg_v"),
                ],
                "",
            ),
        ]);
        let scope = Scope::new(Arc::new(maps.unwrap())).of_stars(1);
        for (query, expected) in [
            ("v=/old/a/$1", "/new/a/$1"),
            ("v=De.example", "De-|<it>|$1"),
            ("v=de.x", "de-x|<it>|$1"),
            ("v=EXACT", "<it>"),
            ("v=a", "a"),
            ("v=/other", ""),
        ] {
            let mut request = Request::default();
            request.target = serow_message::Target::parse(format!("/?{query}").into(), false).unwrap();
            let mut output = Vec::new();
            let source = Source { captures: &[b"star"], ..Source::of(&request, b"/it") };
            Text::parse("$found$1", &scope).unwrap().append(&source, Form::Raw, &mut output);
            assert_eq!(String::from_utf8(output).unwrap(), format!("{expected}star"), "{query}");
        }
        // A group hides a map of the same name, and is no circle.
        assert!(Maps::new(&[table("$uri", "rest", &[("~(?<rest>a)", "$rest")], "")]).is_ok());
    }

    #[test]
    fn the_first_of_many_patterns_counts() {
        let patterns: Vec<(String, String)> = (0..100)
            .flat_map(|number| [format!("*/item{number}/*"), format!("~^/shop/[a-z]+/{number}$")])
            .enumerate()
            .map(|(place, pattern)| (pattern, place.to_string()))
            .collect();
        let table = |values: &[(&str, &str)]| {
            let own = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            let values = own.chain(patterns.iter().cloned()).collect();
            MapTable {
                from: "$arg_v".to_owned(),
                to: "place".to_owned(),
                entries: MapEntries::Values(values),
                default: "none".to_owned(),
            }
        };
        for (table, value, expected) in [
            (table(&[]), "/shop/item7/x", "14"),
            (table(&[]), "/SHOP/ITEM99/", "198"),
            (table(&[]), "/shop/x/12", "25"),
            (table(&[]), "/shop/X/12", "none"),
            (table(&[]), "/shop/item7/item3/", "6"),
            (table(&[("*3/", "first")]), "/shop/item7/item3/", "first"),
            (table(&[("!*shop*", "first")]), "/item7/x", "first"),
            (table(&[("!*shop*", "first")]), "/shop/item7/x", "14"),
        ] {
            let scope = Scope::new(Arc::new(Maps::new(&[table]).unwrap()));
            let mut request = Request::default();
            request.target = serow_message::Target::parse(format!("/?v={value}").into(), false).unwrap();
            let mut output = Vec::new();
            Text::parse("$place", &scope).unwrap().append(&Source::of(&request, b"/"), Form::Raw, &mut output);
            assert_eq!(String::from_utf8(output).unwrap(), expected, "{value}");
        }
    }

    fn distributing(entries: MapEntries) -> MapTable {
        MapTable { from: "$arg_v".to_owned(), to: "part".to_owned(), entries, default: "rest of $arg_v".to_owned() }
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn shares_and_networks_have_values_with_variables() {
        let shares = MapEntries::Shares(pairs(&[("a $arg_v", "10%"), ("", "0.5%")]));
        let networks = MapEntries::Networks(pairs(&[("10.0.0.0/8", "a $arg_v"), ("10.1.0.0/16", ""), ("::1", "six")]));
        for (entries, value, expected) in [
            (&shares, "abc", "a abc"),
            (&shares, "ab", ""),
            (&shares, "a", "rest of a"),
            (&networks, "10.0.0.1", "a 10.0.0.1"),
            (&networks, "::ffff:10.0.0.1", "a ::ffff:10.0.0.1"),
            (&networks, "10.1.0.1", ""),
            (&networks, "::1", "six"),
            (&networks, "::2", "rest of ::2"),
            (&networks, "10.0.0.1:80", "rest of 10.0.0.1:80"),
            (&networks, "", "rest of "),
        ] {
            let scope = Scope::new(Arc::new(Maps::new(&[distributing(entries.clone())]).unwrap()));
            let mut request = Request::default();
            request.target = serow_message::Target::parse(format!("/?v={value}").into(), false).unwrap();
            let mut output = Vec::new();
            Text::parse("$part", &scope).unwrap().append(&Source::of(&request, b"/"), Form::Raw, &mut output);
            assert_eq!(String::from_utf8(output).unwrap(), expected, "{value}");
        }
    }

    #[test]
    fn invalid_shares_and_networks_say_what_to_write() {
        let cases = [
            (
                distributing(MapEntries::Shares(pairs(&[("a", "1/3")]))),
                "map 1: \"1/3\" is not a share: write it as in \"12.5%\", with two decimal places at most",
            ),
            (
                distributing(MapEntries::Shares(pairs(&[("a", "50%"), ("b", "51%")]))),
                "map 1: with this share, the sum is more than 100 %: reduce one of them",
            ),
            (
                distributing(MapEntries::Networks(pairs(&[("10.0.0.1/8", "a")]))),
                "map 1: \"10.0.0.1/8\": an address within a network; the network is 10.0.0.0/8",
            ),
            (
                distributing(MapEntries::Networks(pairs(&[("unix", "a")]))),
                "map 1: \"unix\": the texts of a map are addresses; others have the default",
            ),
        ];
        for (table, expected) in cases {
            assert_eq!(Maps::new(&[table]).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn mistakes_say_what_to_write() {
        let cases = [
            (
                vec![table("$a", "a", &[], "")],
                "map 1: $a is made of itself here: maps must not use one another in a circle",
            ),
            (
                vec![table("$b", "a", &[], ""), table("$uri", "b", &[("x", "$a")], "")],
                "map 2: $a is made of itself here: maps must not use one another in a circle",
            ),
            (vec![table("$uri", "host", &[], "")], "map 1: $host has a meaning already: choose another name"),
            (vec![table("$uri", "$x", &[], "")], "map 1: a name has letters, digits and _, and begins with a letter"),
            (
                vec![table("$uri", "a", &[], ""), table("$uri", "a", &[], "")],
                "map 2: another map makes $a as well: choose another name",
            ),
            (
                vec![table("text", "a", &[], "")],
                "map 1: there is no variable in it: write one, as in \"$http_user_agent\"",
            ),
            (vec![table("$uri", "a", &[("~(", "")], "")], "map 1: \"~(\" is not a regular expression: unclosed group"),
            (vec![table("$url", "a", &[], "")], "map 1: there is no $url; did you mean $uri?"),
            (
                vec![table("$uri", "a", &[("~(a)(?<b>b)", "$b$3")], "")],
                "map 1: $3 is not there: the expression has 2 groups; write $$ for a dollar",
            ),
            (
                vec![table("$uri", "a", &[("~a", "$1")], "")],
                "map 1: $1 is not there: the expression has no group; write $$ for a dollar",
            ),
            (
                vec![table("$uri", "a", &[("~(?<language>a)", "$langage")], "")],
                "map 1: there is no $langage; did you mean $language?",
            ),
            (
                vec![table("$uri", "a", &[("!~(a)", "$1")], "")],
                "map 1: $1 belongs to a route, or to the expression of a map's value; write $$ for a dollar",
            ),
            (
                vec![table("$uri", "a", &[], "$1")],
                "map 1: $1 belongs to a route, or to the expression of a map's value; write $$ for a dollar",
            ),
        ];
        for (tables, expected) in cases {
            assert_eq!(Maps::new(&tables).unwrap_err().to_string(), expected);
        }
    }
}
