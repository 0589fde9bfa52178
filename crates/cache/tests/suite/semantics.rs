//! The crate `http-cache-semantics` as the oracle: whether a response to one request is reused for another. Where the two
//! differ, `judge` says which rule is the reason.
//!
//! The long run: `PROPTEST_CASES=1000000 cargo test --release -p serow-cache --test suite semantics`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};
use proptest::{prelude::*, sample::select};
use serow_cache::{
    CacheRules, ExchangeTimes, RequestControl, ResponseControl, Reuse, StoringRequest, Time, reuse, storable,
};
use serow_message::{Headers, Method, StatusCode};

/// One response, the request it answered, and a later request.
#[derive(Clone, Debug)]
struct Case {
    status: u16,
    /// Fields of the response.
    response: Vec<(&'static str, String)>,
    first: Vec<(&'static str, &'static str)>,
    second: Vec<(&'static str, &'static str)>,
    /// Seconds between the response and the second request.
    later: u64,
}

const RECEIVED: u64 = 1_700_000_000;

fn date(seconds_before: u64) -> String {
    Time::from_seconds(RECEIVED - seconds_before).to_date()
}

/// Directives of responses, several of them.
fn response_control() -> impl Strategy<Value = Option<String>> {
    let directive = select(vec![
        "max-age=0",
        "max-age=10",
        "max-age=100",
        "max-age=x",
        "max-age=\"10\"",
        "s-maxage=10",
        "s-maxage=0",
        "public",
        "private",
        "private=\"x-a\"",
        "no-store",
        "no-cache",
        "no-cache=\"x-a\"",
        "must-revalidate",
        "proxy-revalidate",
        "must-understand",
        "immutable",
        "stale-while-revalidate=20",
        "unknown=\"max-age=100\"",
    ]);
    prop::option::weighted(0.9, prop::collection::vec(directive, 1..4).prop_map(|list| list.join(", ")))
}

fn request_control() -> impl Strategy<Value = Option<&'static str>> {
    let values = vec![
        "no-cache",
        "no-store",
        "max-age=0",
        "max-age=5",
        "max-stale",
        "max-stale=5",
        "max-stale=50",
        "min-fresh=5",
        "only-if-cached",
        "max-stale=50, max-age=15",
        "x=y",
    ];
    prop::option::weighted(0.5, select(values))
}

fn case() -> impl Strategy<Value = Case> {
    let status = select(vec![200_u16, 203, 204, 301, 302, 404, 410, 429, 500, 206, 304]);
    let dates = (prop::option::of(0_u64..30), prop::option::of(0_u64..300_000), prop::option::of(-20_i64..60));
    let fields = (response_control(), dates, prop::option::weighted(0.2, 0_u64..30), any::<[bool; 3]>());
    let vary = prop::option::weighted(0.3, select(vec!["x-b", "X-B, x-c", "*", "x-b, *"]));
    let requests = (prop::bool::weighted(0.2), request_control(), request_control());
    let selecting = select(vec![None, Some("1"), Some("2")]);
    (status, fields, vary, requests, [selecting.clone(), selecting], 0_u64..130).prop_map(
        |(status, (control, (made, modified, expires), age, flags), vary, requests, selecting, later)| {
            let mut response = Vec::new();
            response.extend(control.map(|value| ("cache-control", value)));
            response.extend(made.map(|before| ("date", date(before))));
            response.extend(modified.map(|before| ("last-modified", date(before))));
            response.extend(expires.map(|after| ("expires", expiry(after))));
            response.extend(age.map(|age| ("age", age.to_string())));
            let [has_etag, has_cookie, has_pragma] = flags;
            response.extend(has_etag.then(|| ("etag", "\"a\"".to_owned())));
            response.extend((has_cookie && later % 4 == 0).then(|| ("set-cookie", "a=b".to_owned())));
            response.extend((has_pragma && later % 5 == 0).then(|| ("pragma", "no-cache".to_owned())));
            response.extend(vary.map(|value| ("vary", value.to_owned())));
            let (has_credentials, first_control, second_control) = requests;
            let request = |control: Option<&'static str>, selecting: Option<&'static str>| {
                let credentials = has_credentials.then_some(("authorization", "Basic x"));
                let control = control.map(|value| ("cache-control", value));
                [credentials, control, selecting.map(|value| ("x-b", value))].into_iter().flatten().collect()
            };
            let [first, second] = selecting;
            Case {
                status,
                response,
                first: request(first_control, first),
                second: request(second_control, second),
                later,
            }
        },
    )
}

fn expiry(after: i64) -> String {
    Time::from_seconds(RECEIVED.checked_add_signed(after).unwrap()).to_date()
}

fn headers<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Headers {
    let mut headers = Headers::new();
    fields.into_iter().for_each(|(name, value)| headers.append(name, value).unwrap());
    headers
}

/// Whether the response is reused for the second request, as this crate says.
fn ours(case: &Case) -> bool {
    let response = headers(case.response.iter().map(|(name, value)| (*name, value.as_str())));
    let (first, second) = (headers(case.first.iter().copied()), headers(case.second.iter().copied()));
    let request = StoringRequest {
        method: &Method::GET,
        headers: &first,
        has_credentials: first.contains("authorization"),
        no_store: RequestControl::of(&first).no_store,
        set_fields: &[],
    };
    let received = Time::from_seconds(RECEIVED);
    let exchange = ExchangeTimes { sent: received, received };
    let status = StatusCode::from_u16(case.status).unwrap();
    let Ok((stored, _)) = storable(request, status, &response, &CacheRules::default(), exchange) else { return false };
    let now = Time::from_seconds(RECEIVED + case.later);
    let outcome = reuse(&stored, &RequestControl::of(&second), &CacheRules::default(), now);
    stored.variant.matches(&second) && matches!(outcome, Reuse::Send | Reuse::SendAndValidate)
}

