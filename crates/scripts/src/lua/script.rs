//! Scripts that were read and checked.

use std::{fmt, path::Path, sync::Arc};

use serow_message::TrustedProxies;
use serow_net::SlotNumber;

use crate::lua::{script_source::ScriptSource, state::LuaState};
use crate::{ScriptError, ScriptLimits, Servers};

/// A script that was read and checked. Clones are the same script; each thread has a state of its own for it.
#[derive(Clone)]
pub struct Script {
    pub(crate) source: Arc<ScriptSource>,
    /// By which threads find their states. Not in the source, which states keep.
    pub(crate) number: Arc<SlotNumber>,
}

impl Script {
    /// Reads the script in this file, and checks that it can be run: the file is loaded, and `setup` called.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not Lua, or raises an error.
    pub fn read(
        path: &Path,
        limits: ScriptLimits,
        trusted: TrustedProxies,
        servers: Servers,
    ) -> Result<Self, ScriptError> {
        let source = Arc::new(ScriptSource::read(path, limits, trusted, servers)?);
        LuaState::new(&source)?;
        Ok(Self { source, number: Arc::new(SlotNumber::new()) })
    }

    /// How messages name it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.source.name
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScriptSource { name, limits, .. } = &*self.source;
        formatter.debug_struct("Script").field("name", name).field("limits", limits).finish_non_exhaustive()
    }
}
