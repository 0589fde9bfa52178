//! Settings files that were added over the admin socket, kept in a folder from where later starts have them.

use std::{collections::BTreeMap, fmt, io, mem, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serow_config::{AddedFileName, AddedFiles};
use serow_message::StableHash;

use super::added_folder::AddedFolder;

/// The added files, and the changes that are proposed.
#[derive(Debug, Default)]
pub struct AddedSettings {
    /// Where they are kept; without one, changes are refused.
    folder: Option<AddedFolder>,
    files: AddedFiles,
    proposed: Vec<Proposal>,
}

/// A change that is in [`AddedSettings::texts`], and not kept yet.
#[derive(Debug)]
struct Proposal {
    change: SettingsChange,
    /// Whether the file is there before, with the proposals before this one.
    was_present: bool,
}

/// A change of an added file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsChange {
    /// The name of the file.
    pub name: AddedFileName,
    /// Its text; none removes it.
    pub text: Option<String>,
    /// Which version it must have before.
    pub precondition: Precondition,
}

/// Which version an added file must have before a change (RFC 9110 §13.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precondition {
    /// Any, or none.
    #[default]
    None,
    /// There must not be one: `If-None-Match: *`.
    Absent,
    /// Any version: `If-Match: *`.
    Present,
    /// One with these entity tags: `If-Match`.
    Version(Vec<String>),
}

/// Why a change cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeRefusal {
    /// The name or the text is not one of an added file, for this reason.
    Invalid(String),
    /// There is no such file.
    Unknown,
    /// It has another version.
    Precondition,
    /// It could not be kept, for this reason.
    NotKept(String),
}

impl AddedSettings {
    /// Those that are in this folder, if there is one.
    ///
    /// # Errors
    ///
    /// The folder or a file in it cannot be read.
    pub fn open(folder: Option<PathBuf>) -> io::Result<Self> {
        let folder = folder.map(AddedFolder::new);
        let files = folder.as_ref().map(AddedFolder::read).transpose()?.unwrap_or_default();
        Ok(Self { folder, files, proposed: Vec::new() })
    }

    /// The texts by their names, with the proposed changes.
    #[must_use]
    pub fn texts(&self) -> AddedFiles {
        let mut files = self.files.clone();
        for Proposal { change: SettingsChange { name, text, .. }, .. } in &self.proposed {
            match text {
                Some(text) => drop(files.insert(name.clone(), text.clone())),
                None => drop(files.remove(name)),
            }
        }
        files
    }

    /// A text with the proposed changes.
    fn proposed_text(&self, name: &AddedFileName) -> Option<&String> {
        let proposal = self.proposed.iter().rev().find(|proposal| proposal.change.name == *name);
        proposal.map_or_else(|| self.files.get(name), |proposal| proposal.change.text.as_ref())
    }

    /// The number of files with the proposed changes.
    fn proposed_count(&self) -> usize {
        let added = self.proposed.iter().filter(|proposal| !proposal.was_present).count();
        let removed = self.proposed.iter().filter(|proposal| proposal.change.text.is_none()).count();
        self.files.len() + added - removed
    }

