//! Rules about the fields of requests and responses.

use std::future::{Future, ready};

use serow_message::{Handler, InvalidHeader, Request, Response};
use serow_router::{
    Action, ChangeProblem, FixedResponse, HeaderChanges, HeaderOperation, HeaderRule, Route, Router, RuleSubject, Site,
};
use serow_variables::Scope;

use crate::support::{Answer, answer, attempt, handle, redirect, request, respond, site};

/// A rule as it is written: `set X: value`, with `?` behind the name for "only if absent" and `@404` for a status.
fn rule(text: &str) -> HeaderRule {
    let (operation, rest) = text.split_once(' ').unwrap();
    let (name, value) = rest.split_once(": ").unwrap_or((rest, ""));
    let (value, statuses) = value.split_once(" @").unwrap_or((value, ""));
    HeaderRule {
        operation: match operation {
            "set" => HeaderOperation::Set,
            "add" => HeaderOperation::Add,
            _ => HeaderOperation::Remove,
        },
        name: name.trim_end_matches('?').to_owned(),
        value: value.to_owned(),
        if_absent: name.ends_with('?'),
        statuses: statuses.parse().map(|status| status..=status).into_iter().collect(),
    }
}

fn rules(texts: &[&str], subject: RuleSubject, scope: &Scope) -> HeaderChanges {
    let rules: Vec<_> = texts.iter().map(|text| rule(text)).collect();
    HeaderChanges::of_rules(&rules, subject, scope).unwrap()
}

fn responses(texts: &[&str]) -> HeaderChanges {
    rules(texts, RuleSubject::Response, &Scope::default())
}

/// The values of a field, in their order.
fn values(answer: &Answer, name: &str) -> String {
    let values = answer.headers.get_all(name).map(|value| String::from_utf8_lossy(value).into_owned());
    values.collect::<Vec<_>>().join("|")
}

#[test]
fn rules_follow_the_fields_that_are_set_and_those_of_the_site_come_first() {
    let set = HeaderChanges::new([("X-Set", "site"), ("X-Both", "site")]).unwrap();
    let of_site = set.followed_by(&responses(&["add X-Both: rule", "add X-List: site", "set X-If?: site"]));
    let of_route = HeaderChanges::new([("X-Both", "route")]).unwrap();
    let of_route = of_route.followed_by(&responses(&["add X-List: route", "set X-If?: route", "remove X-Handler"]));
    let missing = responses(&["add X-List: missing @404", "add X-List: found @200"]);
    let routes = vec![
        Route { headers: of_route.clone(), ..handle("/handle", "h") },
        Route { headers: of_route, ..attempt("/attempt", "a") },
        Route { headers: missing.clone(), ..respond("/fixed", 404) },
        Route { headers: missing, ..redirect("/redirect", "/x", 302) },
    ];
    let router = Router::new(vec![Site { headers: of_site, ..Site::new(routes) }]).unwrap();
    // Path, then X-Set, X-Both, X-List, X-If.
    for (path, expected) in [
        ("/handle", ["site", "route|rule", "site|route", "site"]),
        ("/fixed", ["site", "site|rule", "site|missing", "site"]),
        ("/redirect", ["site", "site|rule", "site", "site"]),
        ("/nothing", ["site", "site|rule", "site", "site"]),
    ] {
        let answer = answer(&router, request("GET", path, None));
        let fields = ["x-set", "x-both", "x-list", "x-if"].map(|name| values(&answer, name));
        assert_eq!(fields, expected, "{path}");
        assert_eq!(answer.field("x-handler"), None);
    }
}

#[test]
fn variables_of_rules_never_begin_another_line_and_empty_values_add_nothing() {
    let any = "/*".parse().unwrap();
    let scope = Scope::default().of_stars(1);
    let texts = ["set X-Path: [$1]", "add X-Path: $arg_none", "set X-Old: $arg_none", "set X-Fixed: $$1"];
    let fixed = FixedResponse::new(200).unwrap();
    let headers = responses(&["set X-Old: old"]).followed_by(&rules(&texts, RuleSubject::Response, &scope));
    let route = Route { headers, ..Route::new(any, Action::<Echo>::Respond(fixed)) };
    let router = Router::new(vec![Site::new(vec![route])]).unwrap();
    let answer = answer(&router, request("GET", "/a%0D%0AX-Evil:%201%7Fb", None));
    assert_eq!(values(&answer, "x-path"), "[aX-Evil: 1b]");
    assert_eq!((values(&answer, "x-fixed"), values(&answer, "x-old")), ("$1".to_owned(), String::new()));
    assert_eq!(answer.field("x-evil"), None);
}

