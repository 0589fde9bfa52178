//! `serow check --script-test`: cases that a script has to pass.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use serow_config::printable::on_one_line;
use serow_scripts::{ScriptTest, TestOutcome};
use tokio::runtime::Builder;
use tracing::level_filters::LevelFilter;

use crate::{command_error::CommandError, error_log};

/// Runs all cases of these tests, and says which fail.
pub(crate) fn run(files: &[PathBuf]) -> Result<(), CommandError> {
    // Errors of scripts come with their line and the calls that led there.
    error_log::begin(LevelFilter::INFO);
    let (mut failed, mut all) = (0, 0);
    for file in files {
        let outcomes = run_file(file)?;
        all += outcomes.len();
        failed += outcomes.iter().filter(|outcome| !outcome.problems.is_empty()).count();
    }
    match failed {
        0 => Ok(()),
        failed => Err(CommandError::report(format!("{failed} of {all} cases failed"))),
    }
}

fn run_file(file: &Path) -> Result<Vec<TestOutcome>, CommandError> {
    let test = ScriptTest::read(file).map_err(|error| CommandError::report(about(file, &error.to_string())))?;
    let runtime = Builder::new_current_thread().enable_time().build().map_err(CommandError::system)?;
    let outcomes = runtime.block_on(test.run());
    let passed = outcomes.iter().filter(|outcome| outcome.problems.is_empty()).count();
    let all = outcomes.len();
    let mut lines = format!("{}: {passed} of {all} cases passed, {}\n", file.display(), test.script_name());
    for TestOutcome { name, problems } in &outcomes {
        for problem in problems {
            lines.push_str(&format!("  {}: {}\n", on_one_line(name), on_one_line(problem)));
        }
    }
    write!(io::stdout(), "{lines}").map_err(CommandError::output)?;
    Ok(outcomes)
}

/// An error with the path of the test, which most errors begin with, or with its name.
fn about(file: &Path, error: &str) -> String {
    let path = file.display().to_string();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let rest =
        [&*path, &*name].into_iter().find_map(|known| error.strip_prefix(known).filter(|rest| rest.starts_with(':')));
    match rest {
        Some(rest) => format!("{path}{rest}"),
        None => format!("{path}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_test_once() {
        for (error, expected) in [
            ("tests/a.lua: No such file", "tests/a.lua: No such file"),
            ("a.lua:3: unexpected symbol", "tests/a.lua:3: unexpected symbol"),
            ("b.lua:3: unexpected symbol", "tests/a.lua: b.lua:3: unexpected symbol"),
            ("a.luac", "tests/a.lua: a.luac"),
        ] {
            assert_eq!(about(Path::new("tests/a.lua"), error), expected);
        }
    }
}
