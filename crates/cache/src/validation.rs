//! Asking the origin whether a stored response is still current (RFC 9111 §4.3.1), and what its answer changes (§3.2,
//! §4.3.4, §4.3.5).

use serow_message::{Headers, KnownHeader, PackedHeaders, StatusCode, hop_by_hop};

use crate::{
    entity_tag,
    freshness::{ExchangeTimes, Freshness},
    response_control::{ResponseControl, Restriction},
    reuse_rules::ReuseRules,
    rules::CacheRules,
    stored::StoredHead,
    storing::{NotStored, StorableHead, StoringRequest, permitted_head},
    vary::Variant,
};

/// Makes of a client's request one whose response can be stored: without conditions and ranges.
pub fn make_unconditional(headers: &mut Headers) {
    make_unconditional_in_parts(headers);
    headers.remove(KnownHeader::Range);
}

/// Makes of a client's request one whose response can be stored if it is a part: without conditions. Without If-Range, it has
/// all fields (RFC 9110 §15.3.7).
pub fn make_unconditional_in_parts(headers: &mut Headers) {
    if headers.contains_any(&CONDITIONS) {
        headers.retain_known(|_, known, _| !known.is_some_and(|known| CONDITIONS.contains(&known)));
    }
}

/// Adds to a request without conditions those that validate these stored responses: the tags of all of them, and the
/// time of the one that the request matches, if it matches one (§4.3.1).
pub fn add_validators<'a>(
    headers: &mut Headers,
    stored: impl IntoIterator<Item = &'a StoredHead>,
    selected: Option<&StoredHead>,
) {
    let tags: Vec<_> = stored.into_iter().filter_map(StoredHead::etag).take(MAX_TAGS).collect();
    if !tags.is_empty() {
        // They were valid fields before.
        let _ = headers.append(KnownHeader::IfNoneMatch, tags.join(&b", "[..]));
    }
    if let Some(modified) = selected.and_then(StoredHead::last_modified) {
        let _ = headers.append(KnownHeader::IfModifiedSince, modified);
    }
}

/// Which of the stored responses that were validated, the newest first, a 304 with these headers is about (§4.3.4).
#[must_use]
pub fn validated<'a>(stored: impl IntoIterator<Item = &'a StoredHead>, not_modified: &Headers) -> Option<usize> {
    let mut stored = stored.into_iter();
    if let Some(tag) = not_modified.get(KnownHeader::Etag) {
        return stored.position(|head| match entity_tag::is_strong(tag) {
            true => head.etag().is_some_and(|etag| entity_tag::equal_strongly(etag, tag)),
            false => head.etag().is_some_and(|etag| entity_tag::equal_weakly(etag, tag)),
        });
    }
    if let Some(modified) = not_modified.get(KnownHeader::LastModified) {
        return stored.position(|head| head.last_modified() == Some(modified));
    }
    // Without a validator, it can only be about the only one that was asked about.
    stored.next()?;
    stored.next().is_none().then_some(0)
}

/// The head of a stored response after a 304, or a 200 to HEAD (§3.2).
#[derive(Debug)]
pub struct UpdatedHead {
    /// The head that the client gets for whose request it came: with fields that only this client may get.
    pub own: StoredHead,
    /// The head to store in place of the one before; or why that is not for others any more.
    pub stored: Result<StorableHead, NotStored>,
}

/// The head of a stored response after a 304, or a 200 to HEAD, with these headers, to this request (§3.2). Whether the
/// result is stored is decided as for a new response: it may have become private, or depend on other fields of requests.
#[must_use]
pub fn updated(
    before: &StoredHead,
    request: StoringRequest<'_>,
    headers: &Headers,
    rules: &CacheRules,
    exchange: ExchangeTimes,
) -> UpdatedHead {
    // With the age of the new response, not of what was stored.
    let mut merged = merged(before, headers, exchange);
    let stored = permitted_head(request, before.status, &merged, rules, exchange);
    let stored = stored.map(|head| head.also_varying_on(&before.variant, request.headers));
    let control = ResponseControl::of(&merged);
    let (freshness, _) = Freshness::of(before.status, &merged, &control, rules, exchange);
    merged.remove(KnownHeader::Age);
    // A field that has become one for single clients: that of the stored response was another client's.
    let is_restricted = |name: &[u8]| {
        [&control.private, &control.no_cache]
            .iter()
            .any(|restriction| matches!(restriction, Restriction::Fields(_)) && restriction.covers(name))
    };
    merged.retain_known(|name, _, _| !is_restricted(name) || headers.contains(name));
    let (headers, reuse) = (PackedHeaders::new(&merged), ReuseRules::of(&control));
    let own = StoredHead { status: before.status, headers, variant: Variant::default(), freshness, reuse };
    UpdatedHead { own, stored }
}

