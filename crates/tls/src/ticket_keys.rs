//! Keys of session tickets that are derived from a secret and the time, so that all servers with the secret have the same keys.

use std::{collections::VecDeque, fmt};

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    hkdf::{self, HKDF_SHA256, Prk},
};

/// The keys that are valid in one hour. All times are seconds since 1970.
///
/// A ticket is the key's name, the nonce, and the sealed session (RFC 5077 §4 recommends this form).
pub(crate) struct TicketKeys {
    /// The purpose of the tickets: those of another purpose are not accepted.
    purpose: &'static str,
    current: Secret,
    /// Those that the file held before, the latest first.
    previous: VecDeque<Replaced>,
    hour: u64,
    /// Seals tickets; the key of this hour.
    sealing: Option<Key>,
    /// Open tickets.
    opening: Vec<Key>,
}

/// The secret, ready to derive keys from.
#[derive(Clone)]
struct Secret(Prk);

struct Replaced {
    secret: Secret,
    /// The hour in which it was replaced.
    hour: u64,
}

struct Key {
    name: [u8; NAME],
    key: RandomizedNonceKey,
}

impl TicketKeys {
    /// The keys at this time of tickets for this purpose.
    pub(crate) fn new(secret: &[u8], purpose: &'static str, now: u64) -> Self {
        let current = Secret::new(secret);
        let mut this = Self {
            purpose,
            current,
            previous: VecDeque::new(),
            hour: now / PERIOD,
            sealing: None,
            opening: Vec::new(),
        };
        this.derive();
        this
    }

    /// Uses another secret from now on. Tickets of the previous one are accepted until they expire.
    pub(crate) fn replace(&mut self, secret: &[u8], now: u64) {
        let replaced = std::mem::replace(&mut self.current, Secret::new(secret));
        self.previous.push_front(Replaced { secret: replaced, hour: now / PERIOD });
        self.previous.truncate(MAX_PREVIOUS);
        self.hour = now / PERIOD;
        self.derive();
    }

    /// Whether the keys are those of this time; otherwise call [`Self::advance`].
    pub(crate) fn are_of(&self, now: u64) -> bool {
        self.hour == now / PERIOD
    }

    /// Derives the keys of this time.
    pub(crate) fn advance(&mut self, now: u64) {
        if !self.are_of(now) {
            self.hour = now / PERIOD;
            self.derive();
        }
    }

    /// A ticket for this session.
    pub(crate) fn seal(&self, session: &[u8]) -> Option<Vec<u8>> {
        let Key { name, key } = self.sealing.as_ref()?;
        let mut sealed = session.to_vec();
        let nonce = key.seal_in_place_append_tag(Aad::from(name), &mut sealed).ok()?;
        Some([&name[..], &nonce.as_ref()[..], &sealed].concat())
    }

    /// The session of a ticket; none if the ticket is not from these keys, or has expired.
    pub(crate) fn open(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (name, rest) = ticket.split_first_chunk::<NAME>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        // The name is not secret: every observer sees it.
        let Key { key, .. } = self.opening.iter().find(|key| key.name == *name)?;
        let mut session = sealed.to_vec();
        let length = key.open_in_place(Nonce::from(nonce), Aad::from(name), &mut session).ok()?.len();
        session.truncate(length);
        Some(session)
    }

    fn derive(&mut self) {
        let (purpose, now) = (self.purpose, self.hour);
        self.previous.retain(|replaced| replaced.hour + 1 + LIFETIME_PERIODS >= now);
        let oldest = now.saturating_sub(LIFETIME_PERIODS);
        // Of the next hour too: another machine's clock may be ahead.
        let current = (oldest..=now + 1).filter_map(|hour| self.current.key(purpose, hour));
        let previous = self
            .previous
            .iter()
            .flat_map(|replaced| (oldest..=replaced.hour + 1).filter_map(|hour| replaced.secret.key(purpose, hour)));
        self.opening = current.chain(previous).collect();
        self.sealing = self.current.key(purpose, now);
    }
}

impl Secret {
    fn new(secret: &[u8]) -> Self {
        Self(hkdf::Salt::new(HKDF_SHA256, SALT).extract(secret))
    }

    /// The key of this hour; none if the library fails.
    fn key(&self, purpose: &str, hour: u64) -> Option<Key> {
        let mut derived = [0; NAME + KEY];
        let info = [purpose.as_bytes(), &hour.to_be_bytes()];
        self.0.expand(&info, Length).ok()?.fill(&mut derived).ok()?;
        let (name, key) = derived.split_first_chunk::<NAME>()?;
        Some(Key { name: *name, key: RandomizedNonceKey::new(&AES_256_GCM_SIV, key).ok()? })
    }
}

