//! The file in which the entries of a journal outlive the process: a line for each, appended, and written again when most lines
//! are out of date.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::{EntryState, FleetJournal, HeldEntry, JournalEntry, MAX_BYTES, ServerId};

/// The file of a journal. Its lines are on the disk when they are written.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: File,
    lines: usize,
    /// Whether the last line may be incomplete.
    is_torn: bool,
}

/// Why a journal cannot be kept.
#[derive(Debug)]
pub struct JournalFileError {
    path: PathBuf,
    source: io::Error,
}

impl JournalFile {
    /// Opens the journal that is kept in this folder, or begins one. A line that was not written to its end is left out: its
    /// command was not acknowledged.
    ///
    /// # Errors
    ///
    /// Those of the system, or the file is of something else.
    pub fn open(folder: &Path) -> Result<(Self, FleetJournal), JournalFileError> {
        let journal = Self::read(folder)?.unwrap_or_else(|| FleetJournal::new(ServerId::random()));
        let path = folder.join(NAME);
        match write(&path, &journal) {
            Ok((file, lines)) => Ok((Self { path, file, lines, is_torn: false }, journal)),
            Err(source) => Err(JournalFileError { path, source }),
        }
    }

    /// Reads the journal that is kept in this folder, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn read(folder: &Path) -> Result<Option<FleetJournal>, JournalFileError> {
        let path = folder.join(NAME);
        let failed = |source| JournalFileError { path: path.clone(), source };
        let text = match File::open(&path).map(|file| file.take(MAX_FILE)) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(failed)?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let server = lines.next().and_then(|first| first.strip_prefix(HEAD)?.parse().ok());
        let server = server.ok_or_else(|| failed(io::Error::other("it is not a journal of this version of Serow")))?;
        let mut journal = FleetJournal::new(server);
        lines.filter_map(read_line).for_each(|held| journal.restore(held));
        Ok(Some(journal))
    }

    /// Adds an entry, or what became of it.
    ///
    /// # Errors
    ///
    /// Those of the system: a full disk, as a rule.
    pub fn append(&mut self, journal: &FleetJournal, held: &HeldEntry) -> Result<(), JournalFileError> {
        let line = line(held);
        let appended = if self.is_torn || self.lines > 2 * journal.iter().len() + SPARE_LINES {
            write(&self.path, journal).map(|(file, lines)| (self.file, self.lines) = (file, lines))
        } else {
            Ok(())
        };
        let appended = appended.and_then(|()| {
            self.is_torn = true;
            self.file.write_all(line.as_bytes())?;
            self.file.sync_data()
        });
        appended.map_err(|source| JournalFileError { path: self.path.clone(), source })?;
        (self.is_torn, self.lines) = (false, self.lines + 1);
        Ok(())
    }
}

/// Writes all entries in the place of the file.
fn write(path: &Path, journal: &FleetJournal) -> io::Result<(File, usize)> {
    let next = path.with_extension("next");
    let mut text = format!("{HEAD}{}\n", journal.server());
    journal.entries().into_iter().for_each(|held| text.push_str(&line(held)));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok((file, journal.iter().len() + 1))
}

fn line(held: &HeldEntry) -> String {
    let word = match held.state {
        // Refused commands are tried again after a start: the settings may be others.
        EntryState::Waiting | EntryState::Refused(_) => WAITING,
        EntryState::Applied => APPLIED,
    };
    format!("{word} {} {}\n", held.entry.subject, held.entry.value())
}

fn read_line(line: &str) -> Option<HeldEntry> {
    let mut words = line.splitn(3, ' ');
    let state = match words.next()? {
        WAITING => EntryState::Waiting,
        APPLIED => EntryState::Applied,
        _ => return None,
    };
    Some(HeldEntry { entry: JournalEntry::parse(words.next()?, words.next()?)?, state })
}

impl fmt::Display for JournalFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for JournalFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

const NAME: &str = "journal";

/// Before the number of the server.
const HEAD: &str = "serow-fleet-journal-1 ";

const WAITING: &str = "waiting";
const APPLIED: &str = "applied";

/// Lines that are out of date in a file of few entries.
const SPARE_LINES: usize = 1000;

/// Entries with their lines that are out of date; a longer file is not one.
const MAX_FILE: u64 = 8 * MAX_BYTES as u64;

#[cfg(test)]
mod tests {
    use super::*;

    fn given(journal: &mut FleetJournal, subject: &str, command: &str) -> HeldEntry {
        let entry = journal.prepare(subject, command.to_owned(), None, 7).unwrap();
        journal.add_given(entry.clone());
        HeldEntry { entry, state: EntryState::Applied }
    }

    #[test]
    fn entries_outlive_the_process_also_after_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let (mut file, mut journal) = JournalFile::open(folder.path()).unwrap();
        let held = given(&mut journal, "a", "{\"b\": 1}");
        file.append(&journal, &held).unwrap();
        let refused = HeldEntry { state: EntryState::Refused("no".to_owned()), ..given(&mut journal, "b", "2") };
        file.append(&journal, &refused).unwrap();
        let mut torn = OpenOptions::new().append(true).open(folder.path().join(NAME)).unwrap();
        torn.write_all(format!("applied c {}", held.entry.value()).as_bytes()).unwrap();
        let (_, again) = JournalFile::open(folder.path()).unwrap();
        assert_eq!(again.server(), journal.server());
        let states: Vec<_> = again.entries().into_iter().map(|held| (&held.entry, &held.state)).collect();
        assert_eq!(states, [(&held.entry, &EntryState::Applied), (&refused.entry, &EntryState::Waiting)]);
    }

    #[test]
    fn lines_that_are_out_of_date_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut file, mut journal) = JournalFile::open(folder.path()).unwrap();
        for number in 0..2500 {
            let held = given(&mut journal, "a", &number.to_string());
            file.append(&journal, &held).unwrap();
        }
        let text = fs::read_to_string(folder.path().join(NAME)).unwrap();
        assert!(text.lines().count() <= SPARE_LINES + 4, "{}", text.lines().count());
        let (_, again) = JournalFile::open(folder.path()).unwrap();
        assert_eq!(again.get("a").unwrap().entry.command, "2499");
    }

    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), "serow-fleet-journal-2 x\n").unwrap();
        let error = JournalFile::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("journal") && error.contains("this version"), "{error}");
        assert!(fs::read_to_string(folder.path().join(NAME)).unwrap().starts_with("serow-fleet-journal-2"));
    }

    #[test]
    fn a_failed_write_does_not_spoil_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let (mut file, mut journal) = JournalFile::open(folder.path()).unwrap();
        let held = given(&mut journal, "a", "1");
        file.file = File::open(folder.path().join(NAME)).unwrap();
        assert!(file.append(&journal, &held).is_err());
        file.append(&journal, &held).unwrap();
        assert_eq!(JournalFile::open(folder.path()).unwrap().1.entries().len(), 1);
    }
}
