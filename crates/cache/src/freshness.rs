//! How long a response is fresh, and how old it is (RFC 9111 §4.2).

use std::time::Duration;

use serow_message::{Headers, KnownHeader, StatusCode};

use crate::{
    delta::{self, Delta},
    response_control::ResponseControl,
    rules::CacheRules,
    time::{Span, Time},
};

/// The times of a response, from which its age and freshness follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// The freshness lifetime.
    pub(crate) lifetime: Span,
    /// The age when the response arrived: `corrected_initial_age` (§4.2.3).
    pub(crate) initial_age: Span,
    /// When it arrived.
    pub received: Time,
}

/// Where a freshness lifetime comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeSource {
    /// The response says it.
    Explicit,
    /// The settings say it, for responses that do not.
    Default,
    /// A part of the time since it was modified last (§4.2.2).
    Heuristic,
    /// Nothing says it: the response is not fresh at any time.
    None,
}

/// When a request was sent and its response received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeTimes {
    /// When the request was sent.
    pub sent: Time,
    /// When the head of the response arrived.
    pub received: Time,
}

impl Freshness {
    /// The times of a response with this status and these headers, and where its lifetime comes from.
    #[must_use]
    pub fn of(
        status: StatusCode,
        headers: &Headers,
        control: &ResponseControl,
        rules: &CacheRules,
        exchange: ExchangeTimes,
    ) -> (Self, LifetimeSource) {
        // RFC 9110 §6.6.1: without Date, the time at which it was received.
        let date = headers.get(KnownHeader::Date).and_then(Time::parse_date).unwrap_or(exchange.received);
        let (lifetime, source) = lifetime(status, headers, control, rules, date);
        // A response whose age is not known is considered stale, as one with invalid times is (§4.2.1).
        let age = age_value(headers);
        let (lifetime, age) = age.map_or((Duration::ZERO, Duration::ZERO), |age| (lifetime, age));
        // §4.2.3. Date is cut to a second: the response may have been made at its end.
        let apparent_age = exchange.received.since(date.end_of_second());
        let corrected_age = age + exchange.received.since(exchange.sent);
        let initial_age = apparent_age.max(corrected_age).into();
        (Self { lifetime: lifetime.into(), initial_age, received: exchange.received }, source)
    }

    /// The freshness lifetime (§4.2.1).
    #[must_use]
    pub fn lifetime(&self) -> Duration {
        self.lifetime.into()
    }

    /// The age at this moment (`current_age`, §4.2.3).
    #[must_use]
    pub fn age(&self, now: Time) -> Duration {
        Duration::from_millis(self.age_millis(now))
    }

    fn age_millis(&self, now: Time) -> u64 {
        self.initial_age.as_millis().saturating_add(now.as_millis().saturating_sub(self.received.as_millis()))
    }

    /// Whether it is fresh (§4.2).
    #[must_use]
    pub fn is_fresh(&self, now: Time) -> bool {
        self.lifetime.as_millis() > self.age_millis(now)
    }

    /// For how long it will be fresh; nothing if it is stale.
    #[must_use]
    pub fn remaining(&self, now: Time) -> Duration {
        self.lifetime().saturating_sub(self.age(now))
    }

    /// For how long it has been stale; nothing if it is fresh.
    #[must_use]
    pub fn staleness(&self, now: Time) -> Duration {
        self.age(now).saturating_sub(self.lifetime())
    }

    /// The remaining freshness in seconds; negative for a stale response, as Cache-Status has it (RFC 9211 §2.5).
    #[must_use]
    pub fn ttl(&self, now: Time) -> i64 {
        let (lifetime, age) = (self.lifetime.as_millis(), self.age_millis(now));
        let seconds = |millis: u64| i64::try_from(millis / 1000).unwrap_or(i64::MAX);
        if lifetime > age { seconds(lifetime - age) } else { -seconds(age - lifetime) }
    }

    /// The same, fresh no longer: what HEAD responses do to it (§4.3.5).
    #[must_use]
    pub fn outdated(self) -> Self {
        Self { lifetime: Span::default(), ..self }
    }

