//! Where a thread has its requests from.

use std::{rc::Rc, time::Duration};

use bytes::{Bytes, BytesMut};
use serow_message::Headers;

use crate::{
    Batch, LoadError,
    mix::Mix,
    script::{ScriptError, ScriptRunner},
};

/// Where a thread has its requests from.
pub(crate) enum Source {
    /// Always the same ones.
    Mix(Mix),
    /// A script, which may also want to see the responses.
    Script(Box<Scripted>),
}

/// A script, and what it gave last.
pub(crate) struct Scripted {
    runner: ScriptRunner,
    last: Option<Rc<Batch>>,
}

/// A response that is kept for the script.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: BytesMut,
}

impl Source {
    pub(crate) fn of_script(runner: ScriptRunner) -> Self {
        Self::Script(Box::new(Scripted { runner, last: None }))
    }

    /// The next requests to send; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Rc<Batch>>, LoadError> {
        match self {
            Self::Mix(mix) => Ok(mix.next()),
            Self::Script(script) => script.next(),
        }
    }

    /// Whether [`Self::delay`] says anything.
    pub(crate) fn has_delay(&self) -> bool {
        matches!(self, Self::Script(script) if script.runner.has_delay())
    }

    /// How long to wait before the next request.
    pub(crate) fn delay(&mut self) -> Result<Duration, ScriptError> {
        match self {
            Self::Script(script) => script.runner.delay(),
            Self::Mix(_) => Ok(Duration::ZERO),
        }
    }

    /// Whether responses are to be kept for the script.
    pub(crate) fn wants_responses(&self) -> bool {
        matches!(self, Self::Script(script) if script.runner.wants_responses())
    }

    /// Shows a response to the script.
    pub(crate) fn show(&mut self, response: &Kept) -> Result<(), ScriptError> {
        match self {
            Self::Script(script) => script.runner.response(response.status, &response.headers, &response.body),
            Self::Mix(_) => Ok(()),
        }
    }

    /// Whether the script wants no more requests.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self, Self::Script(script) if script.runner.is_stopped())
    }

    /// The script, for what the main thread asks at the end.
    pub(crate) fn into_script_runner(self) -> Option<ScriptRunner> {
        match self {
            Self::Mix(_) => None,
            Self::Script(script) => Some(script.runner),
        }
    }
}

impl Scripted {
    fn next(&mut self) -> Result<Option<Rc<Batch>>, LoadError> {
        let text = self.runner.request()?;
        // Many scripts give the same again and again; then it is the same bytes.
        let is_last = |last: &Rc<Batch>| is_same(last.text(), &text);
        let batch = match self.last.take().filter(is_last) {
            Some(last) => last,
            None => Rc::new(Batch::of_text(text).map_err(LoadError::ScriptRequest)?),
        };
        self.last = Some(Rc::clone(&batch));
        Ok(Some(batch))
    }
}

/// Whether both are the same bytes at the same place.
fn is_same(one: &Bytes, other: &Bytes) -> bool {
    one.as_ptr() == other.as_ptr() && one.len() == other.len()
}
