//! Responses that say how long a cache of this server stores them: X-Accel-Expires.

use serow_message::Headers;

/// How long a response is stored by this server, whatever its other fields say to other caches. It is in the extensions of a
/// response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccelExpires {
    /// For so many seconds; with 0, it is not stored.
    Seconds(u64),
    /// Until so many seconds after 1970.
    At(u64),
}

impl AccelExpires {
    /// Reads the field of a response, if it is one number, perhaps behind an `@`. A negative number says nothing, as with
    /// nginx.
    pub(crate) fn of(headers: &Headers) -> Option<Self> {
        let mut values = headers.get_all(X_ACCEL_EXPIRES);
        let (value, None) = (values.next()?, values.next()) else { return None };
        let number = |digits: &[u8]| {
            let is_number = digits.iter().all(u8::is_ascii_digit);
            std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
        };
        match value.strip_prefix(b"@") {
            Some(time) => number(time).map(Self::At),
            None => number(value).map(Self::Seconds),
        }
    }
}

pub(crate) const X_ACCEL_EXPIRES: &str = "x-accel-expires";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_plain_number_is_a_time() {
        let cases: [(&[&str], Option<AccelExpires>); 9] = [
            (&["60"], Some(AccelExpires::Seconds(60))),
            (&["0"], Some(AccelExpires::Seconds(0))),
            (&["@1700000000"], Some(AccelExpires::At(1_700_000_000))),
            (&["-1"], None),
            (&["off"], None),
            (&[""], None),
            (&["@"], None),
            (&["18446744073709551616"], None),
            (&["1", "2"], None),
        ];
        for (values, expected) in cases {
            let mut headers = Headers::new();
            values.iter().for_each(|value| headers.append("X-Accel-Expires", value).unwrap());
            assert_eq!(AccelExpires::of(&headers), expected, "{values:?}");
        }
    }
}
