//! Key sets in a folder, for a process that begins while their server does not answer.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serow_net::time;

/// The file in which the key set of a URL is kept. It begins with a line that has the URL.
#[derive(Debug)]
pub(crate) struct KeptKeys {
    path: PathBuf,
    url: String,
}

impl KeptKeys {
    pub(crate) fn new(folder: &Path, url: &str) -> Self {
        let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-');
        let name: String = url.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
        // Names are limited; two URLs with the same one have the file in turns.
        let name = &name[..name.len().min(MAX_NAME)];
        Self { path: folder.join(format!("{name}.jwks")), url: url.to_owned() }
    }

    /// The text of the key set, if it is young enough.
    pub(crate) fn read(&self, now: SystemTime) -> Option<String> {
        let age = now.duration_since(fs::metadata(&self.path).ok()?.modified().ok()?).unwrap_or_default();
        let text = fs::read_to_string(&self.path).ok().filter(|_| age <= MAX_AGE)?;
        let (url, keys) = text.split_once('\n')?;
        (url == self.url).then(|| keys.to_owned())
    }

    /// Keeps a text in place of the one before.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        fs::write(&beside, format!("{}\n{text}", self.url)).and_then(|()| fs::rename(&beside, &self.path))
    }

    /// The text is still the one of the server.
    pub(crate) fn confirm(&self) -> io::Result<()> {
        fs::File::options().append(true).open(&self.path)?.set_modified(time::wall())
    }
}

/// Names of files have at most 255 bytes.
const MAX_NAME: usize = 200;

/// Older keys are not used: the issuer may have withdrawn them, and nobody has asked it since.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_for_their_url_and_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let long = format!("https://a.example/{}?b", "x".repeat(1000));
        for url in ["https://a.example/jwks.json?a=../b", "http://[::1]:80/", &long] {
            let kept = KeptKeys::new(folder.path(), url);
            assert_eq!(kept.read(SystemTime::now()), None);
            kept.write("{\n}").unwrap();
            kept.confirm().unwrap();
            let later = |hours: u64| SystemTime::now() + Duration::from_secs(hours * 3600);
            assert_eq!(kept.read(later(23)).as_deref(), Some("{\n}"));
            assert_eq!(kept.read(later(25)), None);
        }
        let other = KeptKeys::new(folder.path(), "http://[__1]:80/");
        assert_eq!(other.read(SystemTime::now()), None, "of the same name, for another URL");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
