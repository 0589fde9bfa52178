//! The verdict that a model of the phases gives about a request.

use super::{
    clients::{Asked, LOGOUT},
    contents::Content,
    rules::Rules,
    sites::RandomSite,
};

/// The verdict about a request.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// The statuses of the checks that it fails.
    pub(super) refusals: Vec<u16>,
    /// Whether the address is what it fails by.
    pub(super) is_of_address: bool,
    /// Whether the login answers a request for a path of its own.
    pub(super) is_of_login: bool,
    /// The users, if it passes: one by each check.
    pub(super) users: Vec<&'static str>,
}

impl RandomSite {
    /// The verdict about a request, once: some settings count requests.
    pub(super) fn verdict(&self, asked: &Asked) -> Verdict {
        let (rules, content) = self.route_of(asked);
        let on = |setting: Option<bool>| setting == Some(true);
        let mut verdict = Verdict::default();
        let reads_body = !matches!(content, Content::Redirect | Content::Respond);
        if on(rules.max_body) && asked.body > 10 && reads_body {
            verdict.refusals.push(413);
            return verdict;
        }
        if rules.allow.is_some_and(|is_local| is_local != asked.is_local) {
            verdict.refusals.push(403);
            verdict.is_of_address = true;
            return verdict;
        }
        let is_preflight = asked.is_preflight && on(rules.cors);
        if on(rules.methods) && !["GET", "HEAD", "OPTIONS"].contains(&asked.method) {
            verdict.refusals.push(405);
            return verdict;
        }
        if on(rules.limits) && !self.counted.borrow_mut().insert(asked.key.clone()) {
            verdict.refusals.push(429);
            return verdict;
        }
        if rules.reserved.cookies && asked.path == LOGOUT {
            verdict.refusals = vec![200, 403, 405];
            verdict.is_of_login = true;
            return verdict;
        }
        if is_preflight {
            return verdict;
        }
        self.identify(asked, rules, &mut verdict);
        verdict
    }

    /// The checks of users.
    fn identify(&self, asked: &Asked, rules: Rules, verdict: &mut Verdict) {
        let credentials = &asked.credentials;
        // A browser is sent to the provider, but not without TLS.
        let login = match (asked.is_navigation, asked.is_secure) {
            (true, true) => 303,
            (true, false) => 403,
            (false, _) => 401,
        };
        for (check, is_passed, user, status) in [
            (rules.basic, credentials.has_password, "alice", 401),
            (rules.jwt, credentials.has_token, "bob", 401),
            (rules.login, credentials.has_session, "carol", login),
            (rules.forward_auth, asked.is_allowed, "dave", 403),
        ] {
            match (check, is_passed) {
                (Some(true), true) => verdict.users.push(user),
                (Some(true), false) => verdict.refusals.push(status),
                _ => {}
            }
        }
    }
}
