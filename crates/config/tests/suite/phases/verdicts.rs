//! The verdict that a model of the phases gives about a request.

use super::{clients::Asked, contents::Content, rules::Rules, sites::RandomSite};

/// The verdict about a request.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// The statuses of the checks that it fails.
    pub(super) refusals: Vec<u16>,
    /// The user, if it passes.
    pub(super) users: Vec<&'static str>,
}

impl RandomSite {
    pub(super) fn verdict(&self, asked: &Asked, rules: Rules, content: Content) -> Verdict {
        let on = |setting: Option<bool>| setting == Some(true);
        let mut verdict = Verdict::default();
        let reads_body = !matches!(content, Content::Redirect | Content::Respond);
        if on(rules.max_body) && asked.body > 10 && reads_body {
            verdict.refusals.push(413);
            return verdict;
        }
        if on(rules.allow) && !asked.is_local {
            verdict.refusals.push(403);
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
        if is_preflight {
            return verdict;
        }
        if on(rules.basic) {
            if asked.has_password {
                verdict.users = vec!["alice"];
            } else {
                verdict.refusals.push(401);
            }
        }
        if on(rules.forward_auth) {
            if asked.is_allowed {
                verdict.users.push("alice");
            } else {
                verdict.refusals.push(403);
            }
        }
        verdict
    }
}
