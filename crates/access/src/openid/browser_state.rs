//! The secret and the state that bind a login to the browser that began it.
//!
//! A short-lived cookie has a secret of this browser. The state that travels by way of the provider is encrypted and
//! names the browser, the time and where to go afterwards; nonce and code verifier (RFC 7636) are derived from the
//! secret of the browser and the number of the login. So any number of logins can be under way in the windows of a
//! browser, with one cookie of constant size; and neither a state nor a code is of use in another browser.

use aws_lc_rs::constant_time::verify_slices_are_equal;

use crate::openid::{return_path::ReturnPath, seal::Seal};

/// The secret of a browser, for the time of its logins.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BrowserSecret {
    secret: [u8; 32],
    begin: u64,
}

/// A login that a browser has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Makes it different from all others.
    number: [u8; 16],
    begin: u64,
    pub(crate) return_path: ReturnPath,
}

/// The texts of a login that the provider receives and gives back.
pub(crate) struct AttemptTexts {
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
}

/// The error of a callback's state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StateError {
    /// It was not made here, or with other settings.
    Forged,
    /// The browser took too long, or a clock was set.
    Expired(ReturnPath),
    /// Another browser began the login, or this one has finished it already.
    OtherBrowser(ReturnPath),
}

impl BrowserSecret {
    /// A new secret from random bytes.
    pub(crate) fn new(secret: [u8; 32], now: u64) -> Self {
        Self { secret, begin: now }
    }

    /// The secret in this value of a cookie.
    pub(crate) fn open(seal: &Seal, value: &str, now: u64) -> Option<Self> {
        let bytes = seal.open(BROWSER, value)?;
        let (secret, begin) = bytes.split_first_chunk::<32>()?;
        let begin = u64::from_be_bytes(begin.try_into().ok()?);
        is_recent(begin, now, BROWSER_LIFETIME).then_some(Self { secret: *secret, begin })
    }

    /// The value of the cookie.
    pub(crate) fn seal(&self, seal: &Seal) -> Option<String> {
        seal.seal(BROWSER, &[&self.secret[..], &self.begin.to_be_bytes()].concat()).ok()
    }

    /// Whether it lives as long as a login that begins now.
    pub(crate) fn is_fresh(&self, now: u64) -> bool {
        is_recent(self.begin, now, BROWSER_LIFETIME - ATTEMPT_LIFETIME)
    }

    /// Identifies it, and does not give it away.
    fn name(&self, seal: &Seal) -> String {
        seal.derive("browser", &self.secret, b"")
    }
}

impl Attempt {
    /// A new login with this random number.
    pub(crate) fn new(number: [u8; 16], return_path: ReturnPath, now: u64) -> Self {
        Self { number, begin: now, return_path }
    }

    /// Returns the texts for the provider, if this browser begins the login.
    pub(crate) fn texts(&self, seal: &Seal, browser: &BrowserSecret) -> Option<AttemptTexts> {
        let name = browser.name(seal);
        let path = self.return_path.as_str().as_bytes();
        let state = [&self.number[..], &self.begin.to_be_bytes(), name.as_bytes(), path].concat();
        Some(AttemptTexts {
            state: seal.seal(STATE, &state).ok()?,
            nonce: seal.derive("nonce", &browser.secret, &self.number),
            verifier: seal.derive("verifier", &browser.secret, &self.number),
        })
    }

    /// The login that a state names, if this browser has begun it a short time ago; and its texts.
    pub(crate) fn open(
        seal: &Seal,
        state: &str,
        browser: Option<&BrowserSecret>,
        now: u64,
    ) -> Result<(Self, AttemptTexts), StateError> {
        let bytes = seal.open(STATE, state).ok_or(StateError::Forged)?;
        let (attempt, name) = Self::decode(&bytes).ok_or(StateError::Forged)?;
        if !is_recent(attempt.begin, now, ATTEMPT_LIFETIME) {
            return Err(StateError::Expired(attempt.return_path));
        }
        let is_same =
            |browser: &&BrowserSecret| verify_slices_are_equal(browser.name(seal).as_bytes(), name.as_bytes()).is_ok();
        match browser.filter(is_same).and_then(|browser| attempt.texts(seal, browser)) {
            Some(texts) => Ok((attempt, texts)),
            None => Err(StateError::OtherBrowser(attempt.return_path)),
        }
    }