/// The fields of a stored response in place of which those of a newer response without content have come.
fn merged(before: &StoredHead, headers: &Headers, exchange: ExchangeTimes) -> Headers {
    let named = hop_by_hop::Named::of(headers);
    let is_taken = |name: &[u8], known: Option<KnownHeader>| {
        let is_kept = known.is_some_and(|known| NOT_UPDATED.contains(&known))
            || NOT_UPDATED_EXTENSIONS.iter().any(|field| name.eq_ignore_ascii_case(field.as_bytes()));
        !is_kept && !named.covers(name, known)
    };
    let mut merged = Headers::new();
    for (name, known, value) in before.headers.iter_known() {
        if !(is_taken(name, known) && headers.contains(name)) {
            append(&mut merged, (name, known, value));
        }
    }
    let new = headers.iter_known().filter(|(name, known, _)| is_taken(name, *known));
    new.for_each(|field| append(&mut merged, field));
    if !headers.contains(KnownHeader::Date) {
        // RFC 9110 §6.6.1: it was made now, as far as is known.
        let _ = merged.insert(KnownHeader::Date, exchange.received.to_date());
    }
    merged
}

/// The verdict of a response to HEAD about a stored response to GET whose content has this length (§4.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadVerdict {
    /// It is the same: its head is updated.
    Same,
    /// It is another one: what is stored is outdated.
    Changed,
    /// Nothing.
    Unrelated,
}

/// Decides what a response to HEAD says about a stored response.
#[must_use]
pub fn head_verdict(stored: &StoredHead, length: u64, status: StatusCode, headers: &Headers) -> HeadVerdict {
    if status != StatusCode::OK || stored.status != StatusCode::OK {
        return HeadVerdict::Unrelated;
    }
    // It could be about any version.
    if !headers.contains_any(&[KnownHeader::ContentLength, KnownHeader::Etag, KnownHeader::LastModified]) {
        return HeadVerdict::Unrelated;
    }
    let is_length_same = headers
        .get(KnownHeader::ContentLength)
        .is_none_or(|value| serow_message::content::decimal(length, &mut [0; 20]) == value);
    let is_same = |name: KnownHeader| headers.get(name).is_none_or(|value| stored.headers.get(name) == Some(value));
    match is_length_same && is_same(KnownHeader::Etag) && is_same(KnownHeader::LastModified) {
        true => HeadVerdict::Same,
        false => HeadVerdict::Changed,
    }
}

fn append(headers: &mut Headers, (name, known, value): (&[u8], Option<KnownHeader>, &[u8])) {
    // It was a valid field before.
    let _ = match known {
        Some(known) => headers.append(known, value),
        None => headers.append(name, value),
    };
}

/// Conditions of a client: a response to them is not one for others.
const CONDITIONS: [KnownHeader; 3] = [KnownHeader::IfNoneMatch, KnownHeader::IfModifiedSince, KnownHeader::IfRange];

/// Fields that describe the stored content, or an exchange, and are not taken from a response without content (§3.2).
const NOT_UPDATED: [KnownHeader; 7] = [
    KnownHeader::ContentLength,
    KnownHeader::ContentEncoding,
    KnownHeader::ContentRange,
    KnownHeader::ProxyAuthenticate,
    KnownHeader::ProxyAuthorization,
    KnownHeader::Trailer,
    KnownHeader::Etag,
];

/// The same, of fields that are not well-known.
const NOT_UPDATED_EXTENSIONS: [&str; 3] = ["content-md5", "authentication-info", "proxy-authentication-info"];

/// Tags in one request: a URI with many variants would make a head that servers refuse.
const MAX_TAGS: usize = 16;

#[cfg(test)]
#[allow(clippy::type_complexity, reason = "tables of cases")]
mod tests {
    use serow_message::Method;

    use super::*;
    use crate::{
        Time,
        stored::tests::{headers, stored},
    };

