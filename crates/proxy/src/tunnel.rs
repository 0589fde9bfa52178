//! A connection that changed its protocol (WebSocket): bytes go through as they come.

use serow_message::{OnUpgrade, UpgradedIo};
use tokio::io::copy_bidirectional;

use crate::lease::Lease;

/// Joins the client's connection, once it has changed its protocol, with the server's, which has.
pub(crate) fn join(client: OnUpgrade, mut server: Box<dyn UpgradedIo>, lease: Lease) {
    tokio::task::spawn_local(async move {
        // Counted at the server as long as it lasts.
        let _lease = lease;
        if let Ok(mut client) = client.await
            && let Err(error) = copy_bidirectional(&mut client, &mut server).await
        {
            tracing::debug!(%error, "tunnel ended");
        }
    });
}