/// The same, as the oracle says.
fn oracle(case: &Case) -> bool {
    let request = |fields: &[(&'static str, &'static str)]| {
        let builder = http::Request::get("http://a/").header("host", "a");
        fields.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value)).body(()).unwrap()
    };
    let builder = http::Response::builder().status(case.status);
    let response = case.response.iter().fold(builder, |builder, (name, value)| builder.header(*name, value));
    let response = response.body(()).unwrap();
    let received = UNIX_EPOCH + Duration::from_secs(RECEIVED);
    let policy = CachePolicy::new_options(&request(&case.first), &response, received, CacheOptions::default());
    let now: SystemTime = received + Duration::from_secs(case.later);
    policy.is_storable() && matches!(policy.before_request(&request(&case.second), now), BeforeRequest::Fresh(_))
}

/// Why the two may differ about a case, in this direction; `None` if nothing explains it.
fn judge(case: &Case, is_ours: bool) -> Option<&'static str> {
    let field = |name: &str| case.response.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str());
    let text = field("cache-control").unwrap_or_default();
    let second = case.second.iter().find(|(name, _)| *name == "cache-control").map_or("", |(_, value)| value);
    let response = headers(case.response.iter().map(|(name, value)| (*name, value.as_str())));
    let control = ResponseControl::of(&response);
    let reasons = if is_ours {
        vec![
            (text.contains("=\"x-a\""), "RFC 9111 §5.2.2.4, §5.2.2.7: a list of fields restricts only these"),
            (control.must_understand, "RFC 9111 §5.2.2.3: no-store is ignored beside must-understand"),
            (
                case.status == 429 || case.status == 500,
                "RFC 9111 §3: explicit freshness is enough for any final status",
            ),
            (text.contains("stale-while-revalidate"), "RFC 5861 §3"),
            (control.immutable && second.contains("max-age"), "RFC 8246 §2.1: reloads do not validate"),
            (field("pragma").is_some(), "RFC 9111 §5.4: Pragma means nothing in responses"),
            (control.proxy_revalidate, "RFC 9111 §5.2.2.8: it is about stale responses only"),
            (
                second.contains("max-stale"),
                "RFC 9111 §5.2.1.2: by no more than the number of seconds, which includes it",
            ),
            (text.contains("max-age=\"10\""), "RFC 9111 §5.2: the oracle keeps quotation marks at times"),
            (text.contains("unknown"), "the oracle splits quoted strings at commas"),
            (is_at_a_tenth(case), "RFC 9111 §4.2.2: the oracle rounds a tenth of the time down to seconds"),
        ]
    } else {
        vec![
            (field("set-cookie").is_some(), "a response that sets a cookie is for one client"),
            (field("date").is_some(), "RFC 9111 §4.2.3: the apparent age counts, too"),
            (has_conflict(text), "RFC 9111 §4.2.1: conflicting directives make a response stale"),
            (
                control.forbids_stale(),
                "RFC 9111 §4.2.4, §5.2.2.10: s-maxage and proxy-revalidate forbid stale responses",
            ),
            (control.immutable, "RFC 8246 says nothing about lifetimes"),
            (
                second.contains("max-stale"),
                "a response that was stale when it came and cannot be validated is not stored",
            ),
            (field("last-modified").is_some(), "RFC 9111 §4.2.2: the heuristic lifetime is limited; both round it"),
            (field("vary").is_some_and(|value| value.contains('*')), "RFC 9111 §4.1: a star in a list is a star"),
            (field("age").is_some(), "a response that was stale when it came is of no use"),
            (text.contains("unknown"), "the oracle reads a quoted string, and takes the conflict for must-revalidate"),
        ]
    };
    reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
}

/// Whether it is the last second of the heuristic lifetime.
fn is_at_a_tenth(case: &Case) -> bool {
    let modified = case.response.iter().find(|(name, _)| *name == "last-modified");
    let modified = modified.and_then(|(_, value)| httpdate::parse_http_date(value).ok());
    let modified = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    modified.is_some_and(|modified| RECEIVED.saturating_sub(modified.as_secs()) / 10 == case.later)
}

/// Whether a directive occurs with different numbers.
fn has_conflict(text: &str) -> bool {
    let ages: Vec<_> = text.split(", ").filter(|part| part.starts_with("max-age")).collect();
    let shared: Vec<_> = text.split(", ").filter(|part| part.starts_with("s-maxage")).collect();
    [ages, shared].iter().any(|list| list.iter().any(|part| *part != list[0]))
}

proptest! {
    #[test]
    fn the_same_responses_are_reused(case in case()) {
        let (ours, oracle) = (ours(&case), oracle(&case));
        prop_assert!(
            ours == oracle || judge(&case, ours).is_some(),
            "ours: {ours}, the oracle: {oracle}, without a reason"
        );
    }

    /// Where no rule differs, nothing may: the reasons above must not hide other differences.
    #[test]
    fn plain_responses_are_reused_alike(
        lifetime in 0_u64..40,
        later in 0_u64..40,
        is_private in any::<bool>(),
        control in request_control(),
    ) {
        let private = if is_private { ", private" } else { "" };
        let response = vec![("cache-control", format!("max-age={lifetime}{private}")), ("etag", "\"a\"".to_owned())];
        let second: Vec<_> = control.map(|value| ("cache-control", value)).into_iter().collect();
        let is_boundary = second.iter().any(|(_, value)| value.contains("max-stale"));
        let case = Case { status: 200, response, first: Vec::new(), second, later };
        if is_boundary {
            return Ok(());
        }
        prop_assert_eq!(ours(&case), oracle(&case));
    }
}
