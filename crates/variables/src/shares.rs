//! Shares of texts, as nginx's `split_clients` distributes them.

use crate::{murmur::murmur2, text::Text};

/// Shares of all texts, and the result for each. The hash of a text decides, so it always has the same result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Each with the number below which hashes are in it, or in one before it.
    results: Vec<(u32, Text)>,
    /// Hundredths of a per cent.
    sum: u32,
}

impl Shares {
    /// Adds a share such as `12.5%`.
    ///
    /// # Errors
    ///
    /// A share that is not written as one, and a sum over 100 %.
    pub(crate) fn push(&mut self, share: &str, result: Text) -> Result<(), String> {
        let part = hundredths(share).ok_or_else(|| {
            format!("{share:?} is not a share: write it as in \"12.5%\", with two decimal places at most")
        })?;
        self.sum += part;
        if self.sum > WHOLE {
            return Err("with this share, the sum is more than 100 %: reduce one of them".to_owned());
        }
        // nginx rounds each share down.
        let width = u64::from(part) * u64::from(u32::MAX) / u64::from(WHOLE);
        let before = self.results.last().map_or(0, |(end, _)| *end);
        self.results.push((before + width as u32, result));
        Ok(())
    }

    pub(crate) fn results(&self) -> impl Iterator<Item = &Text> {
        self.results.iter().map(|(_, result)| result)
    }

    /// The result for a text, unless no share has it.
    pub(crate) fn find(&self, text: &[u8]) -> Option<&Text> {
        let hash = murmur2(text);
        self.results.iter().find(|(end, _)| hash < *end).map(|(_, result)| result)
    }
}

/// The hundredths of a per cent of `12.5%`: from 1 to 10,000.
fn hundredths(share: &str) -> Option<u32> {
    let number = share.strip_suffix('%')?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = [whole, decimals].iter().all(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if !are_digits || !(1..=6).contains(&number.len()) || decimals.len() > 2 {
        return None;
    }
    let hundredths = format!("{whole}{decimals:0<2}").parse().ok()?;
    (1..=WHOLE).contains(&hundredths).then_some(hundredths)
}

/// 100 %, in hundredths of a per cent.
const WHOLE: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    fn shares(written: &[&str]) -> Result<Shares, String> {
        let mut shares = Shares::default();
        for (number, share) in written.iter().enumerate() {
            shares.push(share, Text::parse(&number.to_string(), &Scope::default()).unwrap())?;
        }
        Ok(shares)
    }

    #[test]
    fn texts_have_the_shares_that_nginx_gives_them() {
        // As nginx 1.22.1 has distributed them.
        let shares = shares(&["10%", "0.5%", "33.33%", "20.1%"]).unwrap();
        for (text, expected) in [
            ("", Some("0")),
            ("a", Some("3")),
            ("ab", Some("1")),
            ("abc", Some("0")),
            ("abcd", Some("2")),
            ("127.0.0.1", None),
        ] {
            assert_eq!(shares.find(text.as_bytes()).and_then(Text::constant), expected, "{text}");
        }
    }

    #[test]
    fn shares_have_two_decimal_places_and_a_sum() {
        for share in ["12.5%", "0.01%", "100%", "100.00%", "7.%", "007%", ".5%"] {
            assert!(shares(&[share]).is_ok(), "{share}");
        }
        for share in ["12", "%", "0%", "0.00%", "0.001%", "-1%", "+1%", "100.01%", "1000%", "1,5%", " 1%", ".%"] {
            assert!(shares(&[share]).is_err(), "{share}");
        }
        assert!(shares(&["50%", "50%"]).is_ok());
        assert!(shares(&["50%", "50.01%"]).unwrap_err().contains("100 %"));
        // Each is rounded down, also 100 %.
        let whole = shares(&["100%"]).unwrap();
        assert_eq!(whole.results[0].0, u32::MAX);
    }
}