    /// The same, stale from this moment on at the latest: what purges do to it.
    #[must_use]
    pub fn until(self, end: Time) -> Self {
        Self { lifetime: self.lifetime.min(self.age(end).into()), ..self }
    }
}

/// The lifetime (§4.2.1): that of s-maxage, max-age or Expires, else that of the settings, else a guess.
fn lifetime(
    status: StatusCode,
    headers: &Headers,
    control: &ResponseControl,
    rules: &CacheRules,
    date: Time,
) -> (Duration, LifetimeSource) {
    if let Some(span) = control.s_maxage.span().or(control.max_age.span()) {
        return (span, LifetimeSource::Explicit);
    }
    if !control.is_targeted && headers.contains(KnownHeader::Expires) {
        return (expires(headers).map_or(Duration::ZERO, |expires| expires.since(date)), LifetimeSource::Explicit);
    }
    if let Some(span) = rules.default_lifetime(status) {
        return (span, LifetimeSource::Default);
    }
    if !control.public && !is_heuristically_cacheable(status) {
        return (Duration::ZERO, LifetimeSource::None);
    }
    match headers.get(KnownHeader::LastModified).and_then(Time::parse_date) {
        Some(modified) => ((date.since(modified) / HEURISTIC_PART).min(MAX_HEURISTIC), LifetimeSource::Heuristic),
        None => (Duration::ZERO, LifetimeSource::None),
    }
}

/// §5.3: an invalid date is one in the past; §4.2.1: so are several that differ.
fn expires(headers: &Headers) -> Option<Time> {
    let mut values = headers.get_all(KnownHeader::Expires);
    let first = values.next()?;
    let expires = Time::parse_date(first)?;
    values.all(|other| other == first).then_some(expires)
}

/// The value of Age (§5.1): the first member of a list. `None` if the field says nothing that can be relied on;
/// ignoring it, as §5.1 suggests, would take a response of any age for a new one.
fn age_value(headers: &Headers) -> Option<Duration> {
    let mut values = headers.get_all(KnownHeader::Age);
    let Some(value) = values.next() else { return Some(Duration::ZERO) };
    let mut members = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let first = members.next().unwrap_or_default();
    let seconds = delta::parse(first)?;
    // Two caches that each have added their age, on two lines or as the same number, have not added them up.
    let is_clear = values.next().is_none() && members.all(|other| other != first);
    is_clear.then(|| Duration::from_secs(seconds.into()))
}

/// RFC 9110 §15.1: statuses whose responses may be stored although they do not say so.
#[must_use]
pub fn is_heuristically_cacheable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200 | 203 | 204 | 206 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

impl ResponseControl {
    /// Whether it names a lifetime.
    pub(crate) fn has_lifetime(&self) -> bool {
        self.max_age != Delta::Absent || self.s_maxage != Delta::Absent
    }
}

/// §4.2.2: a typical setting of the part of the time since the last modification is 10 %.
const HEURISTIC_PART: u32 = 10;

