//! Restricting the files that this process can open (Landlock, landlock(7)).
//!
//! A restriction holds for what is opened from then on, by path or below an open folder; what is open stays open. The
//! network is not restricted, nor are connections to unix sockets.

use std::{
    fmt,
    io::{self, ErrorKind},
    path::PathBuf,
};

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, make_bitflags,
};

use crate::process::require_one_thread;

/// The access to the files below a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAccess {
    /// Reading files, and listing folders.
    Read,
    /// Reading, writing, creating and removing regular files.
    Write,
    /// As [`Self::Write`], and creating, removing and moving folders.
    Change,
}

impl FileAccess {
    fn rights(self) -> BitFlags<AccessFs> {
        match self {
            Self::Read => make_bitflags!(AccessFs::{ReadFile | ReadDir}),
            Self::Write => make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | MakeReg | RemoveFile}),
            Self::Change => {
                let folders = make_bitflags!(AccessFs::{ReadDir | MakeDir | RemoveDir | Refer});
                Self::Write.rights() | folders
            }
        }
    }
}

/// A path, and the access to the file, or to everything below the folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowedPath {
    /// The path, which is opened when the sandbox is made: the rule applies to the file that is there at that time.
    pub path: PathBuf,
    /// The access.
    pub access: FileAccess,
}

/// A restriction that is ready to be applied: the paths have been opened, with the rights of this moment.
#[derive(Debug)]
pub struct Sandbox(RulesetCreated);

/// The restriction of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restriction {
    /// The version of Landlock's interface in the kernel.
    pub abi: i32,
}

/// Why a process is not restricted.
#[derive(Debug)]
pub enum Unrestricted {
    /// The kernel was built without Landlock, or is older than 5.13, or something hides it (seccomp).
    NotImplemented,
    /// Landlock is in the kernel, and was not switched on when it started (`lsm=`).
    NotEnabled,
    /// Restricting failed.
    Failed(io::Error),
}

impl Sandbox {
    /// Opens the paths. Those that do not exist are left out: nothing can be opened there until something is created.
    ///
    /// # Errors
    ///
    /// A path that cannot be opened, or an error of the kernel. A kernel without Landlock is not an error here.
    pub fn new(paths: &[AllowedPath]) -> Result<Self, Unrestricted> {
        let mut rules = Ruleset::default().handle_access(AccessFs::from_all(NEWEST)).and_then(Ruleset::create);
        for AllowedPath { path, access } in paths {
            let opened = match PathFd::new(path) {
                Ok(opened) => opened,
                Err(error) => match io_error(&error) {
                    error if error.kind() == ErrorKind::NotFound => continue,
                    error => return Err(Unrestricted::Failed(error)),
                },
            };
            rules = rules.and_then(|rules| rules.add_rule(PathBeneath::new(opened, access.rights())));
        }
        rules.map(Self).map_err(|error| Unrestricted::Failed(io_error(&error)))
    }

    /// Restricts this process for good, and all that it starts. Programs that it executes get no other rights by
    /// set-user-ID bits (PR_SET_NO_NEW_PRIVS, prctl(2)).
    ///
    /// # Errors
    ///
    /// A kernel without Landlock, and a process with several threads, of which the others would stay unrestricted.
    pub fn enter(self) -> Result<Restriction, Unrestricted> {
        require_one_thread().map_err(Unrestricted::Failed)?;
        let status = self.0.restrict_self().map_err(|error| Unrestricted::Failed(io_error(&error)))?;
        restriction(&status)
    }
}

fn restriction(status: &RestrictionStatus) -> Result<Restriction, Unrestricted> {
    match (status.landlock, &status.ruleset) {
        (LandlockStatus::NotEnabled, _) => Err(Unrestricted::NotEnabled),
        (LandlockStatus::NotImplemented, _) => Err(Unrestricted::NotImplemented),
        (LandlockStatus::Available { .. }, RulesetStatus::NotEnforced) => {
            Err(Unrestricted::Failed(ErrorKind::Unsupported.into()))
        }
        (LandlockStatus::Available { effective_abi, kernel_abi }, _) => {
            Ok(Restriction { abi: kernel_abi.unwrap_or(effective_abi as i32) })
        }
    }
}

