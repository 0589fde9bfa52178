//! System calls on files, on a thread that may wait for the disk.

use serow_message::StatusCode;
use tokio::task::spawn_blocking;

use crate::refusal::Refusal;

/// Runs a function on another thread.
///
/// # Errors
///
/// The function's own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    spawn_blocking(work).await.unwrap_or_else(|panic| {
        tracing::error!("a bug: changing a served folder failed: {panic}");
        Err(StatusCode::INTERNAL_SERVER_ERROR.into())
    })
}