    fn decode(bytes: &[u8]) -> Option<(Self, String)> {
        let (number, rest) = bytes.split_first_chunk::<16>()?;
        let (begin, rest) = rest.split_first_chunk::<8>()?;
        let (name, path) = rest.split_first_chunk::<43>()?;
        let (name, path) = (std::str::from_utf8(name).ok()?, std::str::from_utf8(path).ok()?);
        // It was one when it was sealed; whoever reads this need not trust that.
        let return_path = ReturnPath::new(path);
        Some((Self { number: *number, begin: u64::from_be_bytes(*begin), return_path }, name.to_owned()))
    }
}

impl std::fmt::Debug for BrowserSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("BrowserSecret").field("begin", &self.begin).finish_non_exhaustive()
    }
}

/// Whether something began within this time, and not in the future: clocks may be set.
fn is_recent(begin: u64, now: u64, lifetime: u64) -> bool {
    begin <= now.saturating_add(LEEWAY) && now < begin.saturating_add(lifetime)
}

/// Seconds in which a user logs in at the provider; with a second factor it may take minutes.
pub(crate) const ATTEMPT_LIFETIME: u64 = 15 * 60;

/// Seconds that the cookie lives: longer than each login that begins with it.
pub(crate) const BROWSER_LIFETIME: u64 = 2 * ATTEMPT_LIFETIME;

/// By how much clocks of servers with the same key may differ.
const LEEWAY: u64 = 60;

const BROWSER: &str = "browser";
const STATE: &str = "state";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openid::cookie_key::CookieKey;

    fn seal(byte: u8) -> Seal {
        Seal::new(&CookieKey::of_bytes(&[byte; 32]).unwrap(), b"a").unwrap()
    }

    fn attempt(number: u8, path: &str, now: u64) -> Attempt {
        Attempt::new([number; 16], ReturnPath::new(path), now)
    }

    #[test]
    fn a_state_is_of_use_only_in_its_browser_and_for_a_time() {
        let (seal, browser) = (seal(1), BrowserSecret::new([7; 32], 1000));
        let texts = attempt(1, "/a?b", 1000).texts(&seal, &browser).unwrap();
        let open = |state: &str, browser: Option<&BrowserSecret>, now| Attempt::open(&seal, state, browser, now);
        for now in [940, 1000, 1899] {
            let (found, same) = open(&texts.state, Some(&browser), now).unwrap();
            assert_eq!((found.return_path.as_str(), &same.nonce), ("/a?b", &texts.nonce), "{now}");
            assert_eq!(same.verifier, texts.verifier);
        }
        let path = ReturnPath::new("/a?b");
        for now in [0, 939, 1900, u64::MAX] {
            assert_eq!(open(&texts.state, Some(&browser), now).err(), Some(StateError::Expired(path.clone())), "{now}");
        }
        let other = BrowserSecret::new([8; 32], 1000);
        for browser in [None, Some(&other)] {
            assert_eq!(open(&texts.state, browser, 1000).err(), Some(StateError::OtherBrowser(path.clone())));
        }
        let forged = super::tests::seal(2);
        let of_other_server = attempt(1, "/a", 1000).texts(&forged, &browser).unwrap().state;
        let secret = browser.seal(&seal).unwrap();
        for state in ["", "AAAA", &of_other_server, &secret] {
            assert_eq!(open(state, Some(&browser), 1000).err(), Some(StateError::Forged), "{state}");
        }
    }

    #[test]
    fn each_login_has_its_own_nonce_and_verifier_and_gives_neither_away() {
        let (seal, browser) = (seal(1), BrowserSecret::new([7; 32], 1000));
        let [one, two] = [1, 2].map(|number| attempt(number, "/", 1000).texts(&seal, &browser).unwrap());
        assert!(one.nonce != two.nonce && one.verifier != two.verifier && one.nonce != one.verifier);
        // RFC 7636 §4.1: 43 to 128 unreserved characters.
        assert_eq!(one.verifier.len(), 43);
        assert!(!one.state.contains(&one.verifier) && !one.state.contains(&one.nonce));
    }

    #[test]
    fn secrets_of_browsers_end() {
        let seal = seal(1);
        let browser = BrowserSecret::new([7; 32], 1000);
        let value = browser.seal(&seal).unwrap();
        for (now, opens, is_fresh) in [
            (939, false, false),
            (940, true, true),
            (1899, true, true),
            (1900, true, false),
            (2799, true, false),
            (2800, false, false),
        ] {
            assert_eq!(BrowserSecret::open(&seal, &value, now).is_some(), opens, "{now}");
            assert_eq!(browser.is_fresh(now), is_fresh, "{now}");
        }
        assert_eq!(BrowserSecret::open(&seal, "AAAA", 1000), None);
    }
}
