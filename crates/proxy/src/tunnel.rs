//! A connection that changed its protocol (WebSocket, `docker exec`): bytes go through as they come.

use std::pin::Pin;

use serow_message::{OnUpgrade, UpgradedIo};
use tokio::io::copy_bidirectional;

use crate::lease::Lease;

/// The server's connection, once the whole request has been sent; `None` if that failed. The lease counts it at the server
/// as long as it lasts.
pub(crate) type ServerTunnel = Pin<Box<dyn Future<Output = Option<(Box<dyn UpgradedIo>, Lease)>>>>;

/// Joins the client's connection, once it has changed its protocol, with the server's, which has agreed to.
pub(crate) fn join(client: OnUpgrade, server: ServerTunnel) {
    tokio::task::spawn_local(async move {
        // The client's connection changes its protocol behind the body, which the server's is sent now.
        let Some((mut server, _lease)) = server.await else { return };
        if let Ok(mut client) = client.await
            && let Err(error) = copy_bidirectional(&mut client, &mut server).await
        {
            tracing::debug!(%error, "tunnel ended");
        }
    });
}
