//! Responses to slow clients: what a client has not read moves to a file, so that the worker is free when it has
//! written it.

use std::{collections::VecDeque, fmt::Display, future::poll_fn, sync::Arc, time::Duration};

use bytes::Bytes;
use serow_gateway::{BufferError, BufferSettings, OverflowFile, OverflowPart};
use serow_net::WarningPace;
use tokio::time::timeout;

use super::{Event, Exchange, MAX_WAITING, wake};

/// Pieces on their way to the file.
struct Overflow {
    pieces: Vec<Bytes>,
    /// The file with other pieces of the response, if there are any.
    file: Option<Arc<OverflowFile>>,
}

impl Exchange {
    /// Waits until the client has read enough, or pieces are in a file instead. A worker that has to wait for its
    /// client, since there is no space for files, has to wait here.
    pub(crate) async fn make_room(&self, settings: &BufferSettings, application: &str) {
        // A client that keeps up needs no file.
        if !self.is_spooled() && timeout(MOMENT, self.room()).await.is_ok() {
            return;
        }
        if let Some(Overflow { pieces, file }) = self.begin_spooling() {
            let written = OverflowFile::append(file, settings, pieces.clone()).await;
            let written = written.map_err(|error| log(&error, settings, application));
            self.end_spooling(pieces, written.ok());
        }
        self.room().await;
    }

    async fn room(&self) {
        poll_fn(|context| self.poll_room(context)).await;
    }

    /// Whether a part of the response is in a file.
    fn is_spooled(&self) -> bool {
        self.lock().file.strong_count() > 0
    }

    /// Takes the last pieces out; later events wait behind them.
    fn begin_spooling(&self) -> Option<Overflow> {
        let mut state = self.lock();
        let mut pieces = Vec::new();
        while state.waiting > KEPT
            && let Some(piece) = state.events.pop_last_piece()
        {
            state.waiting -= piece.len();
            pieces.push(piece);
        }
        if pieces.is_empty() {
            return None;
        }
        pieces.reverse();
        state.behind = Some(VecDeque::new());
        Some(Overflow { pieces, file: state.file.upgrade() })
    }

    /// Puts the file's part in the place of the pieces; the pieces again, if they could not be written.
    fn end_spooling(&self, pieces: Vec<Bytes>, part: Option<OverflowPart>) {
        let mut state = self.lock();
        if state.is_abandoned {
            return;
        }
        match part {
            Some(part) => {
                state.file = Arc::downgrade(part.file());
                state.events.push(Event::Spooled(part));
            }
            None => {
                state.waiting += pieces.iter().map(Bytes::len).sum::<usize>();
                pieces.into_iter().for_each(|piece| state.events.push(Event::Piece(piece)));
            }
        }
        let behind = state.behind.take();
        behind.into_iter().flatten().for_each(|event| state.events.push(event));
        let reader = state.reader.take();
        drop(state);
        wake(reader);
    }
}

/// Logs why a worker has to wait for a slow client.
fn log(error: &BufferError, settings: &BufferSettings, application: &str) {
    static PACE: WarningPace = WarningPace::new();
    if PACE.is_due() {
        let folder = settings.folder.display();
        write_log(error, &folder, application);
    }
}

fn write_log(error: &BufferError, folder: &impl Display, application: &str) {
    match error {
        BufferError::SpoolFull { limit } => tracing::warn!(
            application,
            "responses to slow clients fill their part of the {limit} bytes in {folder}: workers wait for these clients; \
             --max-spool (max-spool) sets the limit"
        ),
        BufferError::Storage(error) => tracing::error!(
            application,
            "cannot buffer a response to a slow client in {folder}: {error}; a worker waits for the client; free space there"
        ),
        // A response has no client who sends it.
        BufferError::Client(_) => {}
    }
}

/// Bytes that stay in memory, so that the client has something to read while more comes out of the file.
const KEPT: usize = MAX_WAITING / 2;

