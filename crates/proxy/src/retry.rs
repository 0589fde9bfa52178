//! When another attempt is made.

mod budget;

use serow_message::{Method, StatusCode};

pub(crate) use self::budget::Budget;
use crate::{
    attempt_error::{AttemptError, Cause, Processed},
    settings::RetrySettings,
};

/// An attempt without the response that the client should get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedAttempt<'a> {
    pub(crate) fault: Fault,
    /// Whether the server may have begun to process the request.
    pub(crate) processed: Processed,
    pub(crate) method: &'a Method,
    pub(crate) body: UnsentBody,
    /// Attempts that were made, with this one.
    pub(crate) made: u32,
}

/// The fault of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No connection could be opened.
    Connect,
    /// The server refused the request unprocessed (RFC 9113 §8.7): because it restarts or is at its limit.
    Refused,
    /// The response did not begin in time.
    TimedOut,
    /// The connection was lost before the response, or the response was invalid.
    ConnectionLost,
    /// A response with this status.
    Status(StatusCode),
    /// The client's; another server would do no better.
    Request,
}

/// How much of a request's body can be sent another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnsentBody {
    /// All of it, if there is a body.
    Whole,
    /// Part of it was read and is not kept.
    Partial,
}

/// How to go on after such an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Retry, if possible at another server. It counts for the tries and for the budget.
    RetryElsewhere,
    /// The same once more, over a connection of its own: that of before had been closed while it was idle. It counts
    /// for nothing, since no server is worse for it.
    RetryOnNewConnection,
    /// The client gets this response, or an error.
    GiveUp,
}

impl RetrySettings {
    /// How to go on after this attempt.
    ///
    /// A request that no server has seen may always be retried. One that a server may have begun to process is retried
    /// only if its method is idempotent. A body that was partly read cannot be sent again.
    pub(crate) fn decide(&self, attempt: &FailedAttempt<'_>) -> Decision {
        let repeatable = attempt.processed == Processed::Never || self.all_methods || attempt.method.is_idempotent();
        if !repeatable || attempt.body == UnsentBody::Partial {
            return Decision::GiveUp;
        }
        let wanted = match attempt.fault {
            Fault::ConnectionLost if attempt.processed == Processed::Unlikely => return Decision::RetryOnNewConnection,
            Fault::Connect => self.on_connect,
            Fault::Refused => true,
            Fault::TimedOut => self.on_timeout,
            Fault::ConnectionLost => self.on_broken,
            Fault::Status(status) => self.on_status.contains(&status),
            Fault::Request => false,
        };
        if wanted && attempt.made < self.tries { Decision::RetryElsewhere } else { Decision::GiveUp }
    }
}

impl From<&AttemptError> for Fault {
    fn from(failure: &AttemptError) -> Self {
        match failure.cause {
            Cause::Dial(_) | Cause::Busy(_) => Self::Connect,
            Cause::TimedOut(_) => Self::TimedOut,
            Cause::Reset(_) if failure.processed == Processed::Never => Self::Refused,
            Cause::ConnectionLost(_) | Cause::Reset(_) => Self::ConnectionLost,
            Cause::Body(_) | Cause::Unsendable(_) => Self::Request,
        }
    }
}

#[cfg(test)]
mod tests {
    use Decision::{GiveUp, RetryElsewhere, RetryOnNewConnection};

    use super::*;

    const FAULTS: [Fault; 7] = [
        Fault::Connect,
        Fault::Refused,
        Fault::TimedOut,
        Fault::ConnectionLost,
        Fault::Status(StatusCode::SERVICE_UNAVAILABLE),
        Fault::Status(StatusCode::INTERNAL_SERVER_ERROR),
        Fault::Request,
    ];

    /// The decision after each fault of [`FAULTS`], for a complete body and remaining tries.
    const TABLE: [(&str, Processed, [Decision; 7]); 6] = [
        (
            "GET",
            Processed::Never,
            [RetryElsewhere, RetryElsewhere, RetryElsewhere, RetryElsewhere, RetryElsewhere, GiveUp, GiveUp],
        ),
        (
            "GET",
            Processed::Unlikely,
            [RetryElsewhere, RetryElsewhere, RetryElsewhere, RetryOnNewConnection, RetryElsewhere, GiveUp, GiveUp],
        ),
        (
            "GET",
            Processed::Maybe,
            [RetryElsewhere, RetryElsewhere, RetryElsewhere, RetryElsewhere, RetryElsewhere, GiveUp, GiveUp],
        ),
        (
            "POST",
            Processed::Never,
            [RetryElsewhere, RetryElsewhere, RetryElsewhere, RetryElsewhere, RetryElsewhere, GiveUp, GiveUp],
        ),
        ("POST", Processed::Unlikely, [GiveUp; 7]),
        ("POST", Processed::Maybe, [GiveUp; 7]),
    ];

