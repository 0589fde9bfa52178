//! The handler of settings, called by the test or behind a real server.

use serow::{BoxedHandler, Handler, HandlerExt, RequestHead};
use serow_access::{PasswordChecker, openid::ProviderThread};
use serow_assembly::Configuration;
use serow_processes::Workers;
use serow_site::{ClientAdmission, LiveSites, TlsPolicy};

use super::{
    application,
    clients::Asked,
    connections::Connections,
    listener::Listener,
    received::{self, Received},
};

/// The handler of settings, and the threads that it needs.
pub(super) struct Answering {
    way: Way,
    /// End behind those who ask them.
    _workers: Vec<Workers>,
    _checker: Option<PasswordChecker>,
    _providers: ProviderThread,
}

/// The way to the handler.
enum Way {
    Call(BoxedHandler),
    Connect(Box<Connections>),
}

impl Answering {
    /// Answers requests as these settings say, over connections or without.
    pub(super) fn start(configuration: Configuration, is_connected: bool) -> Self {
        let Configuration { server, site, access, applications, .. } = configuration;
        let checker = access.passwords.as_ref().map(|queue| PasswordChecker::start(queue).unwrap());
        let providers = ProviderThread::start(access.logins).unwrap();
        let handler =
            serow_site::handler(&LiveSites::new(site), TlsPolicy::default(), 443, ClientAdmission::default()).boxed();
        let way = if is_connected {
            Way::Connect(Box::new(Connections::new(Listener::start(server.server, handler))))
        } else {
            Way::Call(handler)
        };
        Self { way, _workers: application::start(applications), _checker: checker, _providers: providers }
    }

    /// Whether requests come over connections.
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.way, Way::Connect(_))
    }

    /// The response to a request.
    pub(super) async fn response(&mut self, head: RequestHead, asked: &Asked) -> Received {
        match &mut self.way {
            Way::Call(handler) => received::received(handler.call(asked.received(head)).await).await,
            Way::Connect(connections) => connections.send(&head, asked).await,
        }
    }
}
