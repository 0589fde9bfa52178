//! The comparison of an outcome with the verdict.

use super::{
    clients::Asked, contents::Content, received::Received, rules::Rules, servers::Seen, sites::RandomSite,
    verdicts::Verdict,
};

impl RandomSite {
    /// Whether a copy of the request will arrive at the mirror; `None` where that depends on who reads the body, which is not
    /// copied before it is whole.
    pub(super) fn is_copied(&self, asked: &Asked, verdict: &Verdict) -> Option<bool> {
        let (rules, content) = self.route_of(asked);
        let is_answered = asked.is_preflight && rules.cors == Some(true);
        let is_mirrored = rules.mirror == Some(true) && verdict.refusals.is_empty() && !is_answered;
        (!is_mirrored || asked.body == 0 || content.server().is_some()).then_some(is_mirrored)
    }

    /// Compares the outcome of a request with the verdict.
    pub(super) fn judge(
        &self,
        asked: &Asked,
        verdict: &Verdict,
        response: &Received,
        seen: &[Seen],
    ) -> Result<(), String> {
        let (rules, content) = self.route_of(asked);
        let on = |setting: Option<bool>| setting == Some(true);
        let reached: Vec<_> = seen.iter().filter(|seen| seen.server != "auth").collect();
        let mut questions = seen.iter().filter(|seen| seen.server == "auth");
        questions.try_for_each(|seen| judge_question(asked, seen))?;
        let is_preflight = asked.is_preflight && on(rules.cors) && verdict.refusals.is_empty();
        // An internal route has the policy of the site and its own, not that of the route that leads there.
        let is_internal = verdict.refusals.is_empty() && !is_preflight && self.follows(asked, content);
        if on(rules.security) && !is_preflight && !is_internal && !response.has("x-content-type-options") {
            return Err("security-headers has no effect".to_owned());
        }
        if !verdict.refusals.is_empty() || is_preflight {
            if !reached.is_empty() || response.has("x-scripted") || response.has("cache-status") {
                return Err(format!("a request that was refused or answered went on: {verdict:?}"));
            }
            let is_expected =
                if is_preflight { response.status == 204 } else { verdict.refusals.contains(&response.status) };
            let is_page = !verdict.is_of_address || !on(rules.pages);
            if !is_expected || !(is_page || asked.method == "HEAD" || response.body.contains("custom")) {
                return Err(format!("expected {verdict:?}"));
            }
            return Ok(());
        }
        if [401, 405, 413, 429].contains(&response.status) && content.server().is_some() || response.status == 403 {
            return Err("a request that passes was refused".to_owned());
        }
        if on(rules.script) != response.has("x-scripted") && !is_internal {
            return Err("script has no effect, or one that it should not have".to_owned());
        }
        let copies = reached.iter().filter(|seen| seen.server == "mirror").count();
        if self.is_copied(asked, verdict).is_some_and(|is_copied| copies != usize::from(is_copied)) {
            return Err(format!("{copies} copies"));
        }
        reached.iter().try_for_each(|seen| judge_seen(asked, rules, verdict, seen))?;
        self.judge_content(asked, rules, content, response, &reached)
    }

    fn judge_content(
        &self,
        asked: &Asked,
        rules: Rules,
        content: Content,
        response: &Received,
        reached: &[&Seen],
    ) -> Result<(), String> {
        let count = |name: &str| reached.iter().filter(|seen| seen.server == name).count();
        let Some(server) = content.server() else {
            let status = match content {
                Content::Redirect => 302,
                Content::Respond => 200,
                _ => response.status,
            };
            return match count("origin") + count("app") == 0 && response.status == status {
                true => Ok(()),
                false => Err("the content is another".to_owned()),
            };
        };
        let is_redirected = reached.iter().any(|seen| seen.path.starts_with("/inner/a?"));
        let follows = self.follows(asked, content);
        if is_redirected != follows || count(server) == 0 || response.status != 200 {
            return Err(format!("internal redirect: {is_redirected}, expected {follows}"));
        }
        let is_read = ["GET", "HEAD"].contains(&asked.method);
        if !asked.is_redirected && is_read && (rules.cache == Some(true)) != response.has("cache-status") {
            return Err("cache has no effect, or one that it should not have".to_owned());
        }
        let is_coded = response.value("content-encoding") == Some("gzip");
        if !asked.is_redirected && asked.method == "GET" && (rules.compress == Some(true)) != is_coded {
            return Err("compress has no effect, or one that it should not have".to_owned());
        }
        Ok(())
    }

