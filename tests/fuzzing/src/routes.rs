//! Whatever text with variables, expression and request: no value begins another line of a header, chooses the host of
//! a redirect, or becomes a tag; a path stays clean; and nothing panics.
//!
//! The input has an expression, a pattern of a value and a text with variables, a line each, and behind them a request
//! as people write it: `/path?query`, then a field on each line.

use bytes::Bytes;
use serow_message::{BodyKind, KnownHeader, Request, Response, Target};
use serow_router::{
    Action, Conditions, FixedResponse, HeaderChanges, HeaderOperation, HeaderRule, Redirect, RewriteTarget, Route,
    Routed, Router, RuleSubject, Site,
};
use serow_variables::{Expression, Letters, Scope, Text, ValuePatterns};

/// The target.
pub fn target(data: &[u8]) {
    let Ok(data) = std::str::from_utf8(data) else { return };
    let mut lines = data.lines();
    let mut line = || lines.next().unwrap_or_default();
    let (expression, pattern, text, target) = (line(), line(), line(), line());
    let Ok(target) = Target::parse(Bytes::copy_from_slice(target.as_bytes()), false) else { return };
    let mut request = Request::get("/");
    request.target = target;
    for field in lines {
        if let Some((name, value)) = field.split_once(':') {
            let _ = request.headers.append(name, value.trim());
        }
    }
    let Ok(expression) = expression.parse::<Expression>() else { return };
    let Ok(pattern) = ValuePatterns::parse(&[pattern], Letters::AnyCase) else { return };
    let scope = Scope::default().of_site("site.example").of_expression(&expression);
    let conditions = Conditions {
        path: Some(expression),
        fields: vec![("user-agent".to_owned(), pattern.clone())],
        cookies: vec![("a".to_owned(), pattern.clone())],
        arguments: vec![("a".to_owned(), pattern)],
        ..Conditions::default()
    };
    if let Ok(redirect) = Redirect::with_variables(text, 302, &scope) {
        check_redirect(text, &answer(&conditions, Action::Redirect(redirect), &request));
    }
    if let Ok(headers) = HeaderChanges::with_variables([("X-Text", text)], &scope) {
        let mut changed = answer_with(&conditions, Action::Handle(()), headers, &request);
        check_fields(&mut changed);
    }
    let rule = HeaderRule {
        operation: HeaderOperation::Add,
        name: "X-Text".to_owned(),
        value: text.to_owned(),
        if_absent: false,
        statuses: Vec::new(),
    };
    if let Ok(rules) = HeaderChanges::of_rules(&[rule], RuleSubject::Request, &scope) {
        check_request(&conditions, rules, &request);
    }
    if let Ok(parsed) = Text::parse(text, &scope)
        && parsed.constant().is_none()
        && !text.contains(['<', '>'])
        && let Ok(page) = FixedResponse::new(200).and_then(|page| page.with_text(parsed, "text/html"))
    {
        check_page(answer(&conditions, Action::Respond(page), &request));
    }
    if let Ok(rewrite) = RewriteTarget::with_variables(text, &scope) {
        check_rewrite(conditions, Action::Rewrite(rewrite), request);
    }
}

fn copy(request: &Request) -> Request {
    let mut copy = Request::get("/");
    copy.target = request.target.clone();
    copy.headers = request.headers.clone();
    copy
}

/// The answer of a route, or that of the route behind it.
fn answer(conditions: &Conditions, action: Action<()>, request: &Request) -> Response {
    answer_with(conditions, action, HeaderChanges::default(), request)
}

fn answer_with(conditions: &Conditions, action: Action<()>, headers: HeaderChanges, request: &Request) -> Response {
    let any = "/*".parse().expect("a pattern");
    let route = Route { conditions: conditions.clone(), headers, ..Route::new(any, action) };
    let behind = Route::new("/*".parse().expect("a pattern"), Action::Respond(FixedResponse::new(204).expect("one")));
    let Ok(router) = Router::new(vec![Site::new(vec![route, behind])]) else { return Response::default() };
    match router.route(&mut copy(request), |(), _| None) {
        Routed::Answer { response, .. } | Routed::Attempt { response, .. } => response,
        Routed::Handler { headers, .. } => {
            let mut response = Response::default();
            headers.apply(response.status, &mut response.headers);
            response
        }
    }
}

/// A destination on the same host stays there, whatever the client sends.
fn check_redirect(text: &str, response: &Response) {
    let Some(location) = response.headers.get(KnownHeader::Location) else { return };
    assert!(location.iter().all(|byte| matches!(byte, b'!'..=b'~')), "{text}: {}", location.escape_ascii());
    // A query that is kept is sent as it came.
    let path = location.split(|&byte| byte == b'?').next().unwrap_or_default();
    assert!(!path.iter().any(|byte| b"\"<>\\^`{|}".contains(byte)), "{text}: {}", location.escape_ascii());
    let is_path = text.starts_with('/') && !text.starts_with("//")
        || ["$uri", "$request_uri", "${uri}", "${request_uri}"].iter().any(|name| text.starts_with(name));
    if is_path {
        assert!(location.starts_with(b"/") && !location.starts_with(b"//"), "{text}: {}", location.escape_ascii());
    }
    if text.starts_with("https://site.example/") {
        assert!(location.starts_with(b"https://site.example/"), "{text}: {}", location.escape_ascii());
    }
}

fn check_fields(response: &mut Response) {
    for (name, value) in response.headers.iter() {
        assert!(name == b"X-Text" || !name.eq_ignore_ascii_case(b"x-text"));
        assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
    }
}

/// A rule adds one field to the request that a handler gets, or none.
fn check_request(conditions: &Conditions, request_headers: HeaderChanges, request: &Request) {
    let any = "/*".parse().expect("a pattern");
    let conditions = conditions.clone();
    let route = Route { conditions, request_headers, ..Route::new(any, Action::Handle(())) };
    let Ok(router) = Router::new(vec![Site::new(vec![route])]) else { return };
    let mut changed = copy(request);
    let _ = router.route(&mut changed, |(), _| None);
    assert!(changed.headers.len() <= request.headers.len() + 1);
    for (_, value) in changed.headers.iter() {
        assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
    }
}

/// A value is never a tag.
fn check_page(response: Response) {
    if response.status != 200 {
        return;
    }
    if let BodyKind::Bytes(body) = response.body.into_kind() {
        assert!(!body.iter().any(|byte| matches!(byte, b'<' | b'>')), "{}", body.escape_ascii());
    }
}

/// The outcome of a rewrite is a target with a clean path.
fn check_rewrite(conditions: Conditions, action: Action<()>, mut request: Request) {
    let route = Route { conditions, ..Route::new("/*".parse().expect("a pattern"), action) };
    let behind = Route::new("/*".parse().expect("a pattern"), Action::Handle(()));
    let Ok(router) = Router::new(vec![Site::new(vec![route, behind])]) else { return };
    let before = request.target.clone();
    if let Routed::Handler { .. } = router.route(&mut request, |(), _| None)
        && request.target != before
    {
        let path = request.target.path();
        assert!(path.starts_with('/'), "{path}");
        assert!(path.split('/').all(|name| name != ".." && name != "."), "{path}");
    }
}
