//! Applications whose folders are recognised, and how they are served.

mod applications;

use std::path::{Path, PathBuf};

use serow_message::Pattern;

use self::applications::PRESETS;
use crate::php::settings::{CaselessPatterns, FrontController, Installer, PhpSettings};

/// A well-known application: which of its scripts are for visitors, and which of its files are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name, as a setting has it: `wordpress`.
    pub name: &'static str,
    /// Its name for people: `WordPress`.
    pub title: &'static str,
    /// Paths that only this application has, all of them.
    markers: &'static [&'static str],
    /// The folder below it that is served; empty for itself.
    root: &'static str,
    /// Scripts that visitors may run, as patterns; all if there are none.
    entry_points: &'static [&'static str],
    /// Folders to which visitors upload files.
    without_scripts: &'static [&'static str],
    /// Paths that visitors must not see.
    hidden: &'static [&'static str],
    installer: Option<Installer>,
    front_controller: Front,
}

/// The script for paths that are neither scripts nor files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Front {
    Index,
    Off,
}

impl Preset {
    /// The application in a folder, if it is a known one.
    #[must_use]
    pub fn of_folder(folder: &Path) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.markers.iter().all(|marker| folder.join(marker).exists()))
    }

    /// The application whose served folder this is.
    #[must_use]
    pub fn of_root(root: &Path) -> Option<&'static Self> {
        let above = root.parent().unwrap_or(root);
        Self::of_folder(root)
            .filter(|preset| preset.root.is_empty())
            .or_else(|| Self::of_folder(above).filter(|preset| !preset.root.is_empty() && root.ends_with(preset.root)))
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|preset| preset.name)
    }

    /// Whether a folder of the application is served, and not the application itself.
    #[must_use]
    pub fn is_below_application(&self) -> bool {
        !self.root.is_empty()
    }

    /// The folder that is served, where the application is in this one.
    #[must_use]
    pub fn root(&self, folder: &Path) -> PathBuf {
        if self.root.is_empty() { folder.to_owned() } else { folder.join(self.root) }
    }

    /// How it is served.
    #[must_use]
    pub fn settings(&self) -> PhpSettings {
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(text)).collect();
        PhpSettings {
            entry_points: (!self.entry_points.is_empty()).then(|| patterns(self.entry_points)),
            without_scripts: CaselessPatterns::new(self.without_scripts),
            hidden: CaselessPatterns::new(self.hidden),
            installer: self.installer,
            front_controller: match self.front_controller {
                Front::Index => FrontController::IfPresent,
                Front::Off => FrontController::Off,
            },
            ..PhpSettings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn each_application_is_recognised_by_its_files() {
        for preset in &PRESETS {
            let folder = folder(preset.markers);
            assert_eq!(Preset::of_folder(folder.path()).map(|found| found.name), Some(preset.name));
            assert_eq!(Preset::of_root(&preset.root(folder.path())).map(|found| found.title), Some(preset.title));
            assert_eq!(Preset::named(preset.name), Some(preset));
        }
        let plain = folder(&["index.php", "a.txt"]);
        assert_eq!(Preset::of_folder(plain.path()), None);
        assert_eq!(Preset::of_root(plain.path()), None);
        // The folder above is another matter.
        let laravel = folder(&["public/index.php", "storage/a"]);
        assert_eq!(Preset::of_root(&laravel.path().join("storage")), None);
    }

    #[test]
    fn the_installer_of_roundcube_is_hidden_if_there_are_settings_at_the_start() {
        for (files, expected) in [
            (&["program/include/iniset.php", "skins/a"][..], false),
            (&["program/include/iniset.php", "skins/a", "config/config.inc.php"], true),
        ] {
            let folder = folder(files);
            let settings = Preset::of_folder(folder.path()).unwrap().settings();
            assert_eq!(settings.hides(b"/installer/client.js", folder.path()), expected);
            assert_eq!(settings.allows(b"/installer/index.php"), !expected);
            assert!(settings.hides(b"/config/config.inc.php", folder.path()));
        }
    }

    #[test]
    fn an_installer_is_hidden_as_soon_as_its_settings_are_there() {
        for (name, makes, paths) in [
            ("mediawiki", "LocalSettings.php", ["/mw-config/", "/MW-Config/index.php", "/mw-config/config.css"]),
            ("dokuwiki", "conf/local.php", ["/install.php", "/Install.PHP", "/install.php/x"]),
        ] {
            let preset = Preset::named(name).unwrap();
            let settings = preset.settings();
            let folder = folder(preset.markers);
            let hides = |path: &str| settings.hides(path.as_bytes(), folder.path());
            assert_eq!(paths.map(hides), [false; 3], "{name}");
            let path = folder.path().join(makes);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            assert_eq!(paths.map(hides), [true; 3], "{name}");
            assert!(!hides("/index.php"));
        }
    }
}
