//! The handler of a route: its content, and the phases in front of it.

use std::sync::Arc;

use serow::{Body, Method, Request, RequestHead, Response};
use serow_guards::Guard;

use crate::{
    Content, RoutePolicy,
    per_thread::PerThread,
    phases::{PhaseSettings, Phases, Target},
    site_response::SiteResponse,
};

/// The handler of a route: its content, and the phases that requests pass before they reach it.
#[derive(Clone)]
pub struct RouteHandler {
    content: Content,
    /// None where requests reach the content at once.
    front: Option<Front>,
    /// How people find it in the settings, as in `route 1, /static/*`.
    place: Arc<str>,
}

/// The phases in front of a content.
struct Front {
    phases: Arc<Phases>,
    /// The content for requests that wait in a phase.
    waiting: Arc<PerThread<Content>>,
}

impl RouteHandler {
    /// This content behind these phases.
    #[must_use]
    pub fn new(content: Content, settings: PhaseSettings) -> Self {
        let front = |phases| Front { phases: Arc::new(phases), waiting: Arc::new(PerThread::new(content.clone())) };
        let front = settings.in_front_of(&content).map(front);
        Self { content, front, place: Arc::default() }
    }

    /// The same, which people find at this place of the settings.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Self { place: place.into(), ..self }
    }

    /// The same in an internal route, whose requests pass this guard, unless they are for an error page.
    #[must_use]
    pub fn behind(&self, guard: Option<&Arc<Guard>>) -> Self {
        let Some(guard) = guard else { return self.clone() };
        let settings = self.front.as_ref().map_or_else(Phases::none, |front| Phases::clone(&front.phases));
        let policy = RoutePolicy { guard: Some(Arc::clone(guard)), ..RoutePolicy::clone(&settings.policy) };
        let phases = Arc::new(Phases { policy: Arc::new(policy), is_internal: true, ..settings });
        let waiting = match &self.front {
            Some(front) => Arc::clone(&front.waiting),
            None => Arc::new(PerThread::new(self.content.clone())),
        };
        Self { front: Some(Front { phases, waiting }), ..self.clone() }
    }

    /// How people find it in the settings.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Its content.
    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    /// The phases in front of its content, if there are any.
    pub(crate) fn phases(&self) -> Option<&Phases> {
        self.front.as_ref().map(|front| &*front.phases)
    }

    /// Handles one request.
    #[inline]
    pub(crate) fn respond(&self, request: Request) -> SiteResponse {
        match &self.front {
            None => self.content.respond(request),
            Some(Front { phases, waiting }) => {
                phases.respond(request, Target::Content(&self.content, waiting), self.content.source())
            }
        }
    }

    /// Passes a request through the phases to a response that is there already, of the router or of an attempt.
    pub(crate) fn respond_with(&self, request: Request, response: Response) -> SiteResponse {
        match &self.front {
            None => SiteResponse::Ready(Some(response)),
            Some(front) => front.phases.respond(request, Target::Response(response), self.content.source()),
        }
    }

    /// Answers a request, unless the next route has to: a folder without the file. The response has yet to pass the
    /// phases.
    #[inline]
    pub(crate) fn attempt(&self, request: &Request) -> Option<Response> {
        match self.content.attempt(request) {
            None if request.method == Method::OPTIONS => self.attempt_preflight(request),
            found => found,
        }
    }

    /// A response that stands for the file which a preflight request asks about, where this route answers it.
    #[cold]
    fn attempt_preflight(&self, request: &Request) -> Option<Response> {
        if !self.front.as_ref()?.phases.policy.answers_preflight(request) {
            return None;
        }
        let (target, version) = (request.target.clone(), request.version);
        let head = RequestHead { method: Method::HEAD, target, version, headers: serow::Headers::new() };
        self.content.attempt(&Request::new(head, Body::empty(), request.connection().clone()))
    }
}

impl Clone for Front {
    /// The same with phases of its own: each request changes the number of their references, and the workers, which have
    /// a clone of the handler each, would wait for each other's changes.
    fn clone(&self) -> Self {
        Self { phases: Arc::new(self.phases.detached()), waiting: Arc::clone(&self.waiting) }
    }
}

impl From<Content> for RouteHandler {
    fn from(content: Content) -> Self {
        Self::new(content, PhaseSettings::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RoutePolicy;

    #[test]
    fn requests_to_a_clone_leave_the_references_of_the_original_alone() {
        let policy = Arc::new(RoutePolicy { security_headers: true, ..RoutePolicy::default() });
        let settings = PhaseSettings { policy: Arc::clone(&policy), ..PhaseSettings::default() };
        let original = RouteHandler::new(Content::Answer, settings);
        let worker = original.clone();
        let phases = &original.front.as_ref().unwrap().phases;
        let references = || (Arc::strong_count(phases), Arc::strong_count(&policy));
        let before = references();
        let in_progress = worker.respond(Request::default());
        assert_eq!(references(), before);
        drop(in_progress);
        // The count sees what it is about.
        let in_progress = original.respond(Request::default());
        assert_ne!(references(), before);
        drop(in_progress);
    }
}
