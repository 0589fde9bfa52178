//! The report of an import: each directive, and what became of it.

use std::{cell::RefCell, fmt};

use serow_nginx_syntax::{directive::Directive, place::Place};

/// The outcome of a directive, from the best to the worst.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It is in the settings.
    Translated,
    /// Serow does this without a setting, or it has nothing to act on.
    NoLine(String),
    /// It is in the settings, and differs in one respect.
    Differs(String),
    /// It is not in the settings.
    Lost(String),
}

/// A line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where the directive stands.
    pub place: Place,
    /// The directive with its words, shortened.
    pub directive: String,
    /// The outcome.
    pub outcome: Outcome,
    /// Whether it is lost only since it is in a block that is.
    pub is_inside: bool,
}

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The lines: one for each directive without a remark, and one for each remark, in the order of the configuration.
    pub lines: Vec<Line>,
}

impl Report {
    /// Whether each directive is in the settings, or needs no line there.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.lines.iter().any(|line| matches!(line.outcome, Outcome::Lost(_)))
    }

    /// A line for each directive, also those that are translated.
    #[must_use]
    pub fn all(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let outcome = match &line.outcome {
                Outcome::Translated => "translated".to_owned(),
                Outcome::NoLine(why) => format!("needs no line: {why}"),
                Outcome::Differs(why) => format!("differs: {why}"),
                Outcome::Lost(why) => format!("NOT TRANSLATED: {why}"),
            };
            text.push_str(&format!("{}: {}\n    {outcome}\n", line.place, line.directive));
        }
        text
    }

    /// The number of directives with this kind of outcome: translated, without a line, with a difference, lost.
    #[must_use]
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for line in &self.lines {
            counts[match line.outcome {
                Outcome::Translated => 0,
                Outcome::NoLine(_) => 1,
                Outcome::Differs(_) => 2,
                Outcome::Lost(_) => 3,
            }] += 1;
        }
        counts
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = self.lines.iter().filter_map(|line| match &line.outcome {
            Outcome::Lost(why) => Some((line, why)),
            _ => None,
        });
        let differing = self.lines.iter().filter_map(|line| match &line.outcome {
            Outcome::Differs(why) => Some((line, why)),
            _ => None,
        });
        write_part(formatter, "Not translated:", lost)?;
        write_part(formatter, "Translated, with a difference:", differing)?;
        let [translated, without, differing, lost] = self.counts();
        writeln!(
            formatter,
            "{translated} directives translated, {without} need no line, {differing} differ, {lost} are not translated."
        )
    }
}

fn write_part<'a>(
    formatter: &mut fmt::Formatter<'_>,
    title: &str,
    lines: impl Iterator<Item = (&'a Line, &'a String)>,
) -> fmt::Result {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return Ok(());
    }
    writeln!(formatter, "{title}")?;
    while let Some((line, why)) = lines.next() {
        let count = std::iter::from_fn(|| lines.next_if(|(line, _)| line.is_inside)).count();
        let inside = if count > 0 { format!(" (and {count} in it)") } else { String::new() };
        writeln!(formatter, "  {}: {}{inside}\n      {why}", line.place, line.directive)?;
    }
    writeln!(formatter)
}

/// The reason of a directive in a block that is lost.
fn in_block(block: &Directive) -> String {
    format!("it is in `{}`, which has no translation", block.name())
}

/// Notes of what became of each directive, taken while the settings are made.
#[derive(Debug)]
pub(crate) struct Notes {
    outcomes: RefCell<Vec<Vec<Outcome>>>,
}

impl Notes {
    /// Notes of so many directives.
    pub(crate) fn new(directives: usize) -> Self {
        Self { outcomes: RefCell::new(vec![Vec::new(); directives]) }
    }

    pub(crate) fn add(&self, directive: &Directive, outcome: Outcome) {
        if let Some(outcomes) = self.outcomes.borrow_mut().get_mut(directive.number)
            && !outcomes.contains(&outcome)
        {
            outcomes.push(outcome);
        }
    }

    pub(crate) fn translated(&self, directive: &Directive) {
        self.add(directive, Outcome::Translated);
    }

    pub(crate) fn no_line(&self, directive: &Directive, why: impl Into<String>) {
        self.add(directive, Outcome::NoLine(why.into()));
    }

    pub(crate) fn differs(&self, directive: &Directive, why: impl Into<String>) {
        self.add(directive, Outcome::Differs(why.into()));
    }

    pub(crate) fn lost(&self, directive: &Directive, why: impl Into<String>) {
        self.add(directive, Outcome::Lost(why.into()));
    }

    /// Notes that a directive, and those in it about which nothing is noted, have no translation.
    pub(crate) fn lost_with_all(&self, directive: &Directive, why: &str) {
        self.lost(directive, why);
        for inner in directive.children() {
            if !self.has(inner) {
                self.lost_with_all(inner, &in_block(directive));
            }
        }
    }

    /// Whether something was noted about a directive.
    pub(crate) fn has(&self, directive: &Directive) -> bool {
        self.outcomes.borrow().get(directive.number).is_some_and(|outcomes| !outcomes.is_empty())
    }

    /// The report of these directives and of all in them. One about which nothing was noted is lost.
    pub(crate) fn report(&self, directives: &[Directive]) -> Report {
        let mut report = Report::default();
        self.append(directives, None, &mut report);
        report
    }

    fn append(&self, directives: &[Directive], block: Option<&Directive>, report: &mut Report) {
        let outcomes = self.outcomes.borrow();
        let inside = block.map(|block| Outcome::Lost(in_block(block)));
        for directive in directives {
            let noted = outcomes.get(directive.number).map(Vec::as_slice).unwrap_or_default();
            let line = |outcome: Outcome| Line {
                place: directive.place.clone(),
                directive: directive.quoted(),
                is_inside: inside.as_ref() == Some(&outcome),
                outcome,
            };
            let remarks = noted.iter().filter(|outcome| matches!(outcome, Outcome::Differs(_) | Outcome::Lost(_)));
            let before = report.lines.len();
            report.lines.extend(remarks.cloned().map(line));
            if report.lines.len() == before {
                let unnoted = Outcome::Lost("the import does not know what it does here".to_owned());
                report.lines.push(line(noted.iter().min().cloned().unwrap_or(unnoted)));
            }
            self.append(directive.children(), Some(directive), report);
        }
    }
}
