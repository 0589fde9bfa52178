//! The remarks of the import's report that explain a difference.

use std::collections::HashMap;

use regex::bytes::RegexBuilder;

use super::{
    super::{printed::Printed, requests::Request, sites::Location},
    Difference,
};
use serow_import::report::{Outcome, Report};
use serow_nginx_syntax::directive::Directive;

/// The remarks of a report, by the number of their directive.
#[derive(Debug, Default)]
pub(in super::super) struct Remarks {
    of_directives: HashMap<usize, Vec<Remark>>,
}

/// A remark about a directive.
#[derive(Debug)]
struct Remark {
    /// Whether the directive is not translated; otherwise it differs.
    is_lost: bool,
    why: String,
}

impl Remarks {
    /// The remarks of a report about the configuration that was printed.
    pub(in super::super) fn of(report: &Report, printed: &Printed) -> Self {
        let mut remarks = Self::default();
        for line in &report.lines {
            let (is_lost, why) = match &line.outcome {
                Outcome::Lost(why) => (true, why.clone()),
                Outcome::Differs(why) => (false, why.clone()),
                Outcome::Translated | Outcome::NoLine(_) => continue,
            };
            if let Some(number) = printed.directive_of(line.place.line as usize) {
                remarks.of_directives.entry(number).or_default().push(Remark { is_lost, why });
            }
        }
        remarks
    }