    fn everything() -> RetrySettings {
        RetrySettings { on_status: vec![StatusCode::SERVICE_UNAVAILABLE], ..RetrySettings::default() }
    }

    /// Each fault with each word, method, body and count.
    #[test]
    fn every_fault_method_body_and_count_has_its_decision() {
        let settings = everything();
        for (method, processed, decisions) in TABLE {
            let method: Method = method.parse().unwrap();
            for (fault, expected) in FAULTS.into_iter().zip(decisions) {
                for made in 0..5 {
                    let attempt = |body| FailedAttempt { fault, processed, method: &method, body, made };
                    let within = if made < 3 || expected == RetryOnNewConnection { expected } else { GiveUp };
                    assert_eq!(
                        settings.decide(&attempt(UnsentBody::Whole)),
                        within,
                        "{:?}",
                        attempt(UnsentBody::Whole)
                    );
                    assert_eq!(
                        settings.decide(&attempt(UnsentBody::Partial)),
                        GiveUp,
                        "{:?}",
                        attempt(UnsentBody::Partial)
                    );
                }
            }
        }
    }

    #[test]
    fn each_setting_allows_its_fault_only() {
        type SwitchOff = fn(&mut RetrySettings);
        let words: [(Fault, SwitchOff); 4] = [
            (Fault::Connect, |settings| settings.on_connect = false),
            (Fault::TimedOut, |settings| settings.on_timeout = false),
            (Fault::ConnectionLost, |settings| settings.on_broken = false),
            (Fault::Status(StatusCode::SERVICE_UNAVAILABLE), |settings| settings.on_status.clear()),
        ];
        for (switched_off, switch_off) in words {
            let mut settings = everything();
            switch_off(&mut settings);
            for fault in FAULTS.into_iter().take(5) {
                let attempt = |processed| FailedAttempt {
                    fault,
                    processed,
                    method: &Method::GET,
                    body: UnsentBody::Whole,
                    made: 1,
                };
                let expected = if fault == switched_off { GiveUp } else { RetryElsewhere };
                assert_eq!(settings.decide(&attempt(Processed::Maybe)), expected, "{fault:?}");
                // A connection that was closed while it was idle is nobody's fault.
                let expected = if fault == Fault::ConnectionLost { RetryOnNewConnection } else { expected };
                assert_eq!(settings.decide(&attempt(Processed::Unlikely)), expected, "{fault:?}");
            }
        }
    }

    #[test]
    fn only_idempotent_methods_are_retried() {
        let cases = [
            ("GET", RetryElsewhere),
            ("HEAD", RetryElsewhere),
            ("OPTIONS", RetryElsewhere),
            ("TRACE", RetryElsewhere),
            ("PUT", RetryElsewhere),
            ("DELETE", RetryElsewhere),
            ("POST", GiveUp),
            ("PATCH", GiveUp),
            ("CONNECT", GiveUp),
            ("get", GiveUp),
            ("PURGE", GiveUp),
        ];
        for (method, expected) in cases {
            let method: Method = method.parse().unwrap();
            let attempt = |processed, fault| FailedAttempt {
                fault,
                processed,
                method: &method,
                body: UnsentBody::Whole,
                made: 1,
            };
            let lost = attempt(Processed::Maybe, Fault::ConnectionLost);
            assert_eq!(everything().decide(&lost), expected, "{method}");
            let all = RetrySettings { all_methods: true, ..everything() };
            assert_eq!(all.decide(&lost), RetryElsewhere, "{method}");
            assert_eq!(all.decide(&attempt(Processed::Maybe, Fault::Request)), GiveUp, "{method}");
        }
    }
    #[test]
    fn errors_map_to_faults() {
        use serow_client::{ClientError, DialError};
        let time = std::time::Duration::from_secs(1);
        let refused = AttemptError::of_exchange(Cause::Reset("REFUSED_STREAM".to_owned()), Processed::Never);
        assert_eq!(Fault::from(&refused), Fault::Refused);
        let cases = [
            (Cause::Dial(DialError::TimedOut(time).into()), Fault::Connect),
            (Cause::Busy(time), Fault::Connect),
            (Cause::TimedOut(time), Fault::TimedOut),
            (Cause::ConnectionLost(ClientError::Closed.into()), Fault::ConnectionLost),
            (Cause::Reset("INTERNAL_ERROR".to_owned()), Fault::ConnectionLost),
            (Cause::Body("gone".into()), Fault::Request),
            (Cause::Unsendable("too long".to_owned()), Fault::Request),
        ];
        for (cause, expected) in cases {
            let failure = AttemptError::of_exchange(cause, Processed::Maybe);
            assert_eq!(Fault::from(&failure), expected, "{failure:?}");
        }
    }
}
