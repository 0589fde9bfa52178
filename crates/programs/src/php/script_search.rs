//! The search for the script in a path.

use std::cell::RefCell;

use serow_files::{Located, Root, real_path};
use serow_gateway::{CgiScript, PathNames, decoded_path};

use crate::php::{known_scripts::KnownScripts, settings::PhpSettings};

/// A search in an open folder.
pub(crate) struct ScriptSearch<'a> {
    pub(crate) root: &'a Root,
    pub(crate) settings: &'a PhpSettings,
    pub(crate) known: &'a RefCell<KnownScripts>,
    /// In milliseconds.
    pub(crate) now: u64,
}

/// The script in a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// This one runs.
    Found(CgiScript),
    /// There is one, and clients may not run it.
    Forbidden,
    /// There is none.
    Nothing,
}

impl ScriptSearch<'_> {
    /// The first name in the path that is a script, and PATH_INFO behind it.
    pub(crate) fn in_path(&self, names: &PathNames, encoded: &str) -> Search {
        for (place, name) in names.iter().enumerate() {
            if !is_script(&name.text) {
                continue;
            }
            let Some(path) = names.joined(place + 1) else { return Search::Nothing };
            match self.at(&path) {
                Search::Nothing => {}
                Search::Forbidden => return Search::Forbidden,
                Search::Found(_) if names.has_hidden(place + 1) => return Search::Forbidden,
                Search::Found(script) => {
                    let rest = names.behind(place + 1, encoded);
                    let path_info = (!rest.is_empty()).then(|| decoded_path(rest).into_owned());
                    return Search::Found(CgiScript { path_info, ..script });
                }
            }
        }
        Search::Nothing
    }

    /// The script that answers for a folder at this path, which has no slash at either end; none where a page comes first.
    pub(crate) fn index_of(&self, folder: &[u8]) -> Option<CgiScript> {
        for name in &self.settings.index {
            let path = serow_files::below(folder, name.as_bytes());
            if !is_script(name.as_bytes()) {
                if let Some(Located::File(_)) = self.located(&path) {
                    return None;
                }
            } else if let Search::Found(script) = self.at(&path) {
                return Some(script);
            }
        }
        None
    }

    /// The front controller.
    pub(crate) fn front_controller(&self) -> Option<CgiScript> {
        let path = self.settings.front_controller()?.as_bytes();
        if let Some(script) = self.known.borrow().front_controller(self.now) {
            return Some(script);
        }
        let Located::File(file) = self.located(path)? else { return None };
        let root = self.root.real_path();
        let real = real_path(file).unwrap_or_else(|| [root.as_slice(), b"/", path].concat());
        let script = self.script([b"/", path].concat(), real, root);
        self.known.borrow_mut().keep_front_controller(&script, self.now);
        Some(script)
    }

    /// Whether there is a folder at this path.
    pub(crate) fn is_folder(&self, path: &[u8]) -> bool {
        matches!(self.located(path), Some(Located::Folder(_)))
    }

    /// Whether there is a file at this path.
    pub(crate) fn is_file(&self, path: &[u8]) -> bool {
        matches!(self.located(path), Some(Located::File(_)))
    }

    /// The script at this path.
    fn at(&self, path: &[u8]) -> Search {
        if let Some(script) = self.known.borrow().at(path, self.now) {
            return Search::Found(script);
        }
        let Some(Located::File(file)) = self.located(path) else { return Search::Nothing };
        let root = self.root.real_path();
        let real = real_path(file).unwrap_or_else(|| [root.as_slice(), b"/", path].concat());
        // A link whose name is that of a script does not make one of a picture.
        if !is_script(&real) {
            return Search::Nothing;
        }
        let name = [b"/", path].concat();
        // A link to a folder of uploads has another path than the one that the settings name.
        let below = real.strip_prefix(root.as_slice()).filter(|below| below.starts_with(b"/") && *below != name);
        if !self.settings.allows(&name) || below.is_some_and(|below| self.settings.has_no_scripts(below)) {
            return Search::Forbidden;
        }
        let script = self.script(name, real, root);
        self.known.borrow_mut().keep(path, &script, self.now);
        Search::Found(script)
    }

    fn located(&self, path: &[u8]) -> Option<Located> {
        self.root.locate(path)
    }

    fn script(&self, name: Vec<u8>, real: Vec<u8>, root: Vec<u8>) -> CgiScript {
        let (document_root, filename) = match &self.settings.root_in_php {
            Some(root) => (root.clone(), [root.as_slice(), &name].concat()),
            None => (root, real),
        };
        CgiScript { filename, name, path_info: None, document_root }
    }
}

/// Whether PHP runs a file of this name. Names in capitals are those of uploads, and php-fpm does not run them either.
fn is_script(name: &[u8]) -> bool {
    name.ends_with(b".php") && name.len() > b".php".len()
}
