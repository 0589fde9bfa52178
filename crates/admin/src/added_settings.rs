//! Settings files that were added over the admin socket, kept in a folder from where later starts have them.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serow_config::{AddedFileName, AddedFiles};
use serow_message::StableHash;

/// The added files, and the changes that are proposed.
#[derive(Debug, Default)]
pub struct AddedSettings {
    /// Where they are kept; without one, changes are refused.
    folder: Option<PathBuf>,
    files: BTreeMap<String, String>,
    proposed: Vec<SettingsChange>,
}

/// A change of an added file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsChange {
    /// The name of the file.
    pub name: String,
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
        let mut files = BTreeMap::new();
        let entries = folder.as_deref().map(fs::read_dir).transpose();
        let entries = match entries {
            // Of another user, for whom this one has not added anything: HOME may be that of whoever called sudo.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => None,
            entries => entries?,
        };
        for entry in entries.into_iter().flatten() {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
                // Of a change that was not acknowledged before the end.
                let _ = fs::remove_file(&path);
            }
            let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(SUFFIX));
            if let Some(name) = name.filter(|name| name.parse::<AddedFileName>().is_ok()) {
                let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
                files.insert(name.to_owned(), fs::read_to_string(&path).map_err(named)?);
            }
        }
        Ok(Self { folder, files, proposed: Vec::new() })
    }

    /// The texts by their names, with the proposed changes.
    #[must_use]
    pub fn texts(&self) -> AddedFiles {
        let mut files = self.files.clone();
        for SettingsChange { name, text, .. } in &self.proposed {
            match text {
                Some(text) => drop(files.insert(name.clone(), text.clone())),
                None => drop(files.remove(name)),
            }
        }
        files
    }

    /// A text with the proposed changes.
    fn proposed_text(&self, name: &str) -> Option<&String> {
        let proposed = self.proposed.iter().rev().find(|change| change.name == name);
        proposed.map_or_else(|| self.files.get(name), |change| change.text.as_ref())
    }

    /// A file that is in effect: its text and its entity tag.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<(&str, String)> {
        self.files.get(name).map(|text| (text.as_str(), entity_tag(text)))
    }

    /// All that are in effect, in JSON.
    #[must_use]
    pub fn list(&self) -> Value {
        let file =
            |(name, text): (&String, &String)| json!({ "name": name, "etag": entity_tag(text), "bytes": text.len() });
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
        // It is that of a file in the folder.
        name.parse::<AddedFileName>().map_err(|error| ChangeRefusal::Invalid(error.to_string()))?;
        let present = self.proposed_text(name);
        let version = present.map(|text| entity_tag(text));
        let is_met = match precondition {
            Precondition::None => true,
            Precondition::Absent => present.is_none(),
            Precondition::Present => present.is_some(),
            Precondition::Version(tags) => version.is_some_and(|version| tags.contains(&version)),
        };
        if !is_met {
            return Err(ChangeRefusal::Precondition);
        }
        match text {
            None if present.is_none() => return Err(ChangeRefusal::Unknown),
            None => {}
            Some(_) if present.is_none() && self.files.len() >= MAX_FILES => {
                let text = format!("there are {MAX_FILES} added files: remove some, or put several sites into one");
                return Err(ChangeRefusal::Invalid(text));
            }
            Some(text) => {
                let number = self.proposed.len();
                self.write(name, number, text).map_err(|error| ChangeRefusal::NotKept(error.to_string()))?;
            }
        }
        self.proposed.push(change);
        Ok(())
    }

    /// Keeps the proposed changes; for each it says in JSON which version there is, and whether it is a new file, or why it
    /// cannot be kept.
    pub fn keep(&mut self) -> Vec<Result<Value, String>> {
        let proposed = std::mem::take(&mut self.proposed);
        let kept = proposed.into_iter().enumerate().map(|(number, change)| self.keep_one(number, change));
        kept.map(|kept| kept.map_err(|error| format!("the change cannot be kept: {error}"))).collect()
    }

    fn keep_one(&mut self, number: usize, change: SettingsChange) -> io::Result<Value> {
        let SettingsChange { name, text, .. } = change;
        let Some(text) = text else {
            self.remove(&name)?;
            self.files.remove(&name);
            return Ok(json!({ "etag": null, "is_new": false }));
        };
        self.put_in_place(&name, number).inspect_err(|_| self.remove_temporary(&name, number))?;
        let etag = entity_tag(&text);
        let is_new = self.files.insert(name, text).is_none();
        Ok(json!({ "etag": etag, "is_new": is_new }))
    }

    /// Forgets the proposed changes.
    pub fn withdraw(&mut self) {
        for (number, SettingsChange { name, .. }) in std::mem::take(&mut self.proposed).iter().enumerate() {
            self.remove_temporary(name, number);
        }
    }

    fn remove_temporary(&self, name: &str, number: usize) {
        if let Ok(folder) = self.folder() {
            let _ = fs::remove_file(temporary(folder, name, number));
        }
    }

    fn folder(&self) -> io::Result<&Path> {
        self.folder.as_deref().ok_or_else(|| io::Error::other(WITHOUT_FOLDER))
    }

    fn write(&self, name: &str, number: usize, text: &str) -> io::Result<()> {
        let folder = self.folder()?;
        let path = temporary(folder, name, number);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let written = created.and_then(|()| options.open(&path)).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(named).inspect_err(|_| drop(fs::remove_file(&path)))
    }

    fn put_in_place(&self, name: &str, number: usize) -> io::Result<()> {
        let folder = self.folder()?;
        fs::rename(temporary(folder, name, number), folder.join(format!("{name}{SUFFIX}")))?;
        File::open(folder)?.sync_all()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let folder = self.folder()?;
        match fs::remove_file(folder.join(format!("{name}{SUFFIX}"))) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::open(folder)?.sync_all()
    }
}

