//! The environment variables of workers, which come from options and from files that may change at run time.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{BufRead, BufReader},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{Settings, machine::Rules};

/// Variables in addition to, or in place of, those of this process.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// The sources of variables. Files take precedence over options, and those over this process's own environment.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The variables from options.
    options: Variables,
    /// The folder with a file for each variable.
    folder: Option<PathBuf>,
}

impl Environment {
    /// The environment with the variables of the options.
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut options = Variables::new();
        let mut set = |name: &str, value: OsString| drop(options.insert(name.into(), value));
        if settings.auto_restart {
            set(ENABLE_AUTO_RESTART, "1".into());
        }
        if let Some(interval) = settings.auto_restart_interval {
            set(AUTO_RESTART_INTERVAL, interval.as_secs_f64().to_string().into());
        }
        if let Some(delay) = settings.kill_old_delay {
            set(KILL_OLD_DELAY, delay.as_secs_f64().to_string().into());
        }
        if let Some(folder) = &settings.environment_folder {
            set(ENVDIR, folder.into());
        }
        let folder = settings.environment_folder.clone().or_else(|| env::var_os(ENVDIR).map(PathBuf::from));
        Self { options, folder }
    }

    /// The current variables. The variable of a deleted file is not set.
    pub(crate) fn variables(&self) -> Variables {
        let mut variables = self.options.clone();
        variables.extend(self.folder.iter().flat_map(|folder| read_folder(folder)));
        if is_on(&variables) && seconds(&variables, AUTO_RESTART_INTERVAL).is_none_or(|interval| interval.is_zero()) {
            variables.insert(AUTO_RESTART_INTERVAL.into(), DEFAULT_INTERVAL.as_secs().to_string().into());
        }
        variables
    }

    /// Whether the variables may change.
    pub(crate) fn may_change(&self) -> bool {
        self.folder.is_some()
    }
}

/// The rules for ending old workers that these variables contain.
pub(crate) fn rules(variables: &Variables) -> Rules {
    let is_on = is_on(variables);
    let kill_old_delay = seconds(variables, KILL_OLD_DELAY);
    let default_delay = if is_on { DELAY_OF_AUTO_RESTART } else { Duration::ZERO };
    Rules {
        auto_restart: is_on.then(|| seconds(variables, AUTO_RESTART_INTERVAL).unwrap_or(DEFAULT_INTERVAL)),
        kill_old_delay: kill_old_delay.unwrap_or(default_delay),
    }
}

/// True as in Perl: neither empty nor 0.
fn is_on(variables: &Variables) -> bool {
    value(variables, ENABLE_AUTO_RESTART).is_some_and(|value| !value.is_empty() && value != "0")
}

fn value(variables: &Variables, name: &str) -> Option<OsString> {
    variables.get(OsStr::new(name)).cloned().or_else(|| env::var_os(name))
}

fn seconds(variables: &Variables, name: &str) -> Option<Duration> {
    let text = value(variables, name)?;
    text.to_str()?.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// The first line of each file, except those whose name begins with a dot. Unreadable files are left out.
fn read_folder(folder: &Path) -> Variables {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_variable = |name: &OsStr| !name.as_bytes().starts_with(b".") && !name.as_bytes().contains(&b'=');
    let named = entries.map(|entry| (entry.file_name(), entry.path())).filter(|(name, _)| is_variable(name));
    named.filter_map(|(name, path)| Some((name, first_line(&path)?))).collect()
}

/// `None` if the file is empty: then it does not set the variable.
fn first_line(path: &Path) -> Option<OsString> {
    let mut line = Vec::new();
    // A pipe would keep the supervisor waiting.
    let file = Some(path).filter(|path| path.is_file()).and_then(|path| File::open(path).ok())?;
    BufReader::new(file).read_until(b'\n', &mut line).ok().filter(|length| *length > 0)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    // No variable can hold a zero byte.
    (!line.contains(&0)).then(|| OsString::from_vec(line))
}

const ENVDIR: &str = "ENVDIR";
const ENABLE_AUTO_RESTART: &str = "ENABLE_AUTO_RESTART";
const AUTO_RESTART_INTERVAL: &str = "AUTO_RESTART_INTERVAL";
const KILL_OLD_DELAY: &str = "KILL_OLD_DELAY";

/// Server::Starter's, for AUTO_RESTART_INTERVAL.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(360);

/// Server::Starter's KILL_OLD_DELAY where there is automatic restart.
const DELAY_OF_AUTO_RESTART: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn a_file_is_a_variable() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("A", "1\n2\n"), ("B", "x"), ("EMPTY", ""), ("LINE", "\n"), (".hidden", "1"), ("Z", "a\0b")]
        {
            fs::write(folder.path().join(name), text).unwrap();
        }
        fs::create_dir(folder.path().join("FOLDER")).unwrap();
        assert_eq!(read_folder(folder.path()), variables(&[("A", "1"), ("B", "x"), ("LINE", "")]));
        assert_eq!(read_folder(Path::new("/nowhere/at/all")), Variables::new());
    }

    #[test]
    fn rules_are_read_of_variables() {
        let rule = |auto: Option<u64>, delay| Rules {
            auto_restart: auto.map(Duration::from_secs),
            kill_old_delay: Duration::from_millis(delay),
        };
        let cases: [(&[(&str, &str)], Rules); 7] = [
            (&[], rule(None, 0)),
            (&[(KILL_OLD_DELAY, "2")], rule(None, 2000)),
            (&[(KILL_OLD_DELAY, "0.5")], rule(None, 500)),
            (&[(ENABLE_AUTO_RESTART, "1")], rule(Some(360), 5000)),
            (&[(ENABLE_AUTO_RESTART, "0"), (AUTO_RESTART_INTERVAL, "7")], rule(None, 0)),
            (&[(ENABLE_AUTO_RESTART, ""), (KILL_OLD_DELAY, "-1")], rule(None, 0)),
            (&[(ENABLE_AUTO_RESTART, "yes"), (AUTO_RESTART_INTERVAL, "7"), (KILL_OLD_DELAY, "0")], rule(Some(7), 0)),
        ];
        for (pairs, expected) in cases {
            assert_eq!(rules(&variables(pairs)), expected, "{pairs:?}");
        }
    }
}
