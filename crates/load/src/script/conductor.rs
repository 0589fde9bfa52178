//! The script in the main thread: it sets up the threads, begins the run, and gets the results.

use std::sync::{Arc, mpsc};

use mlua::{AnyUserData, ObjectLike, Table};

use super::{
    Script, ScriptError, ScriptTarget, Seat,
    state::ScriptState,
    statistics,
    thread::{Link, ThreadObject},
};
use crate::Results;

/// The script in the main thread. The workers serve it until it is dropped.
pub struct Conductor {
    state: ScriptState,
    output: AnyUserData,
    script: Script,
    target: Arc<ScriptTarget>,
    threads: Vec<Link>,
}

/// A worker that is to be set up.
pub struct ThreadHandle(Link);

impl Conductor {
    /// Loads the script in the calling thread.
    ///
    /// # Errors
    ///
    /// An error in the script.
    pub fn load(script: &Script, target: ScriptTarget) -> Result<Self, ScriptError> {
        let state = ScriptState::new(script.name(), &target)?;
        let output: AnyUserData = state.lua.globals().get::<Table>("io")?.get("stdout")?;
        // The output of scripts goes through a buffer of C's, and ours does not: without this the order would change.
        output.call_method::<()>("setvbuf", "line")?;
        state.execute(script)?;
        Ok(Self { state, output, script: script.clone(), target: Arc::new(target), threads: Vec::new() })
    }

    /// The two ends of a new thread: one for [`Self::set_up`], the other goes to the thread.
    #[must_use]
    pub fn thread(&self) -> (ThreadHandle, Seat) {
        let (sender, messages) = mpsc::channel();
        (ThreadHandle(Link(sender)), Seat::new(messages, self.script.clone(), Arc::clone(&self.target)))
    }

    /// Has the thread load the script, calls `setup(thread)` here and then `init(args)` there. Waits for all of it, so
    /// the thread must be running, or about to.
    ///
    /// # Errors
    ///
    /// An error in the script, here or there. The run cannot take place: drop the conductor, and the threads end.
    pub fn set_up(&mut self, handle: ThreadHandle) -> Result<(), ScriptError> {
        let ThreadHandle(link) = handle;
        link.load()?;
        self.state.call("setup", ThreadObject::Other(link.clone()))?;
        link.initialise()?;
        self.threads.push(link);
        Ok(())
    }

    /// Lets all threads begin that were set up.
    ///
    /// # Errors
    ///
    /// One of them has ended already.
    pub fn begin(&mut self) -> Result<(), ScriptError> {
        self.threads.iter().try_for_each(Link::begin)
    }

    /// Whether the script has something to say about the results.
    #[must_use]
    pub fn has_done(&self) -> bool {
        self.state.global("done").is_some()
    }

    /// Calls `done(summary, latency, requests)`, if the script has it, and releases the threads. It may ask them for
    /// values: all of them must serve, or have ended.
    ///
    /// # Errors
    ///
    /// An error in the script.
    pub fn done(self, results: &Results) -> Result<(), ScriptError> {
        let Some(done) = self.state.global("done") else { return Ok(()) };
        let arguments = statistics::arguments(&self.state.lua, results)?;
        let result = self.state.run(&done, "done", arguments);
        // The last line may be without an end. A closed standard output is not an error of the script.
        let _ = self.output.call_method::<()>("flush", ());
        result
    }
}
