//! In development, reloads the application when a file in its folder changes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, SystemTime},
};

use crate::{settings::RunSettings, workers::Reloader};

/// Looks at the files of an application until this is dropped.
#[derive(Debug)]
pub(crate) struct FileWatcher {
    /// Dropping it stops the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FileWatcher {
    /// Looks at the files in a thread of its own.
    pub(crate) fn start(settings: &RunSettings, reloader: Reloader) -> Result<Self, String> {
        let (end, ended) = channel::<()>();
        let (name, say) = (settings.name.clone(), settings.output.take);
        let mut files = Files::of(settings.folder.clone());
        let watch = move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let Some(changed) = files.look() else { continue };
                let outcome = reloader.reload_now();
                let outcome =
                    outcome.map_or_else(|why| format!("kept the old code: {why}"), |()| "reloaded".to_owned());
                outcome.lines().for_each(|line| say(&name, 0, &format!("{} has changed: {line}", changed.display())));
            }
        };
        let thread = thread::Builder::new().name("serow-watch".to_owned()).spawn(watch);
        Ok(Self { end: Some(end), thread: Some(thread.map_err(|error| error.to_string())?) })
    }
}

impl Drop for FileWatcher {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}

/// Files and when they were changed.
struct Files {
    folder: PathBuf,
    seen: BTreeMap<PathBuf, SystemTime>,
}

impl Files {
    fn of(folder: PathBuf) -> Self {
        let seen = found(&folder);
        Self { folder, seen }
    }

    /// A file that was changed, added or removed since the last call.
    fn look(&mut self) -> Option<PathBuf> {
        let now = found(&self.folder);
        let before = std::mem::replace(&mut self.seen, now);
        let changed = self.seen.iter().find(|(path, time)| before.get(*path) != Some(time));
        let gone = || before.keys().find(|path| !self.seen.contains_key(*path));
        let path = changed.map(|(path, _)| path).or_else(gone)?;
        Some(path.strip_prefix(&self.folder).unwrap_or(path).to_owned())
    }
}

/// The application's code in this folder and below.
fn found(folder: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        // A folder that is unreadable or was removed has no files.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if kind.is_dir() {
                if !name.starts_with('.') && !PASSED_OVER.contains(&&*name) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| CODE.iter().any(|code| extension == *code)) {
                files.extend(entry.metadata().and_then(|metadata| metadata.modified()).map(|time| (path, time)));
            }
            if files.len() >= MOST {
                return files;
            }
        }
    }
    files
}

/// Folders of third-party code, and of files that the application writes itself.
const PASSED_OVER: [&str; 10] =
    ["node_modules", "vendor", "local", "venv", "__pycache__", "tmp", "log", "logs", "target", "coverage"];

/// Files that are loaded once: code, templates, settings.
const CODE: [&str; 34] = [
    "rb", "ru", "rake", "erb", "haml", "slim", "pl", "pm", "psgi", "t", "ep", "tt", "tx", "py", "html", "jinja",
    "jinja2", "j2", "txt", "js", "mjs", "cjs", "ts", "go", "yml", "yaml", "json", "toml", "ini", "conf", "env", "sql",
    "php", "twig",
];

/// The interval: shorter than switching from the editor to the browser.
const LOOK: Duration = Duration::from_millis(500);

/// The maximum of files; checking them takes some 10 ms.
const MOST: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_added_and_removed_files_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["lib", "node_modules", ".git"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("config.ru"), "").unwrap();
        let mut files = Files::of(folder.path().to_owned());
        assert_eq!(files.look(), None);
        fs::write(path("lib/a.rb"), "").unwrap();
        assert_eq!(files.look(), Some("lib/a.rb".into()));
        assert_eq!(files.look(), None);
        let later = SystemTime::now() + Duration::from_secs(5);
        fs::File::options().write(true).open(path("config.ru")).unwrap().set_modified(later).unwrap();
        assert_eq!(files.look(), Some("config.ru".into()));
        for passed_over in ["node_modules/a.js", ".git/a.rb", "site.sqlite3"] {
            fs::write(path(passed_over), "").unwrap();
        }
        assert_eq!(files.look(), None);
        fs::remove_file(path("lib/a.rb")).unwrap();
        assert_eq!(files.look(), Some("lib/a.rb".into()));
    }
}