/// The same for the same text, and in all likelihood for no other.
fn entity_tag(text: &str) -> String {
    format!("\"{:x}-{:016x}\"", text.len(), StableHash::of(text.as_bytes()))
}

/// A file that is written and not in place yet, for the proposal with this number: no name of an added file begins with a dot.
fn temporary(folder: &Path, name: &str, number: usize) -> PathBuf {
    folder.join(format!(".{name}.{number}"))
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

const SUFFIX: &str = ".toml";

const WITHOUT_FOLDER: &str = "there is no folder for it: set STATE_DIRECTORY, XDG_STATE_HOME or HOME";

/// As many as a settings file can include.
const MAX_FILES: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, text: Option<&str>, precondition: Precondition) -> SettingsChange {
        SettingsChange { name: name.to_owned(), text: text.map(str::to_owned), precondition }
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
        assert_eq!(open().texts(), BTreeMap::from([("a", "3"), ("b", "2")].map(|(a, b)| (a.to_owned(), b.to_owned()))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        added.withdraw();
        assert_eq!((added.texts().len(), fs::read_dir(folder.path()).unwrap().count()), (2, 2));
        assert_eq!(make(&mut added, change("a", None, Precondition::None)).unwrap()["etag"], Value::Null);
        assert_eq!(open().list(), added.list());
        assert_eq!(open().texts().into_keys().collect::<Vec<_>>(), ["b"]);
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
    fn names_stay_in_the_folder() {
        let mut added = AddedSettings::open(None).unwrap();
        for name in ["", "..", ".a", "a/b", "../a"] {
            let refused = added.propose(change(name, Some(""), Precondition::None)).unwrap_err();
            assert!(matches!(refused, ChangeRefusal::Invalid(_)), "{name:?}: {refused:?}");
        }
        let refused = added.propose(change("a.b-c_D9", Some(""), Precondition::None)).unwrap_err();
        assert_eq!(refused, ChangeRefusal::NotKept(WITHOUT_FOLDER.to_owned()));
    }

    #[test]
    fn a_change_that_cannot_be_kept_leaves_all_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "").unwrap();
        let mut added = AddedSettings { folder: Some(folder.path().join("a")), ..AddedSettings::default() };
        let refused = added.propose(change("a", Some("1"), Precondition::None));
        assert!(matches!(refused, Err(ChangeRefusal::NotKept(_))), "{refused:?}");
        fs::remove_file(folder.path().join("a")).unwrap();
        added.propose(change("a", Some("1"), Precondition::None)).unwrap();
        fs::remove_dir_all(folder.path().join("a")).unwrap();
        assert!(matches!(&added.keep()[..], [Err(_)]));
        assert_eq!(added.list(), json!({ "files": [] }));
    }
}
