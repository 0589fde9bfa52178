//! The meaning of the access logs of the root, of sites and of routes.

use std::{collections::BTreeSet, num::NonZeroU32, ops::RangeInclusive, path::Path, rc::Rc, sync::Arc};

use serow_access_log::{Condition, Destination, Format, LogRule, OtherNames, Sampling};
use serow_config::{
    options::{AccessLogChoice, LogTable, LoggingOptions},
    paths::resolve_logs,
    tables::sites::{SiteContent, SiteTable},
    values::StatusRange,
};
use serow_document::{Place, Problem, Problems};
use serow_router::PathPattern;
use serow_variables::{Expression, SERVER_NAME, Scope};

/// Finds out what access logs mean, and notes what means nothing.
pub(crate) struct Logs<'a> {
    folder: &'a Path,
    problems: &'a Problems,
}

/// The logs of a place: of the root, a site or a route.
#[derive(Debug)]
pub(crate) struct PlacedLogs {
    written: Vec<WrittenLog>,
    /// The format of logs inside that say nothing else.
    format: LogText,
    /// The rules of the logs that are written, read for this place.
    pub(crate) rules: Arc<[LogRule]>,
    /// Whether names have a value at some places inside only, for each of which the rules are read again.
    has_names: bool,
    /// Whether something is wrong, of which places inside need not speak again.
    is_wrong: bool,
}

/// A log whose texts have not been read.
#[derive(Clone, Debug)]
struct WrittenLog {
    destination: Destination,
    format: LogText,
    condition: Option<LogText>,
    statuses: Vec<RangeInclusive<u16>>,
    sampling: Option<Sampling>,
}

/// A text with variables.
#[derive(Clone, Debug)]
struct LogText {
    text: String,
    place: Place,
    /// Names that have a value at some places inside of the one where it is written.
    names: Rc<BTreeSet<String>>,
}

impl<'a> Logs<'a> {
    pub(crate) fn new(folder: &'a Path, problems: &'a Problems) -> Self {
        Self { folder, problems }
    }

    /// The logs of the root, for these sites.
    pub(crate) fn root(&self, logging: &LoggingOptions, scope: &Scope, sites: &[SiteTable]) -> Rc<PlacedLogs> {
        let names = Rc::new(names_of_sites(sites));
        let place = Place::default().key("access-log-format");
        let format = LogText { text: logging.access_log_format.to_string(), place, names: Rc::clone(&names) };
        // A wrong format is wrong also where nothing is logged.
        let is_wrong = self.format(&format, scope).is_none();
        let nothing = PlacedLogs { written: Vec::new(), format, rules: Arc::default(), has_names: false, is_wrong };
        let place = Place::default().key("access-log");
        let placed = if is_wrong { None } else { self.placed(&logging.access_log, &nothing, scope, names, &place) };
        Rc::new(placed.unwrap_or(PlacedLogs { is_wrong: true, ..nothing }))
    }

    /// The logs of a place inside of another one. `names` have a value further inside.
    pub(crate) fn inside(
        &self,
        outer: &Rc<PlacedLogs>,
        choice: Option<&AccessLogChoice>,
        scope: &Scope,
        names: BTreeSet<String>,
        place: &Place,
    ) -> Rc<PlacedLogs> {
        let placed = match choice {
            None if !outer.has_names => return Rc::clone(outer),
            None => self.read(outer.written.clone(), outer, scope),
            Some(choice) => self.placed(choice, outer, scope, Rc::new(names), &place.key("access-log")),
        };
        let wrong = || PlacedLogs {
            written: Vec::new(),
            format: outer.format.clone(),
            rules: Arc::default(),
            has_names: false,
            is_wrong: true,
        };
        Rc::new(placed.unwrap_or_else(wrong))
    }

    fn placed(
        &self,
        choice: &AccessLogChoice,
        outer: &PlacedLogs,
        scope: &Scope,
        names: Rc<BTreeSet<String>>,
        place: &Place,
    ) -> Option<PlacedLogs> {
        let mut choice = choice.clone();
        resolve_logs(&mut choice, self.folder);
        let is_list = choice.0.len() > 1;
        let tables = choice.0.into_iter().enumerate();
        let written = tables.map(|(number, table)| {
            let place = if is_list { place.element(number) } else { place.clone() };
            self.written(table, outer, &names, &place)
        });
        let written: Vec<_> = written.collect();
        self.read(written.into_iter().collect::<Option<_>>()?, outer, scope)
    }

