//! The cores that worker threads are pinned to: `auto`, `0-3`, `0,2,4-7`.

use std::{collections::HashSet, fmt, io, num::NonZeroUsize, str::FromStr};

use serow_net::cores::{MAX_CORES, allowed_cores, pin_thread};

use crate::Error;

/// The cores that worker threads are pinned to.
///
/// Its text is `auto`, or a list of cores and ranges of cores in the order of the workers: `0,2,4-7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCores(Choice);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Auto,
    /// At least one, and each once.
    List(Vec<usize>),
}

impl WorkerCores {
    /// The cores that the process may use, one for each worker in ascending order; if there are more workers than cores,
    /// again from the first one on. Processes that do so beside one another on a machine choose the same cores.
    #[must_use]
    pub fn auto() -> Self {
        Self(Choice::Auto)
    }

    /// The number of cores in the list, which is that of workers unless it is set; `None` of `auto`.
    #[must_use]
    pub fn count(&self) -> Option<NonZeroUsize> {
        match &self.0 {
            Choice::Auto => None,
            Choice::List(cores) => NonZeroUsize::new(cores.len()),
        }
    }

    /// The core of each worker.
    pub(crate) fn for_workers(&self, workers: usize) -> Result<Vec<usize>, WorkerCoresError> {
        let allowed = allowed_cores().map_err(WorkerCoresError::unknown)?;
        self.among(&allowed, workers)
    }

    fn among(&self, allowed: &[usize], workers: usize) -> Result<Vec<usize>, WorkerCoresError> {
        let cores = match &self.0 {
            Choice::Auto => allowed,
            Choice::List(cores) => cores,
        };
        match cores.iter().find(|core| !allowed.contains(core)) {
            Some(core) => Err(WorkerCoresError::refused(*core, allowed)),
            None => Ok(cores.iter().copied().cycle().take(workers).collect()),
        }
    }
}

/// Pins the calling thread, a worker, to this core.
pub(crate) fn pin(core: usize) -> Result<(), Error> {
    let failed = |_| match allowed_cores() {
        // They were others when the server was bound.
        Ok(allowed) => WorkerCoresError::refused(core, &allowed),
        Err(error) => WorkerCoresError::unknown(error),
    };
    Ok(pin_thread(core).map_err(failed)?)
}

impl FromStr for WorkerCores {
    type Err = WorkerCoresError;

    fn from_str(text: &str) -> Result<Self, WorkerCoresError> {
        if text == "auto" {
            return Ok(Self::auto());
        }
        let (mut cores, mut known) = (Vec::new(), HashSet::new());
        for part in text.split(',').map(|part| part.trim_matches(' ')) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Some(first), Some(last)) = (number(first), number(last)) else {
                return Err(WorkerCoresError::syntax(text));
            };
            if let Some(core) = [first, last].into_iter().find(|core| *core >= MAX_CORES) {
                return Err(WorkerCoresError::beyond(core));
            }
            if first > last {
                return Err(WorkerCoresError::reversed(first, last));
            }
            for core in first..=last {
                if !known.insert(core) {
                    return Err(WorkerCoresError::twice(core));
                }
                cores.push(core);
            }
        }
        Ok(Self(Choice::List(cores)))
    }
}

/// A number of digits alone; one that is too large for any machine is the largest.
fn number(text: &str) -> Option<usize> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(usize::MAX))
}

impl fmt::Display for WorkerCores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Choice::Auto => f.write_str("auto"),
            Choice::List(cores) => f.write_str(&ranges(cores)),
        }
    }
}

/// Cores as a list with ranges, in their order.
fn ranges(cores: &[usize]) -> String {
    let runs = cores.chunk_by(|core, next| core + 1 == *next);
    let texts = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        run => run.iter().map(usize::to_string).collect(),
    });
    texts.collect::<Vec<_>>().join(",")
}

/// Why workers cannot be pinned to some cores. The message is one line that says what to do.
pub struct WorkerCoresError(Cause);

#[derive(Debug)]
enum Cause {
    Syntax(String),
    Beyond(usize),
    Reversed(usize, usize),
    Twice(usize),
    Refused { core: usize, allowed: String },
    Unknown(io::Error),
}

impl WorkerCoresError {
    fn syntax(text: &str) -> Self {
        Self(Cause::Syntax(text.to_owned()))
    }

    fn beyond(core: usize) -> Self {
        Self(Cause::Beyond(core))
    }

    fn reversed(first: usize, last: usize) -> Self {
        Self(Cause::Reversed(first, last))
    }

    fn twice(core: usize) -> Self {
        Self(Cause::Twice(core))
    }

    fn refused(core: usize, allowed: &[usize]) -> Self {
        Self(Cause::Refused { core, allowed: ranges(allowed) })
    }