/// Answers with the fields of the request.
#[derive(Clone, Debug)]
struct Echo;

impl Handler for Echo {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        let fields = request.headers.iter().filter(|(name, _)| name.starts_with(b"x-") || name.starts_with(b"X-"));
        let lines = fields.map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()));
        ready(Response::text(lines.collect::<Vec<_>>().join("&")))
    }
}

#[test]
fn handlers_get_the_fields_that_site_and_route_set_in_requests() {
    let requests = |texts: &[&str]| rules(texts, RuleSubject::Request, &Scope::default().of_stars(1));
    let of_site =
        rules(&["set X-Site: $host", "add X-List: site", "remove X-Secret"], RuleSubject::Request, &Scope::default());
    let user = Route {
        request_headers: requests(&["set X-User: $1", "add X-List: $http_x_list", "set X-Given?: no"]),
        ..Route::new("/u/*".parse().unwrap(), Action::Handle(Echo))
    };
    let all = Route::new("/*".parse().unwrap(), Action::Handle(Echo));
    // A route that leaves the request to others does not change it.
    let tried = Route::new("/*".parse().unwrap(), Action::Try(Echo));
    let first = Site { request_headers: of_site, ..site(&["a.example"], vec![tried, user, all]) };
    let other = site(&["b.example"], vec![Route::new("/*".parse().unwrap(), Action::Handle(Echo))]);
    let router = Router::new(vec![first, other]).unwrap();
    let ask = |target: &str, host: &str| {
        let mut request = request("GET", target, Some(host));
        for (name, value) in [("X-Secret", "s"), ("X-List", "client"), ("X-Given", "yes")] {
            request.headers.append(name, value).unwrap();
        }
        answer(&router, request).text
    };
    assert_eq!(ask("/x", "b.example"), "X-Secret=s&X-List=client&X-Given=yes");
    assert_eq!(ask("/x", "a.example"), "X-List=client&X-Given=yes&X-Site=a.example&X-List=site");
    assert_eq!(
        ask("/u/1%0D%0AX-Evil:%202", "a.example"),
        "X-List=client&X-Given=yes&X-Site=a.example&X-List=site&X-User=1X-Evil: 2&X-List=client"
    );
}

#[test]
fn rules_that_cannot_be_followed() {
    use ChangeProblem::{Client, Framing, Host, NoValue, Status};
    let (request, response) = (RuleSubject::Request, RuleSubject::Response);
    for (text, subject, expected) in [
        ("set X A: x", response, Err(ChangeProblem::Text(InvalidHeader::Name))),
        ("add X: a\r\nb", response, Err(ChangeProblem::Text(InvalidHeader::Value))),
        ("set X:  ", response, Err(NoValue)),
        ("add X", request, Err(NoValue)),
        ("remove content-length", response, Err(Framing)),
        ("add Transfer-Encoding: gzip", response, Err(Framing)),
        ("set Connection: close", request, Err(Framing)),
        ("set TE: trailers", request, Err(Framing)),
        ("remove Expect", request, Err(Framing)),
        ("set Host: a", request, Err(Host)),
        ("set Host: a", response, Ok(())),
        ("set X-Real-IP: $remote_addr", request, Err(Client)),
        ("set x-forwarded-proto: https", request, Err(Client)),
        ("remove Forwarded", request, Err(Client)),
        ("set X: a @404", request, Err(Status)),
        ("set X: a @404", response, Ok(())),
        ("add Link: </a>; rel=preload", response, Ok(())),
        ("remove Accept-Encoding", request, Ok(())),
    ] {
        let rules = [rule("set X-Before: x"), rule(text)];
        let read = HeaderChanges::of_rules(&rules, subject, &Scope::default()).map(drop);
        assert_eq!(read, expected.map_err(|problem| (1, problem)), "{text}");
    }
    let unknown = HeaderChanges::of_rules(&[rule("set X: $1")], response, &Scope::default()).unwrap_err();
    assert!(matches!(unknown, (0, ChangeProblem::Variable(_))), "{unknown:?}");
}