    /// A file that is in effect: its text and its entity tag.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<(&str, String)> {
        self.files.get(name).map(|text| (text.as_str(), entity_tag(text)))
    }

    /// All that are in effect, in JSON.
    #[must_use]
    pub fn list(&self) -> Value {
        let file = |(name, text): (&AddedFileName, &String)| json!({ "name": name, "etag": entity_tag(text), "bytes": text.len() });
        json!({ "files": self.files.iter().map(file).collect::<Vec<_>>() })
    }

    /// Includes a change in [`Self::texts`], after those before, until they are kept or withdrawn. Its file is written already,
    /// under another name.
    ///
    /// # Errors
    ///
    /// Why it cannot be made.
    pub fn propose(&mut self, change: SettingsChange) -> Result<(), ChangeRefusal> {
        let SettingsChange { name, text, precondition } = &change;
        let present = self.proposed_text(name);
        let was_present = present.is_some();
        if !precondition.is_met_by(present.map(String::as_str)) {
            return Err(ChangeRefusal::Precondition);
        }
        match text {
            None if !was_present => return Err(ChangeRefusal::Unknown),
            None => {}
            Some(_) if !was_present && self.proposed_count() >= MAX_FILES => {
                let text = format!("there are {MAX_FILES} added files: remove some, or put several sites into one");
                return Err(ChangeRefusal::Invalid(text));
            }
            Some(text) => {
                let folder = self.folder.as_ref().ok_or_else(|| ChangeRefusal::NotKept(WITHOUT_FOLDER.to_owned()))?;
                let written = folder.write(name, self.proposed.len(), text);
                written.map_err(|error| ChangeRefusal::NotKept(error.to_string()))?;
            }
        }
        self.proposed.push(Proposal { change, was_present });
        Ok(())
    }

    /// Keeps the proposed changes; for each it says in JSON which version there is, and whether it is a new file, or why it
    /// cannot be kept.
    ///
    /// The folder is written to the disk once for all of them. Where that fails, none is kept: the files are those before, as
    /// far as such a disk still takes them.
    pub fn keep(&mut self) -> Vec<Result<Value, String>> {
        let proposed = mem::take(&mut self.proposed);
        let kept = match self.folder.take() {
            Some(folder) => {
                let kept = self.keep_in(&folder, &proposed);
                self.folder = Some(folder);
                kept
            }
            None => Err(io::Error::other(WITHOUT_FOLDER)),
        };
        let reason = |error: io::Error| format!("the change cannot be kept: {error}");
        match kept {
            Ok(kept) => kept.into_iter().map(|kept| kept.map_err(reason)).collect(),
            Err(error) => vec![Err(reason(error)); proposed.len()],
        }
    }

    /// Keeps changes in the folder; an error is one of all of them.
    fn keep_in(&mut self, folder: &AddedFolder, proposed: &[Proposal]) -> io::Result<Vec<io::Result<Value>>> {
        let remove_temporaries = || {
            for (number, Proposal { change, .. }) in proposed.iter().enumerate() {
                folder.remove_temporary(&change.name, number);
            }
        };
        // Before the first file is changed: without it, none could be kept.
        let opened = folder.open().inspect_err(|_| remove_temporaries())?;
        let changes = proposed.iter().map(|proposal| &proposal.change);
        let before: BTreeMap<_, _> =
            changes.clone().map(|SettingsChange { name, .. }| (name, self.files.get(name).cloned())).collect();
        let kept = changes.enumerate().map(|(number, change)| self.keep_one(folder, number, change)).collect();
        if let Err(error) = folder.sync(&opened) {
            for (name, text) in before {
                self.restore(folder, name, text);
            }
            return Err(error);
        }
        Ok(kept)
    }

    fn keep_one(&mut self, folder: &AddedFolder, number: usize, change: &SettingsChange) -> io::Result<Value> {
        let SettingsChange { name, text, .. } = change;
        let Some(text) = text else {
            folder.remove(name)?;
            self.files.remove(name);
            return Ok(json!({ "etag": null, "is_new": false }));
        };
        folder.put_in_place(name, number).inspect_err(|_| folder.remove_temporary(name, number))?;
        let is_new = self.files.insert(name.clone(), text.clone()).is_none();
        Ok(json!({ "etag": entity_tag(text), "is_new": is_new }))
    }

    /// Gives a file the text again that it had before, if it was there. The disk may refuse this, too: then a restart may
    /// find a change that was refused, which its client has to expect after such an error.
    fn restore(&mut self, folder: &AddedFolder, name: &AddedFileName, text: Option<String>) {
        match text {
            Some(text) => {
                let _ = folder.write(name, 0, &text).and_then(|()| folder.put_in_place(name, 0));
                self.files.insert(name.clone(), text);
            }
            None => {
                let _ = folder.remove(name);
                self.files.remove(name);
            }
        }
    }

    /// Forgets the proposed changes.
    pub fn withdraw(&mut self) {
        let proposed = mem::take(&mut self.proposed);
        let Some(folder) = &self.folder else { return };
        for (number, Proposal { change, .. }) in proposed.iter().enumerate() {
            folder.remove_temporary(&change.name, number);
        }
    }
}

impl Precondition {
    /// Whether a file with this text meets it; none if there is no file.
    fn is_met_by(&self, present: Option<&str>) -> bool {
        match self {
            Self::None => true,
            Self::Absent => present.is_none(),
            Self::Present => present.is_some(),
            Self::Version(tags) => present.is_some_and(|text| tags.contains(&entity_tag(text))),
        }
    }
}

