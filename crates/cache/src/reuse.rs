//! Whether a stored response is used for a request (RFC 9111 §4).

use crate::{
    delta::Delta, request_control::RequestControl, reuse_rules::ValidationRule, rules::CacheRules, stored::StoredHead,
    time::Time,
};

/// The use of a stored response that a request matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// It is sent.
    Send,
    /// It is sent although it is stale, and validated meanwhile (RFC 5861 §3).
    SendAndValidate,
    /// It is validated first, since it is stale.
    ValidateStale,
    /// It is validated first, since the request wants it.
    ValidateRequested,
}

/// Decides what a request with these directives gets of a stored response.
#[must_use]
pub fn reuse(stored: &StoredHead, control: &RequestControl, rules: &CacheRules, now: Time) -> Reuse {
    let freshness = &stored.freshness;
    if control.no_cache {
        return Reuse::ValidateRequested;
    }
    if stored.reuse.validation == ValidationRule::Always {
        return Reuse::ValidateStale;
    }
    let is_fresh = freshness.is_fresh(now);
    // RFC 8246 §2.1: reloads, which have `max-age=0`, do not validate it; `no-cache` does.
    let ignores_age = stored.reuse.is_immutable && is_fresh;
    let is_too_old = control.max_age.span().is_some_and(|most| freshness.age(now) > most);
    if is_too_old && !ignores_age {
        return Reuse::ValidateRequested;
    }
    if is_fresh {
        let is_fresh_enough = control.min_fresh.span().is_none_or(|least| freshness.remaining(now) >= least);
        return if is_fresh_enough { Reuse::Send } else { Reuse::ValidateRequested };
    }
    // A client that wants freshness for some time does not want a stale response.
    if stored.reuse.validation != ValidationRule::Usually || control.min_fresh != Delta::Absent {
        return Reuse::ValidateStale;
    }
    let staleness = freshness.staleness(now);
    if control.max_stale.span().is_some_and(|most| staleness <= most && control.max_stale != Delta::Invalid) {
        return Reuse::Send;
    }
    // A client that limits the age of the responses it accepts has not asked for a stale one.
    let allowed = stored.reuse.stale_while_revalidate.get().or(rules.stale_while_revalidate);
    if control.max_age == Delta::Absent && allowed.is_some_and(|most| !most.is_zero() && staleness <= most) {
        return Reuse::SendAndValidate;
    }
    Reuse::ValidateStale
}

