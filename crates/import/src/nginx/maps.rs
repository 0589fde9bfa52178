//! `map`, and the others that make variables which depend on others.

use std::collections::{HashMap, HashSet};

use serow_nginx_syntax::{directive::Directive, pattern::Pattern};
use serow_settings_writer::{table::Table, value::Value};
use serow_variables::check_new_name;

use super::{
    condition::{Condition, Test, exact_pattern},
    distribution::{geo, looking_up, split_clients},
    import::Import,
    text::{Text, Use, Variables},
};

/// A map that is written if a text names its variable.
#[derive(Debug)]
pub(crate) struct MadeMap<'tree> {
    /// The directive, unless the map stands for an `if`.
    pub(crate) directive: Option<&'tree Directive>,
    /// The name of the variable, without `$`.
    pub(crate) name: String,
    /// The table.
    pub(crate) table: Table,
}

impl<'tree> Import<'tree> {
    /// Reads the maps of the configuration, each of which makes a variable.
    pub(crate) fn read_maps(&self, http: &'tree [Directive]) {
        // A map may name those behind it.
        for directive in http {
            if matches!(directive.name(), "map" | "geo" | "split_clients")
                && let Some(name) = directive.words.last()
            {
                let (name, mut variables) = (name.text.trim_start_matches('$'), self.variables.borrow_mut());
                let own = own_name(name);
                if own != name {
                    variables.set(name, Text::of(&format!("${own}")));
                }
                variables.add_map(&own);
            }
        }
        // One that names a variable without a counterpart has none either.
        while self.read_maps_once(http) {}
    }

    /// Reads the maps. Whether one of them has lost its variable.
    fn read_maps_once(&self, http: &'tree [Directive]) -> bool {
        self.maps.borrow_mut().clear();
        self.missing_maps.borrow_mut().clear();
        let mut has_lost = false;
        let last: HashMap<&str, usize> =
            http.iter().filter_map(|directive| Some((made_name(directive)?, directive.number))).collect();
        for directive in http {
            let Some(name) = made_name(directive) else { continue };
            if last.get(name) != Some(&directive.number) {
                for line in [directive].into_iter().chain(directive.children()) {
                    self.notes.no_line(line, "another one makes its variable again, and is the one that counts");
                }
                continue;
            }
            let mut variables = self.variables.borrow_mut();
            if let Some(value) = constant(directive) {
                variables.set(name, value);
                [directive].into_iter().chain(directive.children()).for_each(|line| self.notes.translated(line));
                continue;
            }
            let made = match directive.name() {
                "map" => map(directive, &variables),
                "geo" => geo(directive, &variables, &self.notes),
                "split_clients" => split_clients(directive, &variables, &self.notes),
                _ => continue,
            };
            let own = own_name(name);
            match made {
                Ok(mut table) => {
                    table.set("to", own.as_str());
                    self.maps.borrow_mut().retain(|other| other.name != own);
                    self.maps.borrow_mut().push(MadeMap { directive: Some(directive), name: own, table });
                }
                Err(why) => {
                    has_lost |= variables.has_map(&own);
                    variables.remove_map(&own, &why);
                    variables.lose(name, &why);
                    self.missing_maps.borrow_mut().push(directive);
                }
            }
        }
        has_lost
    }

    /// The values of a map whose values are fixed: the map's value for each.
    pub(crate) fn map_values(&self, name: &str) -> Option<Vec<(String, String)>> {
        let maps = self.maps.borrow();
        let map = maps.iter().find(|map| map.name == name)?;
        let mut values: Vec<String> = Vec::new();
        let of = |key: &str| match map.table.get(key) {
            Some(Value::Table(entries)) => entries.as_slice(),
            _ => &[],
        };
        let listed = of("values").iter().chain(of("networks")).map(|(_, value)| value).chain(map.table.get("default"));
        let listed = listed.filter_map(|value| if let Value::Text(text) = value { Some(text) } else { None });
        for text in of("shares").iter().map(|(value, _)| value).chain(listed) {
            if text.contains('$') {
                return None;
            }
            if !values.contains(text) && !text.is_empty() {
                values.push(text.clone());
            }
        }
        (!values.is_empty()).then(|| values.iter().map(|value| (value.clone(), value.clone())).collect())
    }