    /// A log, with what is not written as it is around.
    fn written(
        &self,
        table: LogTable,
        outer: &PlacedLogs,
        names: &Rc<BTreeSet<String>>,
        place: &Place,
    ) -> Option<WrittenLog> {
        let LogTable { file, format, r#if: condition, status, sample, keep } = table;
        let text = |key: &str, text| LogText { text, place: place.key(key), names: Rc::clone(names) };
        let around = match &outer.written[..] {
            [around] => Some(around),
            _ => None,
        };
        let Some(destination) = file.map(|file| file.0).or_else(|| around.map(|around| around.destination.clone()))
        else {
            let text = match outer.written.len() {
                0 => "`file` is missing: name the destination, as in { file = \"access.log\" }",
                _ => "`file` is missing, and there are several logs around: name the destination",
            };
            if !outer.is_wrong {
                self.problems.add(Problem::of_value(place.clone(), text));
            }
            return None;
        };
        if keep.is_some() && sample.is_none() {
            let text = "`keep` needs `sample`: write of how many requests one has a line, as in sample = 10";
            self.problems.add(Problem::of_key(place.key("keep"), text));
            return None;
        }
        let one_of = sample.and_then(|sample| NonZeroU32::new(sample.get())).filter(|number| number.get() > 1);
        let always = keep.map_or_else(|| vec![ERRORS], |keep| ranges(keep.0));
        let around_format = || around.map_or_else(|| outer.format.clone(), |around| around.format.clone());
        Some(WrittenLog {
            destination,
            format: format.map_or_else(around_format, |format| text("format", format.to_string())),
            condition: condition.map(|condition| text("if", condition)),
            statuses: status.map(|status| ranges(status.0)).unwrap_or_default(),
            sampling: one_of.map(|one_of| Sampling { one_of, always }),
        })
    }

    /// Reads the texts of logs.
    fn read(&self, written: Vec<WrittenLog>, outer: &PlacedLogs, scope: &Scope) -> Option<PlacedLogs> {
        let rules: Vec<_> = written.iter().map(|log| self.rule(log, scope)).collect();
        let rules = rules.into_iter().collect::<Option<Arc<[_]>>>()?;
        let has_names = rules.iter().any(LogRule::lacks_names);
        Some(PlacedLogs { written, format: outer.format.clone(), rules, has_names, is_wrong: false })
    }

    fn rule(&self, log: &WrittenLog, scope: &Scope) -> Option<LogRule> {
        let format = self.format(&log.format, scope);
        let condition = match &log.condition {
            None => Some(None),
            Some(text) => {
                let condition = Condition::read(&text.text, scope, OtherNames::Only(&text.names));
                self.noted(condition.map_err(|error| Problem::of_value(text.place.clone(), error.to_string())))
                    .map(Some)
            }
        };
        let WrittenLog { destination, statuses, sampling, .. } = log.clone();
        Some(LogRule { destination, format: format?, condition: condition?, statuses, sampling })
    }

    fn format(&self, text: &LogText, scope: &Scope) -> Option<Format> {
        let format = Format::read(&text.text, scope, OtherNames::Only(&text.names));
        self.noted(format.map_err(|error| Problem::of_value(text.place.clone(), error.to_string())))
    }

    fn noted<T>(&self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.add(problem)).ok()
    }
}

impl PlacedLogs {
    /// Whether a line of them has what the path of a route matched.
    pub(crate) fn reads_captures(&self) -> bool {
        self.rules.iter().any(LogRule::reads_captures)
    }

    /// Whether they differ between places that do not say so.
    pub(crate) fn has_names(&self) -> bool {
        self.has_names
    }
}

/// Whether an access log of a file contains the attempts on upstream servers.
pub(crate) fn read_attempts(logging: &LoggingOptions, sites: &[SiteTable]) -> bool {
    let choices = || [&logging.access_log].into_iter().chain(sites.iter().flat_map(SiteTable::logs));
    let is_any = choices().any(|choice| !choice.0.is_empty());
    let any =
        |text: &String| Condition::read(text, &Scope::default(), OtherNames::Any).is_ok_and(|it| it.reads_attempts());
    let reads = |table: &LogTable| {
        table.format.as_ref().is_some_and(|format| format.0.reads_attempts()) || table.r#if.as_ref().is_some_and(any)
    };
    is_any && (logging.access_log_format.0.reads_attempts() || choices().flat_map(|choice| &choice.0).any(reads))
}

/// The names that texts of routes of a site may have for what their paths match, and the numbers.
pub(crate) fn capture_names(site: &SiteTable) -> BTreeSet<String> {
    let SiteContent::Routes(routes) = &site.content else { return BTreeSet::new() };
    let scopes = routes.iter().filter_map(|route| {
        let expression = || route.settings.path_regex.as_ref()?.parse::<Expression>().ok();
        let paths = || route.settings.path.iter().flat_map(|paths| &paths.0);
        let patterns = || paths().map(|path| path.parse()).collect::<Result<Vec<PathPattern>, _>>().ok();
        let path = || PathPattern::any_of(patterns()?);
        let of_path = || path().map(|path| Scope::default().of_stars(path.stars()));
        expression().map(|expression| Scope::default().of_expression(&expression)).or_else(of_path)
    });
    scopes.flat_map(|scope| scope.capture_names().collect::<Vec<_>>()).collect()
}

/// The names that have a value in some sites only.
fn names_of_sites(sites: &[SiteTable]) -> BTreeSet<String> {
    let has_hosts = sites.iter().any(|site| site.settings.hosts.is_some());
    let names = sites.iter().flat_map(capture_names);
    names.chain(has_hosts.then(|| SERVER_NAME.to_owned())).collect()
}

fn ranges(statuses: Vec<StatusRange>) -> Vec<RangeInclusive<u16>> {
    statuses.into_iter().map(|range| range.0).collect()
}

/// Statuses that operators look for first: sampling does not drop them.
const ERRORS: RangeInclusive<u16> = 500..=599;