/// Whether a stored response is sent in place of an error of the origin (RFC 5861 §4).
#[must_use]
pub fn may_replace_error(stored: &StoredHead, control: &RequestControl, rules: &CacheRules, now: Time) -> bool {
    if stored.reuse.validation == ValidationRule::Always || control.no_cache {
        return false;
    }
    if stored.freshness.is_fresh(now) {
        // The request has wanted a newer one, which there is not.
        return control.max_age == Delta::Absent && control.min_fresh == Delta::Absent;
    }
    let allowed = stored.reuse.stale_if_error.get().or(rules.stale_if_error);
    stored.reuse.validation == ValidationRule::Usually
        && allowed.is_some_and(|most| stored.freshness.staleness(now) <= most)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serow_message::{Headers, StatusCode};

    use super::*;
    use crate::{ExchangeTimes, storing};

    const START: Time = Time::from_seconds(1_700_000_000);

    fn stored(cache_control: &str) -> StoredHead {
        let mut headers = Headers::new();
        headers.append("cache-control", cache_control).unwrap();
        headers.append("etag", "\"a\"").unwrap();
        let none = Headers::new();
        let request = storing::StoringRequest {
            method: &serow_message::Method::GET,
            headers: &none,
            has_credentials: false,
            no_store: false,
            set_fields: &[],
        };
        let exchange = ExchangeTimes { sent: START, received: START };
        let head = storing::storable(request, StatusCode::OK, &headers, &CacheRules::default(), exchange);
        head.unwrap().0.into_stored()
    }

    fn control(value: &str) -> RequestControl {
        let mut headers = Headers::new();
        headers.append("cache-control", value).unwrap();
        RequestControl::of(&headers)
    }

    #[test]
    fn requests_and_what_they_get() {
        use Reuse::{Send, SendAndValidate, ValidateRequested, ValidateStale};
        let cases = [
            // §4.2
            ("max-age=60", "", 0, Send),
            ("max-age=60", "", 59, Send),
            ("max-age=60", "", 60, ValidateStale),
            // §5.2.1
            ("max-age=60", "no-cache", 0, ValidateRequested),
            ("max-age=60", "max-age=10", 10, Send),
            ("max-age=60", "max-age=10", 11, ValidateRequested),
            ("max-age=60", "max-age=x", 1, ValidateRequested),
            ("max-age=60", "max-age=100", 61, ValidateStale),
            ("max-age=60", "min-fresh=10", 50, Send),
            ("max-age=60", "min-fresh=10", 51, ValidateRequested),
            ("max-age=60", "max-stale", 1000, Send),
            ("max-age=60", "max-stale=10", 70, Send),
            ("max-age=60", "max-stale=10", 71, ValidateStale),
            ("max-age=60", "max-stale=x", 61, ValidateStale),
            ("max-age=60", "max-stale, max-age=65", 66, ValidateRequested),
            ("max-age=60", "max-stale, max-age=65", 65, Send),
            ("max-age=60", "max-stale, min-fresh=1", 65, ValidateStale),
            // §5.2.2
            ("max-age=60, must-revalidate", "max-stale", 60, ValidateStale),
            ("max-age=60, proxy-revalidate", "max-stale", 60, ValidateStale),
            ("s-maxage=60", "max-stale", 60, ValidateStale),
            ("max-age=60, no-cache", "max-stale", 0, ValidateStale),
            ("max-age=60, no-cache=\"a\"", "", 0, Send),
            // RFC 5861 §3
            ("max-age=60, stale-while-revalidate=10", "", 70, SendAndValidate),
            ("max-age=60, stale-while-revalidate=10", "", 71, ValidateStale),
            ("max-age=60, stale-while-revalidate=10", "max-age=100", 65, ValidateStale),
            ("max-age=60, stale-while-revalidate=10, must-revalidate", "", 65, ValidateStale),
            ("max-age=60, stale-while-revalidate=0", "", 60, ValidateStale),
            // RFC 8246
            ("max-age=60, immutable", "max-age=0", 5, Send),
            ("max-age=60, immutable", "no-cache", 5, ValidateRequested),
            ("max-age=60, immutable", "max-age=0", 60, ValidateRequested),
        ];
        for (response, request, seconds, expected) in cases {
            let now = START.after(Duration::from_secs(seconds));
            let found = reuse(&stored(response), &control(request), &CacheRules::default(), now);
            assert_eq!(found, expected, "{response} | {request} | {seconds}");
        }
    }

    #[test]
    fn settings_allow_stale_responses_that_do_not_forbid_it() {
        let rules = CacheRules {
            stale_while_revalidate: Some(Duration::from_secs(10)),
            stale_if_error: Some(Duration::from_secs(20)),
            ..CacheRules::default()
        };
        let now = START.after(Duration::from_secs(70));
        let none = RequestControl::default();
        for (response, expected) in [
            ("max-age=60", (Reuse::SendAndValidate, true)),
            ("max-age=60, must-revalidate", (Reuse::ValidateStale, false)),
            ("max-age=60, stale-while-revalidate=5, stale-if-error=5", (Reuse::ValidateStale, false)),
        ] {
            let stored = stored(response);
            let found = (reuse(&stored, &none, &rules, now), may_replace_error(&stored, &none, &rules, now));
            assert_eq!(found, expected, "{response}");
        }
    }

    #[test]
    fn responses_that_replace_errors() {
        // RFC 5861 §4.
        for (response, request, seconds, expected) in [
            ("max-age=60", "", 61, false),
            ("max-age=60, stale-if-error=10", "", 70, true),
            ("max-age=60, stale-if-error=10", "", 71, false),
            ("max-age=60, stale-if-error=10, must-revalidate", "", 61, false),
            ("max-age=60, stale-if-error=10, no-cache", "", 1, false),
            ("max-age=60, stale-if-error=10", "no-cache", 1, false),
            ("max-age=60, stale-if-error=10", "max-age=0", 1, false),
        ] {
            let now = START.after(Duration::from_secs(seconds));
            let found = may_replace_error(&stored(response), &control(request), &CacheRules::default(), now);
            assert_eq!(found, expected, "{response} | {request} | {seconds}");
        }
    }
}