struct Length;

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        NAME + KEY
    }
}

impl fmt::Debug for TicketKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TicketKeys").field("hour", &self.hour).finish_non_exhaustive()
    }
}

/// How long a client may use a ticket, in seconds. rustls' own keys have the same lifetime.
pub(crate) const LIFETIME: u32 = 12 * 60 * 60;

/// A key seals tickets for an hour: machines whose clocks differ by less share all keys but one.
const PERIOD: u64 = 60 * 60;
const LIFETIME_PERIODS: u64 = LIFETIME as u64 / PERIOD;

/// RFC 5077 §4
const NAME: usize = 16;
/// AES-256. With GCM-SIV (RFC 8452), it does no harm if machines with the same key happen to use the same nonce.
const KEY: usize = 32;

/// Separates these keys from whatever else somebody derives from the same file.
const SALT: &[u8] = b"serow session tickets 1";

/// A file that is written again and again must not fill the memory with keys.
const MAX_PREVIOUS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600;
    /// The beginning of an hour.
    const START: u64 = 500_000 * HOUR;

    fn keys(secret: &str, now: u64) -> TicketKeys {
        TicketKeys::new(secret.as_bytes(), "a", now)
    }

    #[test]
    fn tickets_are_opened_with_the_same_secret_until_they_expire() {
        let ticket = keys("secret", START + 10).seal(b"session").unwrap();
        for (secret, now, opened) in [
            ("secret", START + 10, true),
            ("another", START + 10, false),
            ("secret", START + 59 * 60, true),
            ("secret", START + 12 * HOUR + 10, true),
            ("secret", START + 13 * HOUR, false),
            // Another machine, whose clock is behind.
            ("secret", START - 50, true),
            ("secret", START - HOUR, true),
            ("secret", START - HOUR - 1, false),
            ("secret", 0, false),
            ("secret", u64::MAX / HOUR * HOUR, false),
        ] {
            let expected = opened.then(|| b"session".to_vec());
            assert_eq!(keys(secret, now).open(&ticket), expected, "{secret} {now}");
            let mut keys = keys(secret, START);
            keys.advance(now);
            assert_eq!(keys.open(&ticket), expected, "{secret} {now}");
        }
    }

    #[test]
    fn tickets_for_another_purpose_are_refused() {
        let ticket = keys("secret", START).seal(b"session").unwrap();
        assert_eq!(TicketKeys::new(b"secret", "b", START).open(&ticket), None);
    }

    #[test]
    fn tampered_tickets_are_refused() {
        let keys = keys("secret", START);
        let ticket = keys.seal(b"session").unwrap();
        assert_ne!(ticket, keys.seal(b"session").unwrap());
        for position in 0..ticket.len() {
            let mut other = ticket.clone();
            other[position] ^= 1;
            assert_eq!(keys.open(&other), None, "{position}");
            assert_eq!(keys.open(&ticket[..position]), None, "{position}");
        }
        assert_eq!(keys.open(&[&ticket[..], b"x"].concat()), None);
    }

    #[test]
    fn tickets_of_a_replaced_secret_are_accepted_until_they_expire() {
        let mut keys = keys("first", START);
        let first = keys.seal(b"1").unwrap();
        keys.replace(b"second", START + HOUR + 5);
        let second = keys.seal(b"2").unwrap();
        for (now, expected) in [
            (START + HOUR + 5, [true, true]),
            (START + 12 * HOUR, [true, true]),
            (START + 13 * HOUR, [false, true]),
            (START + 14 * HOUR, [false, false]),
        ] {
            keys.advance(now);
            assert_eq!([&first, &second].map(|ticket| keys.open(ticket).is_some()), expected, "{now}");
        }
        // The secret itself is forgotten with its last ticket: of the hour after the change, from a clock that is ahead.
        keys.advance(START + 14 * HOUR);
        assert_eq!(keys.previous.len(), 1);
        keys.advance(START + 15 * HOUR);
        assert!(keys.previous.is_empty());
        for number in 0..20_u8 {
            keys.replace(&[number], START + 15 * HOUR);
        }
        assert_eq!(keys.previous.len(), MAX_PREVIOUS);
    }

    /// Other versions of the program, on other machines, derive the same.
    #[test]
    fn keys_are_those_of_earlier_versions() {
        let keys = TicketKeys::new(&[7; 32], "a", START);
        let name = keys.sealing.map(|key| data_encoding::HEXLOWER.encode(&key.name));
        assert_eq!(name.as_deref(), Some("b84e4ef4fc371ede121e0ea18ce18085"));
    }
}