    /// The name of a map that is a text, which a condition can name then.
    pub(crate) fn text_map(&self, text: &Text) -> String {
        let mut table = Table::default();
        let written = text.written();
        table.set("from", written.as_str());
        table.set("to", "");
        table.set("values", Value::Table(Vec::new()));
        table.set("default", written);
        self.add_map("text", table)
    }

    /// Sets the variables that the named groups of an expression make, of a text such as `$host`.
    pub(crate) fn name_groups(&self, from: &str, pattern: &Pattern, variables: &mut Variables) {
        for (name, number) in pattern.group_names() {
            let made = self.group_map(&name, from, pattern, &Text::of(&format!("${number}")));
            variables.add_map(&made);
            variables.set(&name, Text::of(&format!("${made}")));
        }
    }

    /// The name of a map of a text such as the path: a text with the groups of an expression.
    pub(crate) fn group_map(&self, name: &str, from: &str, pattern: &Pattern, text: &Text) -> String {
        let mut table = Table::default();
        table.set("from", from);
        table.set("to", "");
        let value = Value::Text(text.written());
        table.set("values", Value::Table(vec![(pattern.written_as_condition(), value)]));
        self.add_map(name, table)
    }

    /// The name of a map that has a value if a condition holds, and the former value otherwise.
    pub(crate) fn conditional_map(
        &self,
        name: &str,
        condition: &Condition,
        operand: &Text,
        value: &Text,
        former: &Text,
    ) -> Result<String, String> {
        let (value, former) = (Value::Text(value.written()), Value::Text(former.written()));
        let (values, default) = match &condition.test {
            Test::IsTrue => (vec![(String::new(), former.clone()), ("0".to_owned(), former)], value),
            Test::Equals { value: compared, negated } => {
                let compared = compared.literal().ok_or("a comparison with a variable has no translation")?;
                let key = case_sensitive(operand, compared);
                if *negated { (vec![(key, former)], value) } else { (vec![(key, value)], former) }
            }
            Test::Matches { pattern, negated } => {
                let key = pattern.written_as_condition();
                if *negated { (vec![(key, former)], value) } else { (vec![(key, value)], former) }
            }
            Test::Exists { .. } => return Err("a variable that depends on a file has no translation".to_owned()),
        };
        let mut table = Table::default();
        table.set("from", operand.written());
        table.set("to", "");
        table.set("values", Value::Table(values));
        if default != Value::from("") {
            table.set("default", default);
        }
        Ok(self.add_map(name, table))
    }

    /// Adds a map whose variable has a free name, or finds the same one.
    fn add_map(&self, base: &str, mut table: Table) -> String {
        let mut maps = self.maps.borrow_mut();
        let is_same = |map: &&MadeMap<'_>| {
            ["from", "values", "default"].iter().all(|key| map.table.get(key) == table.get(key))
                && map.directive.is_none()
        };
        if let Some(same) = maps.iter().find(is_same) {
            return same.name.clone();
        }
        let mut number = 1;
        let base = own_name(base);
        let mut name = base.clone();
        while maps.iter().any(|map| map.name == name) {
            number += 1;
            name = format!("{base}_{number}");
        }
        table.set("to", name.as_str());
        maps.push(MadeMap { directive: None, name: name.clone(), table });
        name
    }
}

/// The name of the variable that a map, a `geo` or a `split_clients` makes.
fn made_name(directive: &Directive) -> Option<&str> {
    let is_map = matches!(directive.name(), "map" | "geo" | "split_clients");
    Some(directive.words.last().filter(|_| is_map)?.text.trim_start_matches('$'))
}

/// The value of a `map` of a text without variables, as in `map '' $pool { default blue; }`.
fn constant(directive: &Directive) -> Option<Text> {
    let source = Text::of(directive.word(0).filter(|_| directive.name() == "map" && directive.words.len() == 2)?);
    let source = source.literal()?;
    let is_plain = |line: &Directive| !line.name().starts_with('~') && line.words.len() == 1;
    if !directive.children().iter().all(is_plain) {
        return None;
    }
    let of = |key: &str| directive.children().iter().find(|line| line.name().eq_ignore_ascii_case(key));
    Some(
        of(source).or_else(|| of("default")).map(|line| Text::of(line.word(0).unwrap_or_default())).unwrap_or_default(),
    )
}

