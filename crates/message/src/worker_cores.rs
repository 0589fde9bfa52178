//! The cores that worker threads are pinned to: `auto`, `0-3`, `0,2,4-7`.

use std::{
    borrow::ToOwned,
    collections::HashSet,
    fmt, format,
    num::NonZeroUsize,
    str::FromStr,
    string::{String, ToString},
    vec::Vec,
};

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

    /// These cores, in the order of the workers: at least one, and each once.
    #[must_use]
    pub fn list(cores: Vec<usize>) -> Self {
        Self(Choice::List(cores))
    }

    /// The cores of the list; `None` of `auto`.
    #[must_use]
    pub fn cores(&self) -> Option<&[usize]> {
        match &self.0 {
            Choice::Auto => None,
            Choice::List(cores) => Some(cores),
        }
    }

    /// Cores that Linux can count in one call (`CPU_SETSIZE`).
    pub const MAX: usize = 1024;
}

impl FromStr for WorkerCores {
    type Err = WorkerCoresTextError;

    fn from_str(text: &str) -> Result<Self, WorkerCoresTextError> {
        if text == "auto" {
            return Ok(Self::auto());
        }
        let (mut cores, mut known) = (Vec::new(), HashSet::new());
        for part in text.split(',').map(|part| part.trim_matches(' ')) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Some(first), Some(last)) = (number(first), number(last)) else {
                return Err(WorkerCoresTextError::Syntax(text.to_owned()));
            };
            if let Some(core) = [first, last].into_iter().find(|core| *core >= Self::MAX) {
                return Err(WorkerCoresTextError::Beyond(core));
            }
            if first > last {
                return Err(WorkerCoresTextError::Reversed(first, last));
            }
            for core in first..=last {
                if !known.insert(core) {
                    return Err(WorkerCoresTextError::Twice(core));
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

/// Why a text is not a list of cores. The message is one line that says what to do.
#[derive(Clone, PartialEq, Eq)]
pub enum WorkerCoresTextError {
    /// It is not a list of numbers and ranges.
    Syntax(String),
    /// No machine has this core.
    Beyond(usize),
    /// A range ends before it begins.
    Reversed(usize, usize),
    /// A core is in the list twice.
    Twice(usize),
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for WorkerCoresTextError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for WorkerCoresTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(text) => {
                write!(f, "{text:?} is not a list of cores: write auto, or numbers and ranges, as in 0,2,4-7")
            }
            Self::Beyond(usize::MAX) => write!(f, "the last core can be {}", WorkerCores::MAX - 1),
            Self::Beyond(core) => write!(f, "there is no core {core}: the last one can be {}", WorkerCores::MAX - 1),
            Self::Reversed(first, last) => {
                write!(f, "the range {first}-{last} ends before it begins: write {last}-{first}")
            }
            Self::Twice(core) => write!(
                f,
                "core {core} is in the list twice: leave it out once; where there are more workers than cores, the list is \
                 used again from its beginning"
            ),
        }
    }
}

impl std::error::Error for WorkerCoresTextError {}

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
    fn a_list_says_how_many_workers_there_are() {
        let count = |text: &str| text.parse::<WorkerCores>().unwrap().count().map(NonZeroUsize::get);
        assert_eq!((count("auto"), count("0"), count("0,2,4-7")), (None, Some(1), Some(6)));
    }
}
