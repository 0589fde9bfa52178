//! The body of a response on its way from the program to the client.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use serow_fastcgi::CgiEvent;
use serow_gateway::BufferedSender;
use serow_message::{IncomingError, Wanted};
use tokio::time::{Sleep, sleep};

use crate::cgi::output::{Output, OutputError};

/// How a body ended.
enum End {
    Whole,
    /// The client has left.
    Abandoned,
    Broken(OutputError),
}

/// Passes the body on. Data that a slow client does not read in time is buffered, so that the program can end.
pub(crate) async fn feed(mut output: Output, mut sender: BufferedSender) {
    let mut client_deadline = None;
    match poll_fn(|context| poll_end(&mut output, &mut sender, &mut client_deadline, context)).await {
        End::Whole => {
            sender.finish(None);
            sender.deliver_rest();
            output.drain().await;
        }
        End::Abandoned => {}
        End::Broken(error) => {
            output.asked().warn(format_args!("the response is cut: {error}"));
            sender.fail(match error {
                OutputError::TimedOut(_) => IncomingError::ResponseTimedOut,
                OutputError::Pipe(_) | OutputError::Invalid(_) => IncomingError::ResponseCutOff,
            });
            sender.deliver_rest();
        }
    }
}

fn poll_end(
    output: &mut Output,
    sender: &mut BufferedSender,
    client_deadline: &mut Option<Pin<Box<Sleep>>>,
    context: &mut Context<'_>,
) -> Poll<End> {
    loop {
        match sender.poll_wanted(context) {
            Poll::Ready(Wanted::More) => *client_deadline = None,
            Poll::Ready(Wanted::Nothing) => return Poll::Ready(End::Abandoned),
            Poll::Pending => {
                // The client is waited for, not the program.
                output.note_progress();
                if !sender.may_buffer() {
                    return Poll::Pending;
                }
                let client_deadline = client_deadline.get_or_insert_with(|| Box::pin(sleep(BufferedSender::DEADLINE)));
                if client_deadline.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                sender.begin_buffering();
                continue;
            }
        }
        if output.is_whole() {
            return Poll::Ready(End::Whole);
        }
        match output.poll_next(context) {
            Poll::Ready(Ok(Some(CgiEvent::Data(data)))) => sender.push(data, context),
            // There is one head, and the output tells of an excess.
            Poll::Ready(Ok(Some(CgiEvent::Head(_) | CgiEvent::Excess))) => {}
            Poll::Ready(Ok(None)) => return Poll::Ready(End::Whole),
            Poll::Ready(Err(error)) => return Poll::Ready(End::Broken(error)),
            Poll::Pending if sender.poll_abandoned(context).is_ready() => return Poll::Ready(End::Abandoned),
            Poll::Pending => return Poll::Pending,
        }
    }
}
