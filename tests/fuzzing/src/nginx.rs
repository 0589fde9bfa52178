//! Whatever a configuration of nginx: an import ends, notes each directive, says the line of an error, and writes a settings
//! file that can be read.
//!
//! The input is nginx.conf; behind a line `--- NAME` begins a file that it can include.

use std::path::{Path, PathBuf};

use serow_config::ConfigurationError;
use serow_document::Sources;
use serow_nginx_syntax::reading::Files;

/// The files of the input.
#[derive(Debug)]
struct Parts<'a>(Vec<(PathBuf, &'a [u8])>);

impl Files for Parts<'_> {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let found = self.0.iter().find(|(name, _)| name == path);
        found.map(|(_, text)| text.to_vec()).ok_or_else(|| "there is none".to_owned())
    }

    fn matching(&self, pattern: &Path) -> Result<Vec<PathBuf>, String> {
        let text = pattern.to_string_lossy();
        let start = text.split('*').next().unwrap_or_default();
        Ok(self
            .0
            .iter()
            .map(|(name, _)| name.clone())
            .filter(|name| name.to_string_lossy().starts_with(start))
            .collect())
    }
}

/// The target.
pub fn target(data: &[u8]) {
    let mut parts = vec![(PathBuf::from("/nginx.conf"), Vec::new())];
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"--- ").map(<[u8]>::trim_ascii_end) {
            Some(name) => parts.push((Path::new("/").join(&*String::from_utf8_lossy(name)), Vec::new())),
            None => parts.last_mut().unwrap().1.extend_from_slice(line),
        }
    }
    let files = Parts(parts.iter().map(|(name, text)| (name.clone(), text.as_slice())).collect());
    match serow_import::nginx(Path::new("/nginx.conf"), Path::new("/"), &files) {
        Ok(imported) => {
            assert!(!imported.settings.contains('\0'));
            let sources = Sources::of("serow.toml", imported.settings);
            if let Err(faults) = serow_config::root_table(&sources) {
                panic!("{}", ConfigurationError::of_faults(&sources, &faults));
            }
            // A directive has one line at least, and each line a place.
            assert!(imported.report.lines.iter().all(|line| line.place.line > 0));
            assert_eq!(imported.report.counts().iter().sum::<usize>(), imported.report.lines.len());
        }
        Err(error) => assert!(error.place.line > 0 && !error.message.is_empty()),
    }
}
