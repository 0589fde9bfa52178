//! The settings language in WebAssembly, without an operating system. The host writes a settings file into the room that
//! [`room`] returns, calls [`check`], and reads that many bytes at [`said`]: `valid`, a line's end and the explanation of the
//! file, or its errors.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serow_config::{ConfigurationError, explanation, gather, root_table, routing, with_tables};
use serow_document::{Fault, Files};

static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static OUTPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Room for a settings file of this length.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    let mut input = lock(&INPUT);
    *input = vec![0; length];
    input.as_mut_ptr()
}

/// Checks the settings file in the room, and returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn check() -> usize {
    let answer = match explained(&lock(&INPUT)) {
        Ok(explanation) => format!("valid\n{explanation}"),
        Err(error) => error.to_string(),
    };
    let mut output = lock(&OUTPUT);
    *output = answer.into_bytes();
    output.len()
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn said() -> *const u8 {
    lock(&OUTPUT).as_ptr()
}

fn explained(text: &[u8]) -> Result<String, ConfigurationError> {
    let text = String::from_utf8_lossy(text).into_owned();
    let sources = gather(Path::new("serow.toml"), text, &mut NoFiles)?;
    let explained = |faults: Vec<Fault>| ConfigurationError::of_faults(&sources, &faults);
    with_tables(&sources, Path::new(""), |tables, _, problems| {
        routing::check(&tables, Path::new(""), problems);
        Some(())
    })
    .map_err(explained)?;
    root_table(&sources).map(|table| explanation(&table)).map_err(explained)
}

fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A page has the text of one file.
struct NoFiles;

impl Files for NoFiles {
    fn expand(&mut self, _: &Path) -> Result<Vec<PathBuf>, String> {
        Ok(Vec::new())
    }

    fn read(&mut self, path: &Path) -> Result<String, String> {
        Err(format!("there is no file {} here", path.display()))
    }
}
