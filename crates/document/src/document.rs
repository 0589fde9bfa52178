//! A settings file as text and as a tree, which knows for each part of the tree where in the text it stands.

use std::{borrow::Cow, ops::Range};

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue, Error},
};

use crate::{
    environment,
    fault::Fault,
    include,
    place::{Place, Step},
    sources::Sources,
    syntax,
};

/// A value and where it stands.
pub type Value<'t> = Spanned<DeValue<'t>>;

/// A table: its keys and values, and where each stands.
pub type Table<'t> = DeTable<'t>;

/// A settings file, taken apart.
pub struct Document<'t> {
    root: Spanned<Table<'t>>,
}

/// The properties of keys that must be known before the tree has types.
#[derive(Debug)]
pub struct Format {
    /// The lists of tables that an included file can have; the rest is of the server as a whole, and stands in one place.
    pub included_tables: &'static [&'static str],
    /// Whether the text at a path of keys names variables of requests, too.
    pub has_variables: fn(&[&str]) -> bool,
}

/// The part of a place that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The key.
    Key,
    /// The value.
    Value,
    /// The value; the text of the problem names its key.
    Whole,
}

impl<'t> Document<'t> {
    /// Takes a text apart.
    ///
    /// # Errors
    ///
    /// All that breaks the format.
    pub fn parse(text: &'t str) -> Result<Self, Vec<Error>> {
        let (root, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() { Ok(Self { root }) } else { Err(errors) }
    }

    /// Takes a settings file and those that it includes apart, puts them together, and fills in the environment.
    ///
    /// # Errors
    ///
    /// All that breaks the format, and names that the environment does not have.
    pub fn of(sources: &'t Sources, format: &Format) -> Result<Self, Vec<Fault>> {
        let (mut whole, mut faults) = (None::<Spanned<Table<'t>>>, Vec::new());
        for (text, start) in sources.texts() {
            let (root, errors) = DeTable::parse_recoverable(text);
            if !errors.is_empty() {
                faults.extend(syntax::faults(text, errors).into_iter().map(|fault| fault.moved(start)));
                continue;
            }
            let mut reading = Reading { start, path: Vec::new(), format, faults: &mut faults };
            let root = if start > 0 || text.contains("${") {
                let span = root.span();
                Spanned::new(span, reading.table(root.into_inner()))
            } else {
                root
            };
            match &mut whole {
                None => whole = Some(root),
                Some(whole) => faults.extend(include::add(whole.get_mut(), root.into_inner(), format.included_tables)),
            }
        }
        match whole {
            Some(root) if faults.is_empty() => Ok(Self { root }),
            _ => Err(faults),
        }
    }

    /// The table at the root.
    pub fn root(&self) -> &Table<'t> {
        self.root.get_ref()
    }

    /// Where in the text a place is; of one that is not there, where it would be: the last on the way to it that is.
    pub fn span(&self, place: &Place, part: Part) -> Range<usize> {
        let (mut table, mut value, mut span) = (Some(self.root()), None::<&Value<'t>>, 0..0);
        let steps = place.steps();
        let last = steps.len().saturating_sub(1);
        for (number, step) in steps.into_iter().enumerate() {
            let below = match step {
                Step::Key(key) => {
                    let Some((key, below)) = table.and_then(|table| table.get_key_value(key.as_str())) else { break };
                    // The last step alone can mean a key: what lies above is pointed at as a whole, which is its name.
                    if part == Part::Key && number == last {
                        return key.span();
                    }
                    span = if below.get_ref().is_table() && number == last { key.span() } else { below.span() };
                    below
                }
                // One value stands for an array of it.
                Step::Element(element) => match value.map(Spanned::get_ref) {
                    Some(DeValue::Array(elements)) => {
                        let Some(below) = elements.get(*element) else { break };
                        span = below.span();
                        below
                    }
                    Some(_) if *element == 0 => continue,
                    _ => break,
                },
            };
            (table, value) = (below.get_ref().as_table(), Some(below));
        }
        span
    }
}

/// Moves the places of a text's parts, so that none has the place of a part of another text, and fills in the environment.
struct Reading<'f> {
    /// The offset of the text.
    start: usize,
    /// The keys on the way.
    path: Vec<String>,
    format: &'f Format,
    faults: &'f mut Vec<Fault>,
}

impl Reading<'_> {
    fn table<'t>(&mut self, table: Table<'t>) -> Table<'t> {
        let read = |(key, value): (Spanned<DeString<'t>>, Value<'t>)| {
            let key = Spanned::new(self.moved(key.span()), key.into_inner());
            self.path.push(key.get_ref().to_string());
            let value = self.value(value);
            self.path.pop();
            (key, value)
        };
        table.into_iter().map(read).collect()
    }

    fn value<'t>(&mut self, value: Value<'t>) -> Value<'t> {
        let span = self.moved(value.span());
        let value = match value.into_inner() {
            DeValue::String(text) => DeValue::String(self.text(text, &span)),
            DeValue::Array(elements) => {
                DeValue::Array(elements.into_iter().map(|element| self.value(element)).collect())
            }
            DeValue::Table(table) => DeValue::Table(self.table(table)),
            other => other,
        };
        Spanned::new(span, value)
    }

    fn text<'t>(&mut self, text: DeString<'t>, span: &Range<usize>) -> DeString<'t> {
        let keys: Vec<&str> = self.path.iter().map(String::as_str).collect();
        match environment::expand(&text, (self.format.has_variables)(&keys)) {
            Ok(Cow::Borrowed(_)) => text,
            Ok(Cow::Owned(expanded)) => DeString::Owned(expanded),
            Err(problem) => {
                let text = format!("`{}`: {problem}", self.path.last().map_or("", |key| key));
                self.faults.push(Fault { span: Some(span.clone()), text });
                DeString::Owned(String::new())
            }
        }
    }

    fn moved(&self, span: Range<usize>) -> Range<usize> {
        span.start + self.start..span.end + self.start
    }
}
