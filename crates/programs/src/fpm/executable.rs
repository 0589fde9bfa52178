//! The program php-fpm.

use std::{
    env,
    ffi::OsStr,
    fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::fs::{Access, access};

/// A program php-fpm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable(PathBuf);

/// Why there is no php-fpm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutableError {
    /// It is not installed.
    NotInstalled,
    /// There is no program of this name.
    NoSuchProgram(String),
    /// The program of this name is not php-fpm but the command `php`, or `php-cgi`.
    AnotherProgram(PathBuf),
}

impl Executable {
    /// The one with this name or at this path.
    ///
    /// # Errors
    ///
    /// If there is none, or it is evidently another program.
    pub fn named(name: &str) -> Result<Self, ExecutableError> {
        let is_path = name.contains('/');
        let found = match is_path {
            true => Some(PathBuf::from(name)).filter(|path| is_program(path)),
            false => folders().into_iter().map(|folder| folder.join(name)).find(|path| is_program(path)),
        };
        let path = found.ok_or_else(|| ExecutableError::NoSuchProgram(name.to_owned()))?;
        match path.file_name().and_then(OsStr::to_str) {
            Some(file) if file.starts_with("php") && !file.contains("fpm") => {
                Err(ExecutableError::AnotherProgram(path))
            }
            _ => Ok(Self(path)),
        }
    }

    /// The one of the command line's PHP, or the newest one that is installed.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn installed() -> Result<Self, ExecutableError> {
        let plain = folders().into_iter().map(|folder| folder.join(NAME)).find(|path| is_program(path));
        let path = plain.or_else(|| newest(&folders())).ok_or(ExecutableError::NotInstalled)?;
        Ok(Self(path))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Its version, as in `PHP 8.2.36 (fpm-fcgi)`.
    ///
    /// # Errors
    ///
    /// If it does not run.
    pub fn version(&self) -> Result<String, String> {
        let output = Command::new(&self.0).arg("-v").stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{} cannot be run: {error}", self.0.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().next().unwrap_or_default();
        Ok(line.split(" (built").next().unwrap_or(line).to_owned())
    }
}

impl fmt::Display for ExecutableError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled => formatter.write_str(
                "php-fpm is not installed: install it (Debian and Ubuntu: apt install php-fpm; Alpine: apk add php-fpm; \
                 images of Docker: the tag fpm), or name it with `interpreter`",
            ),
            Self::NoSuchProgram(name) => {
                write!(formatter, "there is no program {name}: install php-fpm, or write its path, as in /usr/sbin/php-fpm8.2")
            }
            Self::AnotherProgram(path) => {
                let path = path.display();
                write!(formatter, "{path} is not php-fpm: write the path of php-fpm, as in /usr/sbin/php-fpm8.2")
            }
        }
    }
}

impl std::error::Error for ExecutableError {}

/// php-fpm is beside daemons, where the PATH of users does not lead.
fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let of_daemons = ["/usr/local/sbin", "/usr/sbin"].map(PathBuf::from);
    env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(of_daemons).collect()
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// The one with the highest version in its name: `php-fpm8.2`, `php-fpm-8.3`, `php-fpm83`.
fn newest(folders: &[PathBuf]) -> Option<PathBuf> {
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let versions = entries.filter_map(|entry| Some((version(entry.file_name().to_str()?)?, entry.path())));
    versions.filter(|(_, path)| is_program(path)).max().map(|(_, path)| path)
}

fn version(name: &str) -> Option<(u32, u32)> {
    let digits = name.strip_prefix(NAME)?.trim_start_matches('-');
    let (major, minor) = digits.split_once('.').or_else(|| digits.split_at_checked(1))?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

const NAME: &str = "php-fpm";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_newest_version_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["php-fpm7.4", "php-fpm8.2", "php-fpm8.10", "php-fpm81", "php-fpm", "php-fpm9.9.conf", "php8.3"] {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        // Not a program.
        fs::write(folder.path().join("php-fpm8.99"), "").unwrap();
        let found = newest(&[folder.path().to_owned()]).unwrap();
        assert_eq!(found.file_name().unwrap(), "php-fpm8.10");
        assert_eq!(newest(&[]), None);
        for (name, expected) in
            [("php-fpm83", Some((8, 3))), ("php-fpm-8.3", Some((8, 3))), ("php-fpm", None), ("php8.2", None)]
        {
            assert_eq!(version(name), expected, "{name}");
        }
    }

    #[test]
    fn other_programs_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("php8.2");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(Executable::named(path.to_str().unwrap()), Err(ExecutableError::AnotherProgram(path)));
        let missing = "/nowhere/php-fpm";
        assert_eq!(Executable::named(missing), Err(ExecutableError::NoSuchProgram(missing.to_owned())));
    }
}