    const LATER: Time = Time::from_seconds(1_700_001_000);
    const EARLY: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    #[test]
    fn all_tags_are_asked_about() {
        // RFC 9111 §4.3.1.
        let stored = [
            stored(200, &[("etag", "\"a\""), ("last-modified", EARLY)]),
            stored(200, &[("etag", "W/\"b\"")]),
            stored(200, &[]),
        ];
        let mut request = headers(&[("if-none-match", "\"client\""), ("range", "bytes=0-1"), ("accept", "*/*")]);
        make_unconditional(&mut request);
        add_validators(&mut request, &stored, stored.first());
        let expected = [("accept", "*/*"), ("if-none-match", "\"a\", W/\"b\""), ("if-modified-since", EARLY)];
        assert_eq!(request, headers(&expected));
    }

    #[test]
    fn requests_for_parts_keep_their_range() {
        let mut request = headers(&[("if-range", "\"a\""), ("range", "bytes=0-1"), ("if-none-match", "\"b\"")]);
        make_unconditional_in_parts(&mut request);
        assert_eq!(request, headers(&[("range", "bytes=0-1")]));
    }

    #[test]
    fn responses_that_a_304_is_about() {
        // RFC 9111 §4.3.4.
        let several = [
            stored(200, &[("etag", "W/\"a\""), ("last-modified", EARLY)]),
            stored(200, &[("etag", "\"a\"")]),
            stored(200, &[("etag", "\"b\"")]),
        ];
        for (fields, expected) in [
            (vec![("etag", "\"a\"")], Some(1)),
            (vec![("etag", "W/\"a\"")], Some(0)),
            (vec![("etag", "W/\"b\"")], Some(2)),
            (vec![("etag", "\"c\"")], None),
            (vec![("last-modified", EARLY)], Some(0)),
            (vec![], None),
        ] {
            assert_eq!(validated(&several, &headers(&fields)), expected, "{fields:?}");
        }
        assert_eq!(validated(&several[..1], &headers(&[])), Some(0));
        assert_eq!(validated(&several[..0], &headers(&[])), None);
    }

    /// The outcome of a 304 with these fields for a stored response, where the request has these and credentials.
    fn update(
        before: &[(&str, &str)],
        request: &[(&str, &str)],
        has_credentials: bool,
        answer: &[(&str, &str)],
    ) -> UpdatedHead {
        let (before, request) = (stored(200, before), headers(request));
        let exchange = ExchangeTimes { sent: LATER, received: LATER };
        let request = StoringRequest {
            method: &Method::GET,
            headers: &request,
            has_credentials,
            no_store: false,
            set_fields: &[],
        };
        updated(&before, request, &headers(answer), &CacheRules::default(), exchange)
    }

    #[test]
    fn a_304_stores_only_what_might_be_stored_as_a_new_response() {
        use NotStored::{Credentials, NoStore, Private, SetCookie, Vary};
        let before = [("etag", "\"a\""), ("cache-control", "max-age=1"), ("vary", "x-a")];
        let cookie = ("cookie", "session=1");
        let cases: [(&[(&str, &str)], bool, &[(&str, &str)], Option<NotStored>); 17] = [
            (&[], false, &[], None),
            (&[cookie], false, &[("cache-control", "max-age=60")], None),
            (&[cookie], false, &[("cache-control", "private, max-age=60")], Some(Private)),
            (&[], false, &[("cache-control", "private")], Some(Private)),
            (&[], false, &[("cache-control", "private=\"x-a\", max-age=60")], None),
            (&[], false, &[("cache-control", "no-store")], Some(NoStore)),
            (&[], false, &[("cdn-cache-control", "no-store")], Some(NoStore)),
            (&[], false, &[("vary", "*")], Some(Vary)),
            (&[], false, &[("vary", "x-a, *")], Some(Vary)),
            (&[], false, &[("set-cookie", "a=b")], Some(SetCookie)),
            (&[], false, &[("set-cookie", "a=b"), ("cache-control", "private=\"set-cookie\", max-age=1")], None),
            // RFC 9111 §3.5.
            (&[], true, &[("cache-control", "max-age=60")], Some(Credentials)),
            (&[], true, &[], Some(Credentials)),
            (&[], true, &[("cache-control", "max-age=60, public")], None),
            (&[], true, &[("cache-control", "private")], Some(Private)),
            // Nothing names a lifetime, and it may be the page of one session; the reason of the response comes first.
            (&[cookie], false, &[("cache-control", "no-cache")], Some(Credentials)),
            (&[cookie], false, &[("cache-control", "no-cache"), ("vary", "*")], Some(Vary)),
        ];
        for (request, has_credentials, answer, expected) in cases {
            let found = update(&before, request, has_credentials, answer).stored.err();
            assert_eq!(found, expected, "{request:?} {has_credentials} {answer:?}");
        }
    }

