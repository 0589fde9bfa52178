//! The received part of a response: the task of the connection fills it, the exchange empties it.

use std::{
    cell::RefCell,
    fmt,
    rc::Rc,
    task::{Context, Waker},
};

use bytes::Bytes;
use serow_client::ClientError;
use serow_http2::{ErrorCode, ReceivedResponse};
use serow_message::{Headers, InformationalSender, StatusCode};

use crate::server_response::{ReceivedBody, pass_on};

/// The received part of one response.
#[derive(Default)]
pub(super) struct Slot {
    state: RefCell<SlotState>,
    /// Where informational responses go.
    informational: InformationalSender,
}

#[derive(Default)]
struct SlotState {
    head: Option<ReceivedResponse>,
    /// Whether the server asked for the body by `100 Continue`.
    is_body_asked_for: bool,
    /// Not more than the window allows.
    received: ReceivedBody,
    lost: Option<StreamError>,
    exchange: Option<Waker>,
}

/// Why a stream is over before its end.
#[derive(Clone, Debug)]
pub(super) enum StreamError {
    /// The server cut it off.
    Reset(ErrorCode),
    /// The connection is of no more use.
    ConnectionLost(Rc<ClientError>),
}

impl fmt::Display for StreamError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reset(ErrorCode::REFUSED_STREAM) => formatter.write_str("the server refused the stream"),
            Self::Reset(code) => write!(formatter, "the server reset the stream: {code}"),
            Self::ConnectionLost(broken) => broken.fmt(formatter),
        }
    }
}

/// The next part of a body.
pub(super) enum Next {
    Piece(Bytes),
    End(Option<Headers>),
    Lost(StreamError),
    /// It is still to come.
    Awaited,
}

impl Slot {
    pub(super) fn new(informational: InformationalSender) -> Self {
        Self { state: RefCell::default(), informational }
    }

    pub(super) fn put_head(&self, response: ReceivedResponse) {
        if response.is_informational() {
            if response.head.status == StatusCode::CONTINUE {
                let mut state = self.state.borrow_mut();
                state.is_body_asked_for = true;
                state.wake();
            }
            return pass_on(&self.informational, response.head);
        }
        let mut state = self.state.borrow_mut();
        if !response.has_body {
            state.received.end = Some(None);
        }
        state.head = Some(response);
        state.wake();
    }

    pub(super) fn put_piece(&self, piece: Bytes) {
        let mut state = self.state.borrow_mut();
        state.received.push(piece);
        state.wake();
    }

    pub(super) fn put_end(&self, trailers: Option<Headers>) {
        let mut state = self.state.borrow_mut();
        state.received.end = Some(trailers);
        state.wake();
    }

    /// Nothing more comes, and nothing more is taken.
    pub(super) fn put_loss(&self, lost: StreamError) {
        let mut state = self.state.borrow_mut();
        state.lost.get_or_insert(lost);
        state.wake();
    }

    /// The exchange is to be polled.
    pub(super) fn wake(&self) {
        self.state.borrow_mut().wake();
    }

    /// The task of `context` is woken, once, when something comes.
    pub(super) fn watch(&self, context: &Context<'_>) {
        match &mut self.state.borrow_mut().exchange {
            Some(waker) if waker.will_wake(context.waker()) => {}
            slot => *slot = Some(context.waker().clone()),
        }
    }

    pub(super) fn is_body_asked_for(&self) -> bool {
        self.state.borrow().is_body_asked_for
    }

    pub(super) fn take_head(&self) -> Option<ReceivedResponse> {
        self.state.borrow_mut().head.take()
    }

    /// The received body, if it is complete.
    pub(super) fn take_whole(&self) -> Option<ReceivedBody> {
        let mut state = self.state.borrow_mut();
        state.received.end.is_some().then(|| std::mem::take(&mut state.received))
    }

    pub(super) fn lost(&self) -> Option<StreamError> {
        self.state.borrow().lost.clone()
    }

    pub(super) fn next(&self) -> Next {
        let mut state = self.state.borrow_mut();
        if let Some(piece) = state.received.pop() {
            return Next::Piece(piece);
        }
        if let Some(trailers) = state.received.end.take() {
            return Next::End(trailers);
        }
        state.lost.clone().map_or(Next::Awaited, Next::Lost)
    }
}

impl SlotState {
    fn wake(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            exchange.wake();
        }
    }
}
