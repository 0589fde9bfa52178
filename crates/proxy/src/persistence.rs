//! Requests that go on when their clients have gone.

use std::{
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use serow_message::Response;
use serow_net::LastingWork;
use tokio::{runtime::Handle, task::spawn_local};

use crate::local_upstream::LocalUpstream;

/// A request whose body is whole, so that it needs its client no more: if that goes away, the request goes on until its
/// response begins. Applications behind php-fpm rely on this: WordPress requests `/wp-cron.php` from itself, and leaves.
pub(crate) struct Persistent {
    /// Until it is ready.
    responding: Option<Pin<Box<dyn Future<Output = Response>>>>,
    local: Rc<LocalUpstream>,
}

/// A request without a client, counted until this is dropped. A server that stops waits for it.
struct Clientless {
    local: Rc<LocalUpstream>,
    _work: LastingWork,
}

impl Persistent {
    pub(crate) fn new(local: Rc<LocalUpstream>, responding: Pin<Box<dyn Future<Output = Response>>>) -> Self {
        Self { responding: Some(responding), local }
    }
}

impl Future for Persistent {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        let Some(responding) = &mut self.responding else { return Poll::Pending };
        let response = responding.as_mut().poll(context);
        if response.is_ready() {
            self.responding = None;
        }
        response
    }
}

impl Drop for Persistent {
    fn drop(&mut self) {
        if let Some(responding) = self.responding.take()
            && let Some(clientless) = Clientless::begin(&self.local)
        {
            spawn_local(async move {
                drop(responding.await);
                drop(clientless);
            });
        }
    }
}

impl Clientless {
    /// As many as may wait: otherwise clients that send requests and reset them at once (CVE-2023-44487) could have any
    /// number of them in progress.
    fn begin(local: &Rc<LocalUpstream>) -> Option<Self> {
        let is_admitted =
            local.clientless.get() < local.upstream.settings().queue.length && Handle::try_current().is_ok();
        is_admitted.then(|| {
            local.clientless.set(local.clientless.get() + 1);
            Self { local: Rc::clone(local), _work: LastingWork::begin() }
        })
    }
}

impl Drop for Clientless {
    fn drop(&mut self) {
        self.local.clientless.set(self.local.clientless.get() - 1);
    }
}