    #[test]
    fn a_304_changes_the_requests_that_a_stored_response_matches() {
        let before = [("etag", "\"a\""), ("cache-control", "max-age=1")];
        let answer = [("vary", "cookie"), ("cache-control", "max-age=60")];
        let found = update(&before, &[("cookie", "a=1")], false, &answer).stored.unwrap();
        assert!(found.variant.matches(&headers(&[("cookie", "a=1")])) && !found.variant.matches(&headers(&[])));
        assert_eq!(found.headers.to_headers().get("vary"), Some(&b"cookie"[..]));
        // The content was selected by a field that the 304 does not name any more.
        let of_language = headers(&[("accept-language", "de")]);
        let variant = Variant::of(&headers(&[("vary", "accept-language")]), &of_language).unwrap();
        let before = StoredHead { variant, ..stored(200, &before) };
        let (answer, exchange) = (headers(&answer), ExchangeTimes { sent: LATER, received: LATER });
        let (method, set_fields) = (&Method::GET, &[][..]);
        let request =
            StoringRequest { method, headers: &of_language, has_credentials: false, no_store: false, set_fields };
        let found = updated(&before, request, &answer, &CacheRules::default(), exchange).stored.unwrap();
        assert!(found.variant.matches(&of_language) && !found.variant.matches(&headers(&[])));
    }

    #[test]
    fn fields_for_one_client_reach_that_client_and_are_not_stored() {
        let before = [("etag", "\"a\""), ("cache-control", "max-age=1"), ("x-user", "nobody")];
        let control = ("cache-control", "max-age=60, private=\"x-user\", no-cache=\"set-cookie\"");
        let answer = [control, ("x-user", "alice"), ("set-cookie", "a=b"), ("age", "7")];
        let UpdatedHead { own, stored } = update(&before, &[], false, &answer);
        let (own_fields, fields) = (own.headers.to_headers(), stored.unwrap().headers.to_headers());
        assert_eq!(own_fields.get("x-user"), Some(&b"alice"[..]));
        assert!(own_fields.contains("set-cookie") && !own_fields.contains("age"));
        assert!(!fields.contains("x-user") && !fields.contains("set-cookie") && !fields.contains("age"));
        assert_eq!(own.freshness.age(LATER).as_secs(), 7);
    }

    #[test]
    fn fields_that_a_304_updates_and_keeps() {
        // RFC 9111 §3.2.
        let before = [("etag", "\"a\""), ("content-encoding", "gzip"), ("x-a", "1"), ("x-b", "1"), ("date", EARLY)];
        let answer = [
            ("x-a", "2"),
            ("x-a", "3"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("content-length", "0"),
            ("content-encoding", "br"),
            ("cache-control", "max-age=7"),
        ];
        let after = update(&before, &[], false, &answer).stored.unwrap();
        let mut expected = headers(&[
            ("etag", "\"a\""),
            ("content-encoding", "gzip"),
            ("x-b", "1"),
            ("x-a", "2"),
            ("x-a", "3"),
            ("cache-control", "max-age=7"),
        ]);
        expected.append("date", LATER.to_date()).unwrap();
        assert_eq!(after.headers.to_headers(), expected);
        assert_eq!((after.freshness.lifetime().as_secs(), after.freshness.received), (7, LATER));
    }

    #[test]
    fn responses_to_head_and_what_they_say() {
        use HeadVerdict::{Changed, Same, Unrelated};
        // RFC 9111 §4.3.5.
        let before = stored(200, &[("etag", "\"a\""), ("last-modified", EARLY)]);
        for (status, fields, expected) in [
            // It could be about any version.
            (200, vec![], Unrelated),
            (200, vec![("content-length", "10")], Same),
            (200, vec![("etag", "\"a\""), ("last-modified", EARLY), ("content-length", "10")], Same),
            (200, vec![("content-length", "11")], Changed),
            (200, vec![("etag", "\"b\"")], Changed),
            (200, vec![("last-modified", "Mon, 07 Nov 1994 08:49:37 GMT")], Changed),
            (404, vec![("etag", "\"b\"")], Unrelated),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(head_verdict(&before, 10, status, &headers(&fields)), expected, "{status} {fields:?}");
        }
    }
}
