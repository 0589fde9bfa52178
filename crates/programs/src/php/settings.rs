//! Settings of a folder of scripts.

use std::path::Path;

use serow_message::Pattern;

/// Which scripts of a folder run.
#[derive(Clone, Debug)]
pub struct PhpSettings {
    /// Scripts that clients may run, as patterns for their paths; all by default. Those that are not among them answer 404:
    /// an application's front controller includes them.
    pub entry_points: Option<Vec<Pattern>>,
    /// Paths whose scripts never run: folders of uploads.
    pub without_scripts: CaselessPatterns,
    /// Paths that answer 404, whether they are scripts or files: those that only the application itself reads.
    pub hidden: CaselessPatterns,
    /// The installer of the application, which answers until it has done its work.
    pub installer: Option<Installer>,
    /// The script that answers requests for which there is neither a script nor a file.
    pub front_controller: FrontController,
    /// Files that answer for a folder: the first that exists. Those that end in `.php` run; others are sent, and are in the
    /// settings of the files as well.
    pub index: Vec<String>,
    /// The path of the folder as php-fpm sees it, where that is another one: in a container. By default it is the real path
    /// of the folder.
    pub root_in_php: Option<Vec<u8>>,
}

/// The installer of an application: once there are settings, nobody may install the application a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installer {
    /// The path of its script, or of its folder, which has a slash at both ends.
    pub(crate) path: &'static str,
    /// The file that it makes, below the folder of the application: as soon as it is there, the installer is hidden.
    pub(crate) makes: &'static str,
}

impl Installer {
    /// Whether this path, which begins with a slash, is its own.
    fn has(&self, path: &[u8]) -> bool {
        path.get(..self.path.len()).is_some_and(|start| start.eq_ignore_ascii_case(self.path.as_bytes()))
    }

    /// Whether it has done its work in the application at this path. A link counts that leads out of it, as in Debian; and
    /// so does a file about which the system says nothing.
    fn is_done(&self, root: &Path) -> bool {
        root.join(self.makes).try_exists().unwrap_or(true)
    }
}

/// Patterns of paths, compared without regard to letter case: a file system may not tell `Uploads` from `uploads`.
#[derive(Clone, Debug, Default)]
pub struct CaselessPatterns(Vec<Pattern>);

impl CaselessPatterns {
    /// These patterns.
    #[must_use]
    pub fn new<T: AsRef<str>>(patterns: impl IntoIterator<Item = T>) -> Self {
        Self(patterns.into_iter().map(|pattern| Pattern::new(&pattern.as_ref().to_ascii_lowercase())).collect())
    }

    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let lower = path.to_ascii_lowercase();
        self.0.iter().any(|pattern| pattern.matches(&lower))
    }
}

/// The script that answers requests for which there is neither a script nor a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontController {
    /// The `index.php` of the folder, where there is one.
    IfPresent,
    /// The script at this path below the folder, without a slash before it.
    At(String),
    /// None: such requests are answered with 404.
    Off,
}

impl Default for PhpSettings {
    fn default() -> Self {
        Self {
            entry_points: None,
            without_scripts: CaselessPatterns::default(),
            hidden: CaselessPatterns::default(),
            installer: None,
            front_controller: FrontController::IfPresent,
            index: vec![INDEX.to_owned()],
            root_in_php: None,
        }
    }
}

impl PhpSettings {
    /// Whether the script at this path, which begins with a slash, may be run.
    pub(crate) fn allows(&self, path: &[u8]) -> bool {
        !self.has_no_scripts(path)
            && self.entry_points.as_ref().is_none_or(|all| all.iter().any(|pattern| pattern.matches(path)))
    }

    /// Whether the application at this path hides a path, which begins with a slash.
    pub(crate) fn hides(&self, path: &[u8], root: &Path) -> bool {
        self.hidden.contains(path)
            || self.installer.is_some_and(|installer| installer.has(path) && installer.is_done(root))
    }

    /// Whether the scripts at this path, which begins with a slash, never run.
    pub(crate) fn has_no_scripts(&self, path: &[u8]) -> bool {
        self.without_scripts.contains(path)
    }

    /// The path of the front controller below the folder.
    pub(crate) fn front_controller(&self) -> Option<&str> {
        match &self.front_controller {
            FrontController::IfPresent => Some(INDEX),
            FrontController::At(path) => Some(path),
            FrontController::Off => None,
        }
    }
}

/// The script that PHP's own guides, and nearly all applications, have at the top of their folder.
const INDEX: &str = "index.php";