    fn unknown(error: io::Error) -> Self {
        Self(Cause::Unknown(error))
    }
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for WorkerCoresError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for WorkerCoresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Syntax(text) => {
                write!(f, "{text:?} is not a list of cores: write auto, or numbers and ranges, as in 0,2,4-7")
            }
            Cause::Beyond(usize::MAX) => write!(f, "the last core can be {}", MAX_CORES - 1),
            Cause::Beyond(core) => write!(f, "there is no core {core}: the last one can be {}", MAX_CORES - 1),
            Cause::Reversed(first, last) => {
                write!(f, "the range {first}-{last} ends before it begins: write {last}-{first}")
            }
            Cause::Twice(core) => write!(
                f,
                "core {core} is in the list twice: leave it out once; where there are more workers than cores, the list is \
                 used again from its beginning"
            ),
            Cause::Refused { core, allowed } => write!(
                f,
                "workers cannot be pinned to core {core}: it does not exist, or this process may not use it; choose among \
                 the cores that it may use, {allowed}, or write auto"
            ),
            Cause::Unknown(error) => write!(
                f,
                "workers cannot be pinned to cores, since the system does not say which this process may use: {error}"
            ),
        }
    }
}

impl std::error::Error for WorkerCoresError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Cause::Unknown(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, String> {
        text.parse::<WorkerCores>().map(|cores| cores.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_are_written_in_their_order_with_ranges() {
        let cases = [
            ("auto", "auto"),
            ("0", "0"),
            ("0-3", "0-3"),
            ("3-3", "3"),
            ("0,2,4-7", "0,2,4-7"),
            ("0, 2 ,4-7", "0,2,4-7"),
            ("4-7,2,0", "4-7,2,0"),
            ("0,1,2", "0-2"),
            ("1,0", "1,0"),
            ("007", "7"),
            ("1023", "1023"),
            ("0-1023", "0-1023"),
        ];
        for (text, expected) in cases {
            assert_eq!(parsed(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_what_to_write() {
        let no_list =
            ["", " ", ",", "0,", ",0", "0,,1", "0 1", "0 - 3", "-1", "0-", "-", "0-1-2", "+1", "1.5", "0x1", "a"];
        for text in no_list.into_iter().chain(["Auto", "auto,1", "0-3:2", "0\n1", "0,\n1", "٣"]) {
            let expected = format!("{text:?} is not a list of cores: write auto, or numbers and ranges, as in 0,2,4-7");
            assert_eq!(parsed(text), Err(expected), "{text}");
        }
        let cases = [
            ("3-0", "the range 3-0 ends before it begins: write 0-3"),
            ("1024", "there is no core 1024: the last one can be 1023"),
            ("0-4000000000", "there is no core 4000000000: the last one can be 1023"),
            ("0-99999999999999999999999", "the last core can be 1023"),
        ];
        for (text, expected) in cases {
            assert_eq!(parsed(text), Err(expected.to_owned()), "{text}");
        }
        for text in ["1,1", "0-3,2", "2,0-3", "0,1-2,0-1"] {
            assert!(parsed(text).unwrap_err().contains(" is in the list twice: leave it out once"), "{text}");
        }
    }

    #[test]
    fn workers_get_cores_in_turn_among_those_that_are_allowed() {
        let cases: [(&str, &[usize], usize, &[usize]); 7] = [
            ("auto", &[0, 1, 2, 3], 4, &[0, 1, 2, 3]),
            ("auto", &[2, 5], 5, &[2, 5, 2, 5, 2]),
            ("auto", &[2, 5], 1, &[2]),
            ("auto", &[0], 2, &[0, 0]),
            ("3,1", &[0, 1, 2, 3], 2, &[3, 1]),
            ("3,1", &[0, 1, 2, 3], 3, &[3, 1, 3]),
            ("0-3", &[0, 1, 2, 3], 2, &[0, 1]),
        ];
        for (text, allowed, workers, expected) in cases {
            let cores = text.parse::<WorkerCores>().unwrap().among(allowed, workers).unwrap();
            assert_eq!(cores, expected, "{text} {allowed:?} {workers}");
        }
    }

    #[test]
    fn a_core_that_is_not_allowed_is_an_error_that_names_the_others() {
        let error = "0,3".parse::<WorkerCores>().unwrap().among(&[0, 1, 2, 5], 2).unwrap_err();
        let expected = "workers cannot be pinned to core 3: it does not exist, or this process may not use it; choose among \
                        the cores that it may use, 0-2,5, or write auto";
        assert_eq!(error.to_string(), expected);
        // Also where there are too few workers for it, so that an error is not found later.
        assert!("0,3".parse::<WorkerCores>().unwrap().among(&[0, 1], 1).is_err());
    }

    #[test]
    fn a_list_says_how_many_workers_there_are() {
        let count = |text: &str| text.parse::<WorkerCores>().unwrap().count().map(NonZeroUsize::get);
        assert_eq!((count("auto"), count("0"), count("0,2,4-7")), (None, Some(1), Some(6)));
    }
}
