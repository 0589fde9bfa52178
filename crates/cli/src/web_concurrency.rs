//! The variable `WEB_CONCURRENCY`, by which hosting platforms say how many processes an application has.

use std::{env, ffi::OsStr};

use serow_config::{options::ApplicationOptions, values::Count};

use crate::command_error::CommandError;

/// Runs as many processes as the environment says, if `--processes` does not: as Puma, gunicorn and uvicorn do.
///
/// # Errors
///
/// The variable is not a number of processes.
pub(crate) fn heed(options: &mut ApplicationOptions) -> Result<(), CommandError> {
    if options.processes.is_none() {
        options.processes = processes(env::var_os(VARIABLE).as_deref())?;
    }
    Ok(())
}

/// The number that the variable names, if it is set and not empty.
fn processes<const MIN: u32, const MAX: u32>(value: Option<&OsStr>) -> Result<Option<Count<MIN, MAX>>, CommandError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    match value.to_str().and_then(|text| text.trim().parse().ok()) {
        Some(count) => Ok(Some(count)),
        None => Err(CommandError::Usage(format!(
            "the environment has {VARIABLE}={value:?}, which is not a number of processes: set it to one from {MIN} to {MAX}, or \
             write --processes, which takes precedence"
        ))),
    }
}

const VARIABLE: &str = "WEB_CONCURRENCY";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_environment_are_read_or_refused_with_the_remedy() {
        let cases = [
            (None, Ok(None)),
            (Some(""), Ok(None)),
            (Some("3"), Ok(Some(3))),
            (Some(" 16\n"), Ok(Some(16))),
            (Some("0"), Err(())),
            (Some("17"), Err(())),
            (Some("auto"), Err(())),
        ];
        for (value, expected) in cases {
            let found = processes::<1, 16>(value.map(OsStr::new)).map(|count| count.map(Count::get));
            let found = found.map_err(|error| {
                let text = error.message();
                assert!(
                    text.starts_with("the environment has WEB_CONCURRENCY=\"") && text.contains("--processes"),
                    "{text}"
                );
            });
            assert_eq!(found, expected, "{value:?}");
        }
    }
}
