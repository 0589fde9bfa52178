//! The text of a script, with the parts that its states share.

use std::{
    collections::HashMap,
    fmt, fs,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serow_gateway::LogLimit;
use serow_message::TrustedProxies;

use crate::{ScriptError, ScriptLimits, Servers};

/// The part of a script that its states share.
pub(crate) struct ScriptSource {
    /// How messages name it.
    pub(crate) name: String,
    text: Arc<[u8]>,
    pub(crate) limits: ScriptLimits,
    /// Proxies that may name the client.
    pub(crate) trusted: TrustedProxies,
    /// The servers that it asks.
    pub(crate) servers: Servers,
    files: Files,
    errors: LogLimit,
}

/// The files that a script has read, so that all threads see the same ones, also after the process restricted itself to
/// the files that it serves.
struct Files {
    folder: PathBuf,
    read: Mutex<HashMap<PathBuf, Arc<[u8]>>>,
}

impl ScriptSource {
    /// Reads a file, without running it.
    pub(crate) fn read(
        path: &Path,
        limits: ScriptLimits,
        trusted: TrustedProxies,
        servers: Servers,
    ) -> Result<Self, ScriptError> {
        let text = read(path).map_err(|error| ScriptError::new(format_args!("{}: {error}", path.display())))?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        if text.first() == Some(&ESCAPE) {
            let wrong = "this is compiled code: Serow runs text, which it can limit";
            return Err(ScriptError::new(format_args!("{name}: {wrong}")));
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self {
            name,
            text,
            limits,
            trusted,
            servers,
            files: Files { folder, read: Mutex::default() },
            errors: LogLimit::new(),
        })
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// A file below the folder of the script.
    pub(crate) fn file(&self, name: &str) -> Result<Arc<[u8]>, String> {
        let path = Path::new(name);
        if name.is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(format!("{name:?} is not below the folder of the script"));
        }
        let path = self.files.folder.join(path);
        let mut files = self.files.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = files.get(&path) {
            return Ok(Arc::clone(text));
        }
        let text = read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        files.insert(path, Arc::clone(&text));
        Ok(text)
    }

    /// Logs an error, at most ten times a second: a script fails as often as clients ask.
    pub(crate) fn log_error(&self, function: &str, request: &dyn fmt::Display, error: &ScriptError) {
        let Some(suppressed) = self.errors.admit_now() else { return };
        if suppressed.0 > 0 {
            tracing::error!("script {}: and {suppressed} more errors before", self.name);
        }
        let traceback: Vec<_> = error.traceback().iter().map(|line| format!("; {line}")).collect();
        tracing::error!("script {}, {function}, {request}: {error}{}", self.name, traceback.concat());
    }
}

/// How compiled code begins.
const ESCAPE: u8 = 0x1b;

fn read(path: &Path) -> Result<Arc<[u8]>, String> {
    let is_file = fs::metadata(path).map_err(|error| error.to_string())?.is_file();
    if !is_file {
        return Err("this is not a file".to_owned());
    }
    fs::read(path).map(Into::into).map_err(|error| error.to_string())
}
