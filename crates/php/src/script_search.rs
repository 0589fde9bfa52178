//! The search for the script in a path.

use serow_files::{Located, Root, real_path};
use serow_gateway::{CgiScript, decoded_path};

use crate::{path_names::PathNames, settings::PhpSettings};

/// A search in an open folder.
pub(crate) struct ScriptSearch<'a> {
    pub(crate) root: &'a Root,
    pub(crate) settings: &'a PhpSettings,
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

    /// The script that answers for a folder at this path, which has no slash at either end.
    pub(crate) fn index_of(&self, folder: &[u8]) -> Search {
        let names = self.settings.index.iter();
        let found = names.map(|name| self.at(&serow_files::below(folder, name.as_bytes())));
        found.into_iter().find(|search| *search != Search::Nothing).unwrap_or(Search::Nothing)
    }

    /// The front controller.
    pub(crate) fn front_controller(&self) -> Option<CgiScript> {
        let path = self.settings.front_controller()?.as_bytes();
        match self.located(path)? {
            Located::File(file) => Some(self.script(path, &file)),
            Located::Folder(_) => None,
        }
    }

    /// Whether there is a folder at this path.
    pub(crate) fn is_folder(&self, path: &[u8]) -> bool {
        matches!(self.located(path), Some(Located::Folder(_)))
    }

    /// The script at this path.
    fn at(&self, path: &[u8]) -> Search {
        match self.located(path) {
            Some(Located::File(_)) if !self.settings.allows(&[b"/", path].concat()) => Search::Forbidden,
            Some(Located::File(file)) => Search::Found(self.script(path, &file)),
            Some(Located::Folder(_)) | None => Search::Nothing,
        }
    }

    fn located(&self, path: &[u8]) -> Option<Located> {
        self.root.locate(path)
    }

    fn script(&self, path: &[u8], file: impl std::os::fd::AsFd) -> CgiScript {
        let name = [b"/", path].concat();
        let (document_root, filename) = match &self.settings.root_in_php {
            Some(root) => (root.clone(), [root.as_slice(), &name].concat()),
            None => {
                let root = self.root.real_path();
                let filename = real_path(file).unwrap_or_else(|| [root.as_slice(), &name].concat());
                (root, filename)
            }
        };
        CgiScript { filename, name, path_info: None, document_root }
    }
}

/// Whether PHP runs a file of this name. Names in capitals are those of uploads, and php-fpm does not run them either.
fn is_script(name: &[u8]) -> bool {
    name.ends_with(b".php") && name.len() > b".php".len()
}