    /// Whether the response leads to the internal route. The proxy of the route `/t/*` does not follow, and sends the
    /// response without the field.
    fn follows(&self, asked: &Asked, content: Content) -> bool {
        let is_below = asked.path.starts_with("/t/") || self.rewrites && asked.path.starts_with("/r/");
        let is_of_route = is_below && self.content != Content::FilesOrNext;
        let may_lead = content == Content::App || content == Content::Proxy && !is_of_route;
        may_lead && asked.is_redirected && !asked.path.starts_with("/inner/")
    }
}

/// The identity and the fields that Serow sets, at a server.
fn judge_seen(asked: &Asked, rules: Rules, verdict: &Verdict, seen: &Seen) -> Result<(), String> {
    judge_identity(asked, rules, verdict, seen)?;
    if rules.rule == Some(true) && seen.values("x-rule") != ["rule"] {
        return Err(format!("{} does not see the field of request-headers", seen.server));
    }
    if rules.script == Some(true) && seen.values("x-script") != ["script"] {
        return Err(format!("{} does not see the field of the script", seen.server));
    }
    if seen.values("host") != [asked.host] {
        return Err(format!("{} sees another host", seen.server));
    }
    if asked.names.iter().any(|name| !OWN.contains(name) && !seen.values(name).is_empty()) {
        return Err(format!("{} sees a field that Connection names", seen.server));
    }
    Ok(())
}

/// The fields that say who sends a request.
fn judge_identity(asked: &Asked, rules: Rules, verdict: &Verdict, seen: &Seen) -> Result<(), String> {
    // Applications see the values of several fields as one.
    let mut users: Vec<_> = seen.values("remote-user").into_iter().flat_map(|users| users.split(", ")).collect();
    users.sort_unstable();
    if rules.reserved.user && (users != verdict.users || !seen.values("remote_user").is_empty()) {
        return Err(format!("{} sees the users {users:?}, expected {:?}", seen.server, verdict.users));
    }
    let user = seen.values("user").concat();
    if seen.server == "app"
        && (user.is_empty() != verdict.users.is_empty() || !verdict.users.contains(&&*user) && !user.is_empty())
    {
        return Err(format!("the user of the application is {user:?}, expected one of {:?}", verdict.users));
    }
    let expected: &[&str] = if verdict.users.contains(&"bob") { &["staff"] } else { &[] };
    let roles = seen.values("x-role");
    if rules.reserved.role && roles != expected {
        return Err(format!("{} sees the roles {roles:?}, expected {expected:?}", seen.server));
    }
    let cookies = seen.values("cookie").join("; ");
    if rules.reserved.cookies && cookies.contains("serow-login-") {
        return Err(format!("{} sees the cookie of the login", seen.server));
    }
    if !cookies.contains("theme=dark") && !asked.names.contains(&"cookie") {
        return Err(format!("{} does not see the other cookie", seen.server));
    }
    Ok(())
}

/// The request to the server that decides describes the one that it is about.
fn judge_question(asked: &Asked, seen: &Seen) -> Result<(), String> {
    let (urls, methods) = (seen.values("x-original-url"), seen.values("x-original-method"));
    let id = format!("id={}&", asked.number);
    let is_described = matches!(urls[..], [url] if url.contains(&id)) && methods == [asked.method];
    match is_described && seen.values("remote-user").is_empty() {
        true => Ok(()),
        false => Err(format!("the question does not describe the request: {seen:?}")),
    }
}

/// Fields that Serow itself sets, whatever a client names.
const OWN: [&str; 8] =
    ["remote-user", "x-role", "authorization", "cookie", "x-rule", "x-script", "x-original-url", "x-original-method"];