/// How long a client may take to make room before its response goes to a file. One that reads at ten megabytes a
/// second does so in time.
const MOMENT: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use serow_gateway::SpoolSpace;
    use serow_message::{Body, Headers, StatusCode};

    use super::*;
    use crate::request_error::RequestError;

    /// A reader of the response, which sees the end or a failure as `None`.
    async fn next(exchange: &Exchange) -> Option<Vec<u8>> {
        match poll_fn(|context| exchange.poll_next(context)).await {
            Event::Piece(piece) => Some(piece.into()),
            Event::Spooled(mut part) => {
                let mut bytes = Vec::new();
                while let Some(read) = poll_fn(|context| part.poll_read(context)).await {
                    bytes.extend_from_slice(&read.unwrap());
                }
                Some(bytes)
            }
            Event::End(_) | Event::Failed(_) => None,
            other => panic!("{other:?}"),
        }
    }

    async fn begin() -> Exchange {
        let exchange = Exchange::default();
        let (status, headers) = (StatusCode::OK, Headers::new());
        exchange.push(Event::Head { status, headers, body: Body::empty(), is_whole: false });
        assert!(matches!(poll_fn(|context| exchange.poll_next(context)).await, Event::Head { .. }));
        exchange
    }

    fn settings(space: u64) -> BufferSettings {
        BufferSettings { spool: SpoolSpace::new(space), ..BufferSettings::default() }
    }

    /// The worker sends pieces of these lengths; each has the number of its byte in the response, modulo 251.
    async fn send(exchange: &Exchange, lengths: &[usize], settings: &BufferSettings) -> Vec<u8> {
        let mut all = Vec::new();
        for length in lengths {
            let piece: Vec<u8> = (all.len()..all.len() + length).map(|place| (place % 251) as u8).collect();
            all.extend_from_slice(&piece);
            exchange.push(Event::Piece(piece.into()));
            if !exchange.has_room() {
                exchange.make_room(settings, "app").await;
            }
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_its_client_does_not_read_leaves_the_worker_free() {
        let (exchange, settings) = (begin().await, settings(100 << 20));
        let sent = send(&exchange, &[60_000; 200], &settings).await;
        exchange.push(Event::End(None));
        let in_memory = exchange.lock().waiting;
        assert!(in_memory <= MAX_WAITING, "{in_memory} bytes are in memory");
        assert!(settings.spool.used() >= (sent.len() - MAX_WAITING) as u64);
        let mut received = Vec::new();
        while let Some(piece) = next(&exchange).await {
            received.extend(piece);
        }
        assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
        assert_eq!(settings.spool.used(), 0, "the file is gone when it was read");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_keeps_up_needs_no_file() {
        let (exchange, settings) = (Arc::new(begin().await), settings(100 << 20));
        let reader = Arc::clone(&exchange);
        let reading = tokio::spawn(async move {
            let mut received = 0;
            while let Some(piece) = next(&reader).await {
                received += piece.len();
            }
            received
        });
        let mut used = Vec::new();
        for _ in 0..100 {
            send(&exchange, &[MAX_WAITING], &settings).await;
            used.push(settings.spool.used());
        }
        exchange.push(Event::End(None));
        assert_eq!((reading.await.unwrap(), used), (100 * MAX_WAITING, vec![0; 100]));
    }

    /// The worker waits for its client where there is no space for a file, and where no file can be written.
    #[tokio::test(start_paused = true)]
    async fn a_worker_waits_for_its_client_where_nothing_can_be_spooled() {
        let folder = BufferSettings { folder: "/nonexistent".into(), ..settings(100 << 20) };
        for settings in [settings(0), settings(MAX_WAITING as u64), folder] {
            let exchange = Arc::new(begin().await);
            let (writer, its_settings) = (Arc::clone(&exchange), settings.clone());
            let writing = tokio::spawn(async move { send(&writer, &[60_000; 100], &its_settings).await });
            let mut received = Vec::new();
            while received.len() < 6_000_000 {
                let waiting = exchange.lock().waiting;
                assert!(waiting <= MAX_WAITING + 60_000, "{waiting} bytes are in memory");
                received.extend(next(&exchange).await.unwrap());
            }
            assert!(received == writing.await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_failure_comes_behind_the_pieces_before_it() {
        let (exchange, settings) = (begin().await, settings(100 << 20));
        for piece in 0..5 {
            exchange.push(Event::Piece(vec![piece; MAX_WAITING / 4].into()));
        }
        let Overflow { pieces, file } = exchange.begin_spooling().unwrap();
        exchange.push(Event::Failed(RequestError::WorkerCrashed));
        let part = OverflowFile::append(file, &settings, pieces.clone()).await.unwrap();
        exchange.end_spooling(pieces, Some(part));
        let mut received = Vec::new();
        while let Some(piece) = next(&exchange).await {
            received.extend(piece);
        }
        assert_eq!(received.len(), 5 * MAX_WAITING / 4);
        assert!(received.is_sorted());
    }

    #[tokio::test]
    async fn an_abandoned_response_frees_its_file() {
        let (exchange, settings) = (begin().await, settings(100 << 20));
        send(&exchange, &[60_000; 30], &settings).await;
        assert!(settings.spool.used() > 0);
        exchange.abandon();
        assert_eq!(settings.spool.used(), 0);
        // Also in the middle of a write.
        let exchange = begin().await;
        for _ in 0..5 {
            exchange.push(Event::Piece(vec![0; MAX_WAITING / 4].into()));
        }
        let Overflow { pieces, file } = exchange.begin_spooling().unwrap();
        exchange.abandon();
        let part = OverflowFile::append(file, &settings, pieces.clone()).await.unwrap();
        exchange.end_spooling(pieces, Some(part));
        assert_eq!(settings.spool.used(), 0);
    }
}
