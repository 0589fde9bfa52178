//! Scripts around a handler.

use std::{fmt, pin::Pin, sync::Arc};

use serow::{Request, Response};
use serow_scripts::{Begun, RouteChoice, Script, Watched};

use crate::{Sites, per_thread::PerThread, site_response::SiteResponse};

/// The scripts around a handler, the outermost first.
#[derive(Clone, Debug, Default)]
pub struct Scripts {
    scripts: Arc<[Script]>,
    choice: RouteChoice,
}

/// The outcome of the scripts for a request.
pub(crate) enum Passed {
    /// The handler gets it.
    Handle(Request, Vec<Watched>),
    /// One of them has responded; those around it want to see that.
    Respond(Response, Vec<Watched>),
}

/// The outcome of the scripts for a request when one of them has waited.
type WaitingScript = Pin<Box<dyn Future<Output = Passed>>>;

impl Scripts {
    /// These, the outermost first, and whether they can choose the route of a request.
    #[must_use]
    pub fn new(scripts: Vec<Script>, choice: RouteChoice) -> Self {
        Self { scripts: scripts.into(), choice }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scripts.is_empty()
    }

    /// Passes a request through the scripts to a handler, and its response back. Where a script waits, `later` makes the
    /// handler that gets the request then.
    pub(crate) fn respond<L>(
        &self,
        request: Request,
        now: impl FnOnce(Request) -> SiteResponse,
        later: impl FnOnce() -> L,
    ) -> SiteResponse
    where
        L: FnOnce(Request) -> SiteResponse + 'static,
    {
        match self.begin(request) {
            Ok(passed) => passed.respond(now),
            Err(waiting) => {
                let later = later();
                SiteResponse::pending(Box::pin(async move { waiting.await.respond(later).await }))
            }
        }
    }

    /// Passes a request through the scripts; later, where one of them waits.
    pub(crate) fn begin(&self, request: Request) -> Result<Passed, WaitingScript> {
        self.go_on(request, Vec::new())
    }

    fn go_on(&self, mut request: Request, mut watched: Vec<Watched>) -> Result<Passed, WaitingScript> {
        for (number, script) in self.scripts.iter().enumerate() {
            match script.begin(request, self.choice) {
                Ok(Begun::Handle(next, wants)) => {
                    request = next;
                    watched.extend(wants);
                }
                Ok(Begun::Respond(response)) => return Ok(Passed::Respond(response, watched)),
                Err(waiting) => {
                    let rest = Self { scripts: self.scripts[number + 1..].into(), choice: self.choice };
                    return Err(Box::pin(async move {
                        match waiting.await {
                            Begun::Respond(response) => Passed::Respond(response, watched),
                            Begun::Handle(request, wants) => {
                                watched.extend(wants);
                                match rest.go_on(request, watched) {
                                    Ok(passed) => passed,
                                    Err(waiting) => waiting.await,
                                }
                            }
                        }
                    }));
                }
            }
        }
        Ok(Passed::Handle(request, watched))
    }
}

impl Passed {
    /// Hands the request over, and passes the response back through the scripts.
    pub(crate) fn respond(self, handle: impl FnOnce(Request) -> SiteResponse) -> SiteResponse {
        let (response, watched) = match self {
            Self::Handle(request, watched) => (handle(request), watched),
            Self::Respond(response, watched) => (SiteResponse::Ready(Some(response)), watched),
        };
        if watched.is_empty() {
            return response;
        }
        SiteResponse::pending(Box::pin(async move {
            let mut response = response.await;
            for watched in watched.into_iter().rev() {
                response = watched.finish(response).await;
            }
            response
        }))
    }
}

/// All sites of a server behind scripts.
#[derive(Clone)]
pub struct ScriptedSites {
    scripts: Scripts,
    sites: Box<Sites>,
    waiting: Arc<PerThread<Sites>>,
}

impl ScriptedSites {
    /// These sites behind these scripts.
    #[must_use]
    pub fn new(scripts: Scripts, sites: Sites) -> Self {
        let waiting = Arc::new(PerThread::new(sites.clone()));
        Self { scripts, sites: Box::new(sites), waiting }
    }

    /// The sites behind them.
    pub(crate) fn sites(&self) -> &Sites {
        &self.sites
    }

    #[inline(never)]
    pub(crate) fn respond(&self, request: Request) -> SiteResponse {
        let later = || {
            let sites = self.waiting.of_thread();
            move |request| sites.respond_as_chosen(request)
        };
        self.scripts.respond(request, |request| self.sites.respond_as_chosen(request), later)
    }
}

impl fmt::Debug for ScriptedSites {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ScriptedSites").field("scripts", &self.scripts).finish_non_exhaustive()
    }
}