/// The name of a map's variable in Serow, whose own variables have some names.
fn own_name(name: &str) -> String {
    if check_new_name(name).is_ok() {
        return name.to_owned();
    }
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    format!("map_{}", name.replace(|letter| !is_letter(letter), "_"))
}

/// A `map`.
fn map(directive: &Directive, variables: &Variables) -> Result<Table, String> {
    let mut table = looking_up(directive.word(0).unwrap_or_default(), variables)?;
    let (mut exact, mut masks, mut expressions) = (Vec::new(), Vec::new(), Vec::new());
    let (mut default, mut matches_empty) = (None, false);
    let has_hosts = directive.children().iter().any(|line| line.name() == "hostnames");
    for line in directive.children() {
        let Some(value) = line.word(0) else { continue };
        let key = line.name();
        let value = value_of(key, &without_missing_groups(key, value), variables)?;
        match key {
            "default" if !line.name.is_quoted => default = Some(value),
            expression if expression.starts_with('~') => {
                let ignores_case = expression.starts_with("~*");
                let pattern = Pattern::new(
                    expression.trim_start_matches('~').trim_start_matches(if ignores_case { "*" } else { "" }),
                    ignores_case,
                )?;
                matches_empty |= pattern.matches("");
                expressions.push((pattern.written_as_condition(), value));
            }
            host if has_hosts && host.starts_with('.') => {
                exact.push((host[1..].to_owned(), value.clone()));
                masks.push((format!("*{host}"), value));
            }
            mask if has_hosts && (mask.starts_with("*.") || mask.ends_with(".*")) => {
                masks.push((mask.to_owned(), value))
            }
            key => exact.push((exact_pattern(key.strip_prefix('\\').unwrap_or(key)), value)),
        }
    }
    masks.sort_by_key(|(mask, _)| (mask.ends_with(".*"), std::cmp::Reverse(mask.len())));
    // nginx tries no expression on a value that is empty.
    if matches_empty && !exact.iter().any(|(key, _)| key.is_empty()) {
        exact.push((String::new(), default.clone().unwrap_or_else(|| Value::from(""))));
    }
    exact.append(&mut masks);
    exact.append(&mut expressions);
    let mut keys = HashSet::new();
    exact.retain(|(key, _)| keys.insert(key.clone()));
    table.set("values", Value::Table(exact));
    table.set_some("default", default.filter(|default| *default != Value::from("")));
    Ok(table)
}

/// The value of a line without the groups that its expression does not have, which are empty.
fn without_missing_groups(key: &str, value: &str) -> Text {
    let text = Text::of(value);
    let expression = key.strip_prefix('~').filter(|_| value.contains('$'));
    match expression.map(|expression| Pattern::new(expression.trim_start_matches('*'), false)) {
        Some(Ok(pattern)) => text.without_groups_above(pattern.groups()),
        _ => text,
    }
}

/// The value of a line, in which groups of its own expression have a meaning.
fn value_of(key: &str, text: &Text, variables: &Variables) -> Result<Value, String> {
    let is_group = |name: &str| {
        key.starts_with('~')
            && [format!("(?<{name}>"), format!("(?P<{name}>")].iter().any(|group| key.contains(group.as_str()))
    };
    let groups: Vec<&str> = text.variables().filter(|name| is_group(name)).collect();
    if groups.is_empty() {
        return Ok(Value::Text(variables.resolve(text, Use::Message)?.written()));
    }
    let mut with_groups = variables.clone();
    groups.into_iter().for_each(|name| with_groups.add_map(name));
    Ok(Value::Text(with_groups.resolve(text, Use::Message)?.written()))
}

/// A key that matches a value in its own case: keys of maps ignore it.
fn case_sensitive(operand: &Text, value: &str) -> String {
    let ignores_case = matches!(operand.variable(), Some("host" | "scheme" | "request_method" | "server_name"));
    let has_case = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    match has_case && !ignores_case {
        true => format!("~^{}$", serow_nginx_syntax::pattern::escaped(value)),
        false => exact_pattern(value),
    }
}
