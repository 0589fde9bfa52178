//! Scripts of a build without Lua: none can be read, so none runs.

use std::{convert::Infallible, fmt, os::fd::OwnedFd, path::Path, pin::Pin};

use serow_message::{Request, Response, TrustedProxies};

use crate::{RouteChoice, ScriptLimits, Servers, TestOutcome};

/// A script. There is none in this build.
#[derive(Clone, Debug)]
pub struct Script(Infallible);

/// Why a script cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError;

/// The decision of a script about a request.
pub enum Begun {
    /// The handler gets it; then, if the script has a function for that, it gets the response.
    Handle(Request, Option<Watched>),
    /// The script has responded itself.
    Respond(Response),
}

/// A request whose script wants to see the response.
pub struct Watched(Infallible);

impl Script {
    /// As with Lua.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn read(_: &Path, _: ScriptLimits, _: TrustedProxies, _: Servers) -> Result<Self, ScriptError> {
        Err(ScriptError)
    }

    /// How messages name it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.0 {}
    }

    /// As with Lua.
    ///
    /// # Errors
    ///
    /// None.
    pub fn begin(&self, _: Request, _: RouteChoice) -> Result<Begun, Pin<Box<dyn Future<Output = Begun>>>> {
        match self.0 {}
    }
}

/// A test of a script. There is none in this build.
pub struct ScriptTest(Infallible);

impl ScriptTest {
    /// As with Lua.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn read(_: &Path) -> Result<Self, ScriptError> {
        Err(ScriptError)
    }

    /// How messages name the script.
    #[must_use]
    pub fn script_name(&self) -> &str {
        match self.0 {}
    }

    /// As with Lua.
    pub async fn run(&self) -> Vec<TestOutcome> {
        match self.0 {}
    }
}

impl Watched {
    /// As with Lua.
    pub async fn finish(self, _: Response) -> Response {
        match self.0 {}
    }
}

/// As with Lua; no script uses it.
pub fn share_dictionary(_: Option<OwnedFd>) {}

/// As with Lua: there are no states.
pub fn drop_stale_states() {}

/// As with Lua: there is no dictionary.
pub const DICTIONARY_BYTES: usize = 0;

impl fmt::Display for ScriptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_str("this program was built without scripts: take a package, or build it with --features scripts")
    }
}

impl std::error::Error for ScriptError {}