/// The longest lifetime that is guessed: a day, as in Squid's and Traffic Server's defaults, so that an error of the
/// guess does not last for months.
const MAX_HEURISTIC: Duration = Duration::from_secs(86_400);

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVED: Time = Time::from_seconds(1_700_000_000);

    fn freshness(status: u16, fields: &[(&str, String)]) -> Freshness {
        with_source(status, fields).0
    }

    fn with_source(status: u16, fields: &[(&str, String)]) -> (Freshness, LifetimeSource) {
        let mut headers = Headers::new();
        fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
        let exchange = ExchangeTimes { sent: RECEIVED, received: RECEIVED };
        let status = StatusCode::from_u16(status).unwrap();
        Freshness::of(status, &headers, &ResponseControl::of(&headers), &CacheRules::default(), exchange)
    }

    fn date(offset: i64) -> String {
        Time::from_seconds(1_700_000_000_u64.checked_add_signed(offset).unwrap()).to_date()
    }

    #[test]
    fn lifetimes_and_where_they_come_from() {
        use LifetimeSource::{Explicit, Heuristic, None};
        let text = str::to_owned;
        // RFC 9111 §4.2.1, §4.2.2, §5.2.2.10, §5.3.
        let cases = [
            (200, vec![("cache-control", text("max-age=60"))], 60, Explicit),
            (200, vec![("cache-control", text("max-age=60, s-maxage=7"))], 7, Explicit),
            (200, vec![("cache-control", text("max-age=60")), ("expires", date(5))], 60, Explicit),
            (200, vec![("expires", date(5)), ("date", date(0))], 5, Explicit),
            (200, vec![("expires", date(5)), ("date", date(-5))], 10, Explicit),
            (200, vec![("expires", date(5))], 5, Explicit),
            (200, vec![("expires", text("0"))], 0, Explicit),
            (200, vec![("expires", date(5)), ("expires", date(6))], 0, Explicit),
            (200, vec![("expires", date(5)), ("expires", date(5))], 5, Explicit),
            (200, vec![("cache-control", text("max-age=x")), ("expires", date(5))], 0, Explicit),
            (302, vec![("cache-control", text("max-age=60"))], 60, Explicit),
            (200, vec![("last-modified", date(-1000)), ("date", date(0))], 100, Heuristic),
            (200, vec![("last-modified", date(-100_000_000))], 86_400, Heuristic),
            (200, vec![("last-modified", date(1000))], 0, Heuristic),
            (302, vec![("last-modified", date(-1000))], 0, None),
            (302, vec![("last-modified", date(-1000)), ("cache-control", text("public"))], 100, Heuristic),
            (200, vec![], 0, None),
            // RFC 9213 §2.1: Expires does not count beside a field for this cache.
            (200, vec![("cdn-cache-control", text("public")), ("expires", date(5))], 0, None),
        ];
        for (status, fields, seconds, source) in cases {
            let (found, found_source) = with_source(status, &fields);
            assert_eq!((found.lifetime().as_secs(), found_source), (seconds, source), "{status} {fields:?}");
        }
    }

    #[test]
    fn ages_at_arrival() {
        let text = str::to_owned;
        // RFC 9111 §4.2.3, §5.1. The second of Date is cut off: a response is never taken for older than it is.
        for (fields, seconds) in [
            (vec![], 0),
            (vec![("age", text("10"))], 10),
            (vec![("date", date(-10))], 9),
            (vec![("date", date(-10)), ("age", text("30"))], 30),
            (vec![("date", date(100))], 0),
            (vec![("age", text("10, 20"))], 10),
        ] {
            assert_eq!(freshness(200, &fields).age(RECEIVED).as_secs(), seconds, "{fields:?}");
        }
        for age in ["x", "-1", "1.5", "7200;a=b", "", "0, 0"] {
            let found = freshness(200, &[("cache-control", text("max-age=60")), ("age", text(age))]);
            assert!(!found.is_fresh(RECEIVED), "{age}");
        }
        let fields = [("cache-control", text("max-age=60")), ("age", text("0")), ("age", text("0"))];
        assert!(!freshness(200, &fields).is_fresh(RECEIVED));
    }

    #[test]
    fn the_time_that_the_request_took_counts() {
        let exchange = ExchangeTimes { sent: RECEIVED, received: RECEIVED.after(Duration::from_secs(4)) };
        let control = ResponseControl { max_age: Delta::Seconds(10), ..ResponseControl::default() };
        let (found, _) = Freshness::of(StatusCode::OK, &Headers::new(), &control, &CacheRules::default(), exchange);
        let at = |seconds| RECEIVED.after(Duration::from_secs(seconds));
        assert_eq!(found.age(at(4)).as_secs(), 4);
        assert!(found.is_fresh(at(9)) && !found.is_fresh(at(10)));
        assert_eq!((found.ttl(at(7)), found.ttl(at(13))), (3, -3));
        assert_eq!(found.staleness(at(13)), Duration::from_secs(3));
        assert!(!found.outdated().is_fresh(at(4)));
    }
}
