//! Configurations that tests hold in memory.

use std::path::{Path, PathBuf};

use serow_nginx_syntax::{
    directive::Directive,
    reading::{self, Files},
};

struct Memory<'a>(&'a str);

impl Files for Memory<'_> {
    fn read(&self, _: &Path) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }

    fn matching(&self, _: &Path) -> Result<Vec<PathBuf>, String> {
        Ok(Vec::new())
    }
}

/// The directives of a valid configuration.
pub(crate) fn directives(text: &str) -> Vec<Directive> {
    let (directives, _) = reading::read(Path::new("c"), Path::new("/"), &Memory(text)).expect("it is valid");
    directives
}
