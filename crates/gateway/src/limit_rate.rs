//! Responses that say how fast they are sent: X-Accel-Limit-Rate.

use std::num::NonZeroU64;

use serow_message::Headers;

/// How many bytes of the response's body are sent in a second, as the application wants it. It is in the extensions of a
/// response that may name another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRate(pub NonZeroU64);

impl LimitRate {
    /// Reads the field of a response, if it is one number. With 0 and `off` there is no limit, as with nginx.
    pub(crate) fn of(headers: &Headers) -> Option<Self> {
        let mut values = headers.get_all(X_ACCEL_LIMIT_RATE);
        let (value, None) = (values.next()?, values.next()) else { return None };
        let is_number = value.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(value).ok().filter(|_| is_number)?;
        Some(Self(number.parse().ok()?))
    }
}

const X_ACCEL_LIMIT_RATE: &str = "x-accel-limit-rate";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_plain_number_is_a_rate() {
        let cases: [(&[&str], Option<u64>); 9] = [
            (&["1000"], Some(1000)),
            (&["18446744073709551615"], Some(u64::MAX)),
            (&["18446744073709551616"], None),
            (&["0"], None),
            (&["off"], None),
            (&[""], None),
            (&["+5"], None),
            (&["100k"], None),
            (&["1", "2"], None),
        ];
        for (values, expected) in cases {
            let mut headers = Headers::new();
            values.iter().for_each(|value| headers.append("X-Accel-Limit-Rate", value).unwrap());
            assert_eq!(LimitRate::of(&headers).map(|rate| rate.0.get()), expected, "{values:?}");
        }
        assert_eq!(LimitRate::of(&Headers::new()), None);
    }
}