/// The operating system's error that another error wraps.
fn io_error(error: &(dyn std::error::Error + 'static)) -> io::Error {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    let number = causes.find_map(|error| error.downcast_ref::<io::Error>()?.raw_os_error());
    number.map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error)
}

/// The newest interface whose rights about files are used, as far as the kernel has them: Linux 6.10, with ioctl(2) on
/// devices. Interface 9 is the first that would restrict connecting to unix sockets.
const NEWEST: ABI = ABI::V5;

impl fmt::Display for Restriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "landlock ABI {}", self.abi)
    }
}

impl fmt::Display for Unrestricted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotImplemented => f.write_str("the kernel has no Landlock"),
            Self::NotEnabled => f.write_str("Landlock is not enabled in the kernel"),
            Self::Failed(error) => write!(f, "Landlock failed: {error}"),
        }
    }
}

impl std::error::Error for Unrestricted {}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path, process::Command};

    use super::*;

    #[test]
    fn a_restricted_process_opens_only_what_is_allowed() {
        // A restriction holds for a whole process, and for good, so other tests must not be in it.
        let folder = tempfile::tempdir().unwrap();
        for name in ["read", "written", "other"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("file"), name).unwrap();
        }
        let itself = env::current_exe().unwrap();
        let name = "sandbox::tests::in_a_restricted_process";
        let mut command = Command::new(itself);
        command.args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).env(FOLDER, folder.path());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        if text.contains("SKIPPED") {
            eprintln!("SKIPPED: this kernel has no Landlock, so nothing is restricted here");
        }
    }

    #[test]
    #[ignore = "restricts its process; a_restricted_process_opens_only_what_is_allowed starts one for it"]
    fn in_a_restricted_process() {
        let folder = PathBuf::from(env::var_os(FOLDER).unwrap());
        let path = |name: &str| folder.join(name);
        let allowed = |name: &str, access| AllowedPath { path: path(name), access };
        let paths = [
            allowed("read", FileAccess::Read),
            allowed("written", FileAccess::Write),
            allowed("missing", FileAccess::Read),
        ];
        let sandbox = Sandbox::new(&paths).unwrap();
        // The test has a thread of its own, beside that of the program, which only waits for it.
        let status = restriction(&sandbox.0.restrict_self().unwrap());
        let abi = match status {
            Ok(restriction) => restriction.abi,
            Err(Unrestricted::NotImplemented | Unrestricted::NotEnabled) => return println!("SKIPPED: no Landlock"),
            Err(Unrestricted::Failed(error)) => panic!("{error}"),
        };
        let denied = |outcome: io::Result<()>| assert_eq!(outcome.unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert!(abi >= 1);
        assert_eq!(fs::read_to_string(path("read/file")).unwrap(), "read");
        assert_eq!(fs::read_dir(path("read")).unwrap().count(), 1);
        denied(fs::write(path("read/file"), ""));
        denied(fs::write(path("read/new"), ""));
        assert_eq!(fs::read_to_string(path("written/file")).unwrap(), "written");
        fs::write(path("written/new"), "").unwrap();
        fs::remove_file(path("written/new")).unwrap();
        denied(fs::read_to_string(path("other/file")).map(drop));
        denied(fs::read_dir(path("other")).map(drop));
        denied(fs::read_to_string(Path::new("/etc/passwd")).map(drop));
        denied(Command::new("/bin/true").status().map(drop));
        std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    }

    #[test]
    fn a_process_with_several_threads_is_not_restricted() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || receiver.recv().is_err());
        assert!(matches!(Sandbox::new(&[]).unwrap().enter(), Err(Unrestricted::Failed(_))));
        drop(sender);
        assert!(other.join().unwrap());
        fs::read_to_string("/etc/passwd").unwrap();
    }

    /// The variable that names the folder for the restricted process.
    const FOLDER: &str = "SEROW_TEST_SANDBOX_FOLDER";
}
