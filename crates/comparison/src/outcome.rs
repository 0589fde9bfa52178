//! The outcome of a comparison, and its text.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use super::Difference;
use serow_nginx_syntax::directive::Directive;

/// The outcome of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The number of requests that both servers got.
    pub requests: usize,
    /// The number of requests with the same response.
    pub same: usize,
    /// The number of requests whose responses only differ for known reasons.
    pub explained: usize,
    /// How many differences have a reason, by the reason.
    pub reasons: BTreeMap<Cow<'static, str>, usize>,
    /// The requests whose responses differ otherwise.
    pub findings: Vec<Finding>,
    /// The number of requests that the limits leave out.
    pub left_out: usize,
    /// The changes that a rehearsal needs, as sentences.
    pub notes: Vec<String>,
    /// The lines that this nginx refuses; neither server has them.
    pub refused: Vec<String>,
}

/// A request whose responses differ, although they should not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The request as a command.
    pub request: String,
    /// The differences without a reason.
    pub differences: Vec<Difference>,
    /// The place of the location, and its beginning.
    pub location: Option<(String, Vec<String>)>,
}

impl Comparison {
    /// Whether Serow behaves as nginx, apart from differences that are meant.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds the differences in the responses to a request.
    pub(super) fn add(&mut self, request: String, location: Option<&Directive>, differences: Vec<Difference>) {
        self.requests += 1;
        if differences.is_empty() {
            self.same += 1;
            return;
        }
        for reason in differences.iter().filter_map(|difference| difference.reason.as_ref()) {
            *self.reasons.entry(reason.clone()).or_default() += 1;
        }
        let differences: Vec<Difference> =
            differences.into_iter().filter(|difference| difference.reason.is_none()).collect();
        if differences.is_empty() {
            self.explained += 1;
            return;
        }
        let location = location.map(|directive| (directive.place.to_string(), lines_of(directive)));
        self.findings.push(Finding { request, differences, location });
    }

    /// The findings that are alike, with the number of further ones: the same parts differ in the same location.
    fn groups(&self) -> Vec<(&Finding, usize)> {
        let mut groups: Vec<(&Finding, usize)> = Vec::new();
        for finding in &self.findings {
            match groups.iter_mut().find(|(other, _)| other.is_like(finding)) {
                Some((_, further)) => *further += 1,
                None => groups.push((finding, 0)),
            }
        }
        groups.sort_by_key(|(_, further)| std::cmp::Reverse(*further));
        groups
    }
}

impl Finding {
    fn is_like(&self, other: &Self) -> bool {
        let parts = |finding: &Self| -> Vec<(String, String)> {
            let kind = |value: &str| value.split(' ').next().unwrap_or_default().to_owned();
            let of_status = |difference: &Difference| match difference.part.as_str() {
                "status" => format!("{} {}", kind(&difference.nginx), kind(&difference.serow)),
                _ => String::new(),
            };
            finding.differences.iter().map(|difference| (difference.part.clone(), of_status(difference))).collect()
        };
        let place = |finding: &Self| finding.location.as_ref().map(|(place, _)| place.clone());
        place(self) == place(other) && parts(self) == parts(other)
    }
}

/// The beginning of a location as it was written.
fn lines_of(directive: &Directive) -> Vec<String> {
    let mut lines = vec![format!("{} {{", directive.quoted())];
    let inner = directive.children().iter().filter(|inner| !matches!(inner.name(), "location" | "listen"));
    for inner in inner.clone().take(MAX_LINES) {
        let end = if inner.block.is_some() { " { … }" } else { ";" };
        lines.push(format!("    {}{end}", inner.quoted()));
    }
    if inner.count() > MAX_LINES {
        lines.push("    …".to_owned());
    }
    lines.push("}".to_owned());
    lines
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.notes.is_empty() {
            writeln!(formatter, "Other than in the configuration:")?;
            self.notes.iter().try_for_each(|note| writeln!(formatter, "  {note}"))?;
            writeln!(formatter)?;
        }
        if !self.refused.is_empty() {
            writeln!(formatter, "Left out, since this nginx refuses it:")?;
            self.refused.iter().try_for_each(|line| writeln!(formatter, "  {line}"))?;
            writeln!(formatter)?;
        }
        if !self.findings.is_empty() {
            writeln!(formatter, "Differences without a known reason:")?;
            for (finding, further) in self.groups() {
                write_finding(formatter, finding, further)?;
            }
            writeln!(formatter)?;
        }
        if !self.reasons.is_empty() {
            writeln!(formatter, "Differences with a known reason:")?;
            let mut reasons: Vec<_> = self.reasons.iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            reasons.iter().try_for_each(|(reason, count)| writeln!(formatter, "  {count:>5}  {reason}"))?;
            writeln!(formatter)?;
        }
        write!(
            formatter,
            "{} requests: {} responses are the same, {} differ for a known reason, {} differ without a known reason.",
            self.requests,
            self.same,
            self.explained,
            self.findings.len()
        )?;
        if self.left_out > 0 {
            write!(formatter, " {} further requests were left out.", self.left_out)?;
        }
        writeln!(formatter)
    }
}

fn write_finding(formatter: &mut fmt::Formatter<'_>, finding: &Finding, further: usize) -> fmt::Result {
    writeln!(formatter, "  {}", finding.request)?;
    for difference in &finding.differences {
        writeln!(formatter, "      {}: nginx {}, Serow {}", difference.part, difference.nginx, difference.serow)?;
    }
    if let Some((place, lines)) = &finding.location {
        writeln!(formatter, "      {place}")?;
        lines.iter().try_for_each(|line| writeln!(formatter, "        {line}"))?;
    }
    if further > 0 {
        writeln!(formatter, "      {further} more requests for this location differ in the same way")?;
    }
    Ok(())
}

/// Enough of a location to recognise it.
const MAX_LINES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(reason: Option<&'static str>) -> Difference {
        let reason = reason.map(Cow::Borrowed);
        Difference { part: "status".to_owned(), nginx: "200".to_owned(), serow: "404".to_owned(), reason }
    }

    #[test]
    fn a_request_counts_as_explained_only_if_all_its_differences_are() {
        let mut comparison = Comparison::default();
        comparison.add("a".to_owned(), None, Vec::new());
        comparison.add("b".to_owned(), None, vec![difference(Some("meant"))]);
        assert!(comparison.is_same());
        comparison.add("c".to_owned(), None, vec![difference(Some("meant")), difference(None)]);
        comparison.add("d".to_owned(), None, vec![difference(None)]);
        assert!(!comparison.is_same());
        assert_eq!(
            (comparison.requests, comparison.same, comparison.explained, comparison.findings.len()),
            (4, 1, 1, 2)
        );
        let text = comparison.to_string();
        assert!(
            text.contains("2  meant") && text.contains("1 more request") && text.contains("2 differ without"),
            "{text}"
        );
    }
}