/// The same for the same text, and in all likelihood for no other.
fn entity_tag(text: &str) -> String {
    format!("\"{:x}-{:016x}\"", text.len(), StableHash::of(text.as_bytes()))
}

impl fmt::Display for ChangeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(reason) => f.write_str(reason),
            Self::Unknown => f.write_str("there is no such added file; GET /config lists them"),
            Self::Precondition => f.write_str("the added file has another version: read it, and change that one"),
            Self::NotKept(reason) => write!(f, "the change cannot be kept: {reason}"),
        }
    }
}

const WITHOUT_FOLDER: &str = "there is no folder for it: set STATE_DIRECTORY, XDG_STATE_HOME or HOME";

/// As many as a settings file can include.
const MAX_FILES: usize = 10_000;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn change(name: &str, text: Option<&str>, precondition: Precondition) -> SettingsChange {
        SettingsChange { name: name.parse().unwrap(), text: text.map(str::to_owned), precondition }
    }

    fn make(added: &mut AddedSettings, change: SettingsChange) -> Result<Value, ChangeRefusal> {
        added.propose(change)?;
        added.keep().pop().unwrap().map_err(ChangeRefusal::NotKept)
    }

    #[test]
    fn files_are_there_after_a_start_and_without_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let open = || AddedSettings::open(Some(folder.path().to_owned())).unwrap();
        let mut added = open();
        assert_eq!(make(&mut added, change("a", Some("1"), Precondition::Absent)).unwrap()["is_new"], true);
        assert_eq!(make(&mut added, change("b", Some("2"), Precondition::None)).unwrap()["is_new"], true);
        assert_eq!(make(&mut added, change("a", Some("3"), Precondition::Present)).unwrap()["is_new"], false);
        // Neither a change that is proposed when the server is killed, nor one that was withdrawn.
        added.propose(change("c", Some("4"), Precondition::None)).unwrap();
        assert_eq!((added.texts().len(), fs::read_dir(folder.path()).unwrap().count()), (3, 3));
        let texts = [("a", "3"), ("b", "2")].map(|(name, text)| (name.parse().unwrap(), text.to_owned()));
        assert_eq!(open().texts(), BTreeMap::from(texts));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        added.withdraw();
        assert_eq!((added.texts().len(), fs::read_dir(folder.path()).unwrap().count()), (2, 2));
        assert_eq!(make(&mut added, change("a", None, Precondition::None)).unwrap()["etag"], Value::Null);
        assert_eq!(open().list(), added.list());
        assert_eq!(open().texts().into_keys().map(|name| name.to_string()).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn changes_of_another_version_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut added = AddedSettings::open(Some(folder.path().to_owned())).unwrap();
        let version = |tag: &str| Precondition::Version(vec!["\"other\"".to_owned(), tag.to_owned()]);
        let mut refused = |change| make(&mut added, change).err();
        assert_eq!(refused(change("a", Some("1"), Precondition::Present)), Some(ChangeRefusal::Precondition));
        assert_eq!(refused(change("a", Some("1"), version("\"x\""))), Some(ChangeRefusal::Precondition));
        assert_eq!(refused(change("a", None, Precondition::None)), Some(ChangeRefusal::Unknown));
        assert_eq!(refused(change("a", Some("1"), Precondition::None)), None);
        assert_eq!(refused(change("a", Some("2"), Precondition::Absent)), Some(ChangeRefusal::Precondition));
        let (_, tag) = added.file("a").unwrap();
        let mut refused = |change| make(&mut added, change).err();
        assert_eq!(refused(change("a", Some("2"), version(&tag))), None);
        assert_eq!(refused(change("a", Some("3"), version(&tag))), Some(ChangeRefusal::Precondition));
        assert_eq!(refused(change("a", None, version(&tag))), Some(ChangeRefusal::Precondition));
    }

    #[test]
    fn changes_that_are_proposed_together_follow_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let mut added = AddedSettings::open(Some(folder.path().to_owned())).unwrap();
        added.propose(change("a", Some("1"), Precondition::Absent)).unwrap();
        assert_eq!(added.propose(change("a", Some("2"), Precondition::Absent)), Err(ChangeRefusal::Precondition));
        added.propose(change("b", Some("1"), Precondition::None)).unwrap();
        added.propose(change("a", None, Precondition::Version(vec![entity_tag("1")]))).unwrap();
        assert_eq!(added.propose(change("a", None, Precondition::None)), Err(ChangeRefusal::Unknown));
        added.propose(change("a", Some("3"), Precondition::Absent)).unwrap();
        let is_new: Vec<_> = added.keep().into_iter().map(|kept| kept.unwrap()["is_new"] == true).collect();
        assert_eq!(is_new, [true, true, false, true]);
        let reopened = AddedSettings::open(Some(folder.path().to_owned())).unwrap();
        assert_eq!((reopened.texts(), reopened.texts()["a"].as_str()), (added.texts(), "3"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn names_of_other_processes_stay_in_the_folder() {
        let read = |name| {
            let change = json!({ "name": name, "text": "", "precondition": "None" });
            serde_json::from_value::<SettingsChange>(change).map_err(|error| error.to_string())
        };
        for name in ["", "..", ".a", "a/b", "../a"] {
            let error = read(name).unwrap_err();
            assert!(error.contains("cannot name an added file"), "{name:?}: {error}");
        }
        let mut added = AddedSettings::open(None).unwrap();
        let refused = added.propose(read("a.b-c_D9").unwrap()).unwrap_err();
        assert_eq!(refused, ChangeRefusal::NotKept(WITHOUT_FOLDER.to_owned()));
    }

    #[test]
    fn files_that_are_proposed_together_count_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut added = AddedSettings::open(Some(folder.path().to_owned())).unwrap();
        let files = (1..MAX_FILES).map(|number| (number.to_string().parse().unwrap(), String::new()));
        added.files = files.collect();
        let is_refused = |outcome| matches!(outcome, Err(ChangeRefusal::Invalid(reason)) if reason.contains("10000"));
        added.propose(change("a", Some(""), Precondition::None)).unwrap();
        assert!(is_refused(added.propose(change("b", Some(""), Precondition::None))));
        added.propose(change("a", Some("again"), Precondition::None)).unwrap();
        added.propose(change("1", None, Precondition::None)).unwrap();
        added.propose(change("b", Some(""), Precondition::None)).unwrap();
        assert!(is_refused(added.propose(change("1", Some(""), Precondition::None))));
        assert_eq!((added.proposed_count(), added.texts().len()), (MAX_FILES, MAX_FILES));
        added.withdraw();
        assert_eq!(added.proposed_count(), MAX_FILES - 1);
    }

    #[test]
    fn changes_are_kept_together_or_not_at_all_where_the_disk_fails() {
        let folder = tempfile::tempdir().unwrap();
        let open = || AddedSettings::open(Some(folder.path().to_owned())).unwrap();
        let mut added = open();
        for name in ["changed", "removed"] {
            make(&mut added, change(name, Some("1"), Precondition::None)).unwrap();
        }
        let before = added.texts();
        added.folder.as_mut().unwrap().sync = |_| Err(io::Error::from(io::ErrorKind::StorageFull));
        for (name, text) in [("changed", Some("2")), ("new", Some("3")), ("removed", None), ("changed", Some("4"))] {
            added.propose(change(name, text, Precondition::None)).unwrap();
        }
        let kept = added.keep();
        let path = folder.path().display().to_string();
        assert!(kept.len() == 4 && kept.iter().all(|kept| kept.as_ref().is_err_and(|error| error.contains(&path))));
        assert_eq!((&added.texts(), &open().texts()), (&before, &before));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_change_that_cannot_be_kept_leaves_all_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "").unwrap();
        let mut added =
            AddedSettings { folder: Some(AddedFolder::new(folder.path().join("a"))), ..AddedSettings::default() };
        let refused = added.propose(change("a", Some("1"), Precondition::None));
        assert!(matches!(refused, Err(ChangeRefusal::NotKept(_))), "{refused:?}");
        fs::remove_file(folder.path().join("a")).unwrap();
        added.propose(change("a", Some("1"), Precondition::None)).unwrap();
        fs::remove_dir_all(folder.path().join("a")).unwrap();
        assert!(matches!(&added.keep()[..], [Err(_)]));
        assert_eq!(added.list(), json!({ "files": [] }));
    }
}
