//! The credentials of clients, valid or not.

use super::{issuer::Token, random::Random, sessions::Session};

/// The credentials of a request.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    /// Whether it has the password of alice, the token of bob, and the session of carol, as the server has to understand it.
    pub(super) has_password: bool,
    pub(super) has_token: bool,
    pub(super) has_session: bool,
    /// The fields that carry them.
    pub(super) fields: Vec<(&'static str, String)>,
}

impl Credentials {
    /// Those of a request with this number, over TLS or not.
    pub(super) fn random(random: &mut Random, number: u64, is_secure: bool) -> Self {
        let mut credentials = Self::default();
        let of_header = credentials.authorize(random, number);
        let mut cookies = vec!["theme=dark".to_owned()];
        let of_cookie = token_cookies(random, number, &mut cookies);
        // The first place with a token counts.
        credentials.has_token = of_header.unwrap_or(of_cookie);
        credentials.has_session = session_cookies(random, is_secure, &mut cookies);
        if random.once_in(2) {
            cookies.reverse();
        }
        if random.once_in(2) {
            credentials.fields.push(("cookie", cookies.join("; ")));
        } else {
            credentials.fields.extend(cookies.into_iter().map(|cookie| ("cookie", cookie)));
        }
        credentials
    }

    /// Adds Authorization fields; returns whether their token is valid, if there is one.
    fn authorize(&mut self, random: &mut Random, number: u64) -> Option<bool> {
        let password = |text: &str| format!("Basic {text}");
        let bearer = |token: Token| format!("Bearer {}", token.text(number % 4));
        let (fields, of_header) = match random.below(8) {
            0..=2 => (vec![password(RIGHT)], None),
            3 => (vec![password(WRONG)], None),
            4 => (vec![bearer(Token::Valid)], Some(true)),
            5 => (vec![bearer(random.of(&INVALID_TOKENS))], Some(false)),
            // Which of them an application would see is open.
            6 => (vec![password(RIGHT), bearer(Token::Valid)], Some(false)),
            _ => (Vec::new(), None),
        };
        self.has_password = fields == [password(RIGHT)];
        self.fields.extend(fields.into_iter().map(|field| ("authorization", field)));
        of_header
    }
}

/// Adds cookies with tokens; returns whether they are one valid token.
fn token_cookies(random: &mut Random, number: u64, cookies: &mut Vec<String>) -> bool {
    let tokens = match random.below(8) {
        0..=4 => vec![Token::Valid],
        5 => vec![random.of(&INVALID_TOKENS)],
        6 => vec![Token::Valid, random.of(&[Token::Valid, Token::Expired])],
        _ => Vec::new(),
    };
    cookies.extend(tokens.iter().map(|token| format!("token={}", token.text(number % 4))));
    tokens == [Token::Valid]
}

/// Adds cookies with sessions; returns whether they are one valid session.
fn session_cookies(random: &mut Random, is_secure: bool, cookies: &mut Vec<String>) -> bool {
    let (sessions, is_named_right) = match random.below(8) {
        0..=3 => (vec![Session::Valid], true),
        4 => (vec![random.of(&INVALID_SESSIONS)], true),
        5 => (vec![Session::Valid, random.of(&[Session::Valid, Session::Over])], true),
        // Any site of the domain can set a cookie whose name does not begin with __Host-.
        6 => (vec![Session::Valid], false),
        _ => (Vec::new(), true),
    };
    let name = if is_secure == is_named_right { "__Host-serow-login-session" } else { "serow-login-session" };
    cookies.extend(sessions.iter().map(|session| format!("{name}={}", session.value())));
    sessions == [Session::Valid] && is_named_right
}

/// "alice:password" and "alice:wrong".
const RIGHT: &str = "YWxpY2U6cGFzc3dvcmQ=";
const WRONG: &str = "YWxpY2U6d3Jvbmc=";

const INVALID_TOKENS: [Token; 4] = [Token::Expired, Token::OfAnotherKey, Token::Changed, Token::Unsigned];

const INVALID_SESSIONS: [Session; 5] =
    [Session::Over, Session::OfAnotherKey, Session::OfAnotherSite, Session::OfAnotherKind, Session::Changed];
