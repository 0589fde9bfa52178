//! The settings of a single route, and those that have no effect there.

use serow_document::{Place, Problem};
use serow_router::Action;

use crate::tables::{
    access::AccessSettings, header_rules::HeaderRuleSettings, logs::LogSettings, policies::PolicySettings,
    sites::RouteSettings,
};

/// The settings that are written in a route, beside its content.
pub struct OwnSettings<'a> {
    settings: &'a RouteSettings,
    header_rules: &'a HeaderRuleSettings,
    log: &'a LogSettings,
    policy: &'a PolicySettings,
    access: &'a AccessSettings,
}

/// The kind of a route, which decides about the settings that have an effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A folder, an application or other servers.
    Content,
    /// A folder with `missing = "next"`.
    Attempt,
    /// An answer of the router.
    Answer(&'static str),
    /// A change of the path.
    Rewrite,
}

impl<'a> OwnSettings<'a> {
    /// Those of a route.
    pub fn new(
        settings: &'a RouteSettings,
        header_rules: &'a HeaderRuleSettings,
        log: &'a LogSettings,
        (policy, access): (&'a PolicySettings, &'a AccessSettings),
    ) -> Self {
        Self { settings, header_rules, log, policy, access }
    }

    /// The action, unless a setting would have no effect in a route with it.
    pub fn have_effect<T>(&self, action: Action<T>, place: &Place) -> Result<Action<T>, Problem> {
        let kind = Kind::of(&action);
        let refusal = |key: &&'static str| Some((*key, self.refusal(key, kind)?));
        match self.given().iter().find_map(refusal) {
            None => Ok(action),
            Some((key, text)) => Err(Problem::of_key(place.key(key), format!("`{key}` has no effect {text}"))),
        }
    }

    fn given(&self) -> Vec<&'static str> {
        let Self { settings, header_rules, log, policy, access } = self;
        let others = [
            ("request-headers", !header_rules.request_headers.is_empty()),
            ("access-log", log.access_log.is_some()),
            ("script", settings.script.is_some()),
            ("name", settings.name.is_some()),
        ];
        let others = others.into_iter().filter_map(|(key, is_given)| is_given.then_some(key));
        policy.given().into_iter().chain(access.given()).chain(others).collect()
    }

    /// Why a key has no effect, and where it would have one.
    fn refusal(&self, key: &str, kind: Kind) -> Option<String> {
        let of_internal = self.settings.internal.then(|| self.refusal_of_internal(key)).flatten();
        of_internal.or_else(|| kind.refusal(key))
    }

    fn refusal_of_internal(&self, key: &str) -> Option<String> {
        let text = match key {
            "cache" | "mirror" | "max-body" | "body-timeout" => "the request has passed those of that route",
            _ if self.access.given().contains(&key) => "the request has passed the checks of that route",
            _ => return None,
        };
        let advice = "in a route with `internal = true`, which only responses of another route lead to";
        Some(format!("{advice}: {text}; leave it out here"))
    }
}

impl Kind {
    fn refusal(self, key: &str) -> Option<String> {
        let action = match self {
            Kind::Content => return None,
            Kind::Attempt => "missing = \"next\"",
            Kind::Answer(action) => action,
            Kind::Rewrite => "rewrite",
        };
        match (key, self) {
            ("request-headers", Kind::Attempt | Kind::Answer(_) | Kind::Rewrite) => {
                Some(format!("in a route with `{action}`: write it in a route with `app` or `proxy`"))
            }
            ("script", Kind::Attempt | Kind::Rewrite) => Some(
                "here: write it in a route with `app`, `files` (without missing = \"next\") or `proxy`, or in the site"
                    .to_owned(),
            ),
            ("access-log", Kind::Rewrite) => {
                Some("in a route with `rewrite`: write it in the route that answers".to_owned())
            }
            ("allow-methods", Kind::Attempt) => Some(
                "in a route with `missing = \"next\"`, which leaves all methods but GET and HEAD to the next routes: write \
                 it there"
                    .to_owned(),
            ),
            ("cache" | "max-body" | "body-timeout", Kind::Answer(action)) => Some(format!(
                "in a route with `{action}`, which has no content and reads no body: write it in a route with `app` or \
                 `proxy`"
            )),
            ("name", _) => None,
            (_, Kind::Rewrite) => Some("in a route with `rewrite`: write it in the [[site]]".to_owned()),
            _ => None,
        }
    }

    fn of<T>(action: &Action<T>) -> Self {
        match action {
            Action::Handle(_) => Self::Content,
            Action::Try(_) => Self::Attempt,
            Action::Redirect(_) => Self::Answer("redirect"),
            Action::Respond(_) => Self::Answer("respond"),
            Action::Rewrite(_) | Action::Restart(_) => Self::Rewrite,
        }
    }
}