    /// The first remark about a directive that decides about the part of responses that differs, as a line of the report.
    ///
    /// `locations` are the one that gets the request, and those of the same server that it leads to. `status` is Serow's.
    pub(in super::super) fn reason(
        &self,
        difference: &Difference,
        request: &Request,
        status: u16,
        locations: &[&Location<'_>],
    ) -> Option<String> {
        let own = || {
            let numbered = locations.iter().enumerate();
            numbered.flat_map(|(number, location)| location.around.iter().rev().map(move |block| (number, block)))
        };
        if matches!(difference.part.as_str(), "status" | "response")
            && let Some(refusal) = ["501", "403"].into_iter().find(|status| difference.serow.starts_with(status))
        {
            let step = |directive: &Directive, remark: &Remark| remark.is_lost && STEPS.contains(&directive.name());
            let any = |_: &Directive, remark: &Remark| remark.is_lost && refusal == "501";
            let lost = own().find_map(|(_, block)| self.find(block, &step));
            let lost = lost.or_else(|| own().find_map(|(_, block)| self.find(block, &any)));
            // A location whose expression Serow cannot say keeps more paths than its own.
            let lost = lost.or_else(|| {
                let servers = own().filter(|(_, block)| refusal == "501" && block.name() == "server");
                servers.into_iter().find_map(|(_, server)| self.of_locations(server))
            });
            if lost.is_some() {
                return lost;
            }
        }
        own().find_map(|(number, block)| {
            // The path is another one in the locations that the request leads to.
            let path = (number == 0).then(|| request.path());
            self.find(block, &|directive, _| {
                concerns(directive, &difference.part) && acts(directive, difference, path, status)
            })
        })
    }

    /// The first location in a block that is not translated.
    fn of_locations(&self, block: &Directive) -> Option<String> {
        let mut locations = block.children().iter().filter(|inner| inner.name() == "location");
        locations.find_map(|location| {
            let own = self.of_directives.get(&location.number).into_iter().flatten().find(|remark| remark.is_lost);
            let own = own.map(|remark| said(location, remark));
            own.or_else(|| self.of_locations(location))
        })
    }

    /// The first remark about a block and the directives in it, but not about those of blocks that have requests of their own.
    fn find(&self, block: &Directive, is_right: &impl Fn(&Directive, &Remark) -> bool) -> Option<String> {
        let own = self.of_directives.get(&block.number).into_iter().flatten();
        if let Some(remark) = own.into_iter().find(|remark| is_right(block, remark)) {
            return Some(said(block, remark));
        }
        let inner = block.children().iter().filter(|inner| !matches!(inner.name(), "server" | "location"));
        inner.into_iter().find_map(|inner| self.find(inner, is_right))
    }
}

/// A remark, as the reason for a difference.
fn said(directive: &Directive, remark: &Remark) -> String {
    let outcome = if remark.is_lost { "is not translated" } else { "differs" };
    format!("the report says: {} {outcome}: {}", directive.quoted(), remark.why)
}

/// Whether a directive decides about a part of responses, or of the requests that origins get.
fn concerns(directive: &Directive, part: &str) -> bool {
    let names = |name: &str| directive.word(0).is_some_and(|word| word.eq_ignore_ascii_case(name));
    match (part.strip_prefix("origin: "), directive.name()) {
        // Its hosts have another server, or none.
        (_, "server_name") => true,
        (Some(_), "proxy_pass_request_headers") => true,
        (Some("method"), "proxy_method") | (Some("length"), "proxy_pass_request_body") => true,
        (Some("host"), "proxy_set_header" | "grpc_set_header") => names("host"),
        (Some("target" | "server" | "method" | "length" | "protocol"), name) => STEPS.contains(&name),
        (Some(field), "proxy_set_header" | "grpc_set_header" | "fastcgi_param" | "uwsgi_param" | "scgi_param") => {
            names(field)
        }
        (Some("SCRIPT_NAME" | "SCRIPT_FILENAME" | "PATH_INFO" | "QUERY_STRING" | "DOCUMENT_ROOT"), name) => {
            STEPS.contains(&name)
        }
        (Some(_), _) => false,
        (None, name) => match part {
            // nginx sends no parts of responses that it changes.
            "status" if matches!(name, "sub_filter" | "max_ranges") => true,
            // A decision of another server that is cached.
            "origin" if name == "proxy_cache" => true,
            "status" | "response" | "body" | "location" | "origin" => STEPS.contains(&name),
            "cache-control" | "expires" => name == "expires" || name == "add_header" && names(part),
            // A page for folders without an index file has fields of its own.
            _ if name == "index" => directive.texts().any(|page| page.starts_with('/')),
            field => matches!(name, "add_header" | "more_set_headers") && names(field),
        },
    }
}

/// Whether a directive acts on a request with this path, as far as its own words tell: on one that it does not act on, it is
/// not the reason for a difference.
fn acts(directive: &Directive, difference: &Difference, path: Option<&str>, status: u16) -> bool {
    let own = status.to_string();
    let is_one = |word: &str| difference.nginx.starts_with(word) || difference.serow.starts_with(word) || own == word;
    let is_error = || {
        let starts = [&difference.nginx, &difference.serow, &own].map(|value| value.starts_with(['4', '5']));
        starts.contains(&true)
    };
    match directive.name() {
        "rewrite" => match (directive.word(0), path) {
            (Some(pattern), Some(path)) => matches(pattern, path),
            _ => true,
        },
        "return" if difference.part == "status" => match directive.word(0) {
            Some(word) if word.parse::<u16>().is_ok() => is_one(word),
            _ => is_one("302"),
        },
        "error_page" => directive.texts().any(is_one),
        "index" if !matches!(difference.part.as_str(), "status" | "body") => is_error(),
        "proxy_redirect" => difference.part == "location",
        "sub_filter" | "max_ranges" => difference.nginx == "200" && difference.serow == "206",
        "limit_except" | "allow" | "deny" | "satisfy" | "internal" | "proxy_intercept_errors" => is_error(),
        _ => true,
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let built = RegexBuilder::new(pattern).unicode(false).build();
    // Those that only nginx understands may match.
    built.map_or(true, |expression| expression.is_match(path.as_bytes()))
}

/// The directives that decide which response a request gets.
const STEPS: &[&str] = &[
    "alias",
    "allow",
    "auth_request",
    "break",
    "default_type",
    "deny",
    "error_page",
    "fastcgi_pass",
    "fastcgi_split_path_info",
    "grpc_pass",
    "if",
    "index",
    "internal",
    "limit_except",
    "location",
    "proxy_intercept_errors",
    "proxy_pass",
    "proxy_redirect",
    "return",
    "rewrite",
    "root",
    "satisfy",
    "scgi_pass",
    "set",
    "try_files",
    "uwsgi_pass",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{memory, sites};
    use serow_import::report::Line;

    fn difference(part: &str, serow: &str) -> Difference {
        Difference { part: part.to_owned(), nginx: "200".to_owned(), serow: serow.to_owned(), reason: None }
    }

    #[test]
    fn a_remark_explains_differences_of_its_own_location_and_subject() {
        let directives =
            memory::directives("http { server { location /a { js_content x; } location /b { add_header X $y; } } }");
        let printed = Printed::of(&directives, &|_, _| None);
        let line = |number: usize, outcome: Outcome| {
            let line = printed.lines.iter().position(|line| *line == Some(number)).expect("it is printed") + 1;
            let mut place = directives[0].place.clone();
            place.line = u32::try_from(line).expect("it is short");
            Line { place, directive: String::new(), outcome, is_inside: false }
        };
        let sites = sites::of(&directives);
        let location = |path: &str| &sites[0].locations[sites[0].location_of(path)];
        let number = |path: &str| location(path).directive().expect("it has one").children()[0].number;
        let lines = vec![
            line(number("/a"), Outcome::Lost("no njs".to_owned())),
            line(number("/b"), Outcome::Differs("no $y".to_owned())),
        ];
        let remarks = Remarks::of(&Report { lines }, &printed);
        let reason = |path: &str, part: &str, serow: &str| {
            remarks.reason(&difference(part, serow), &Request::default(), 200, &[location(path)])
        };
        assert!(reason("/a", "status", "501").is_some_and(|reason| reason.contains("js_content x is not translated")));
        assert_eq!(reason("/a", "status", "404"), None);
        assert_eq!(reason("/b", "status", "501"), None);
        assert!(reason("/b", "x", "–").is_some_and(|reason| reason.ends_with("add_header X $y differs: no $y")));
        assert_eq!(reason("/b", "etag", "–"), None);
        assert_eq!(reason("/c", "x", "–"), None);
        let lines =
            vec![line(location("/b").directive().expect("it has one").number, Outcome::Lost("a look".to_owned()))];
        let remarks = Remarks::of(&Report { lines }, &printed);
        let reason =
            |serow: &str| remarks.reason(&difference("status", serow), &Request::default(), 501, &[location("/a")]);
        assert!(reason("501").is_some_and(|reason| reason.ends_with("location /b is not translated: a look")));
        assert_eq!(reason("403"), None);
    }
}
