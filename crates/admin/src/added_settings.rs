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
use serow_config::AddedFiles;

/// The added files, and the change that is proposed, if one is.
#[derive(Debug, Default)]
pub struct AddedSettings {
    /// Where they are kept; why they cannot be, if there is no folder.
    folder: Option<PathBuf>,
    files: BTreeMap<String, String>,
    proposed: Option<SettingsChange>,
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
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            entries => entries?,
        };
        for entry in entries.into_iter().flatten() {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(SUFFIX));
            if let Some(name) = name.filter(|name| is_name(name)) {
                let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
                files.insert(name.to_owned(), fs::read_to_string(&path).map_err(named)?);
            }
        }
        Ok(Self { folder, files, proposed: None })
    }

    /// The texts by their names, with the proposed change.
    #[must_use]
    pub fn texts(&self) -> AddedFiles {
        let mut files = self.files.clone();
        if let Some(SettingsChange { name, text, .. }) = &self.proposed {
            match text {
                Some(text) => drop(files.insert(name.clone(), text.clone())),
                None => drop(files.remove(name)),
            }
        }
        files
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

    /// Includes a change in [`Self::texts`] until it is kept or withdrawn. Its file is written already, under another name.
    ///
    /// # Errors
    ///
    /// Why it cannot be made.
    pub fn propose(&mut self, change: SettingsChange) -> Result<(), ChangeRefusal> {
        let SettingsChange { name, text, precondition } = &change;
        if !is_name(name) {
            return Err(ChangeRefusal::Invalid(WRONG_NAME.to_owned()));
        }
        let present = self.files.get(name);
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
            Some(text) => self.write(name, text).map_err(|error| ChangeRefusal::NotKept(error.to_string()))?,
        }
        self.proposed = Some(change);
        Ok(())
    }

    /// Keeps the proposed change; says in JSON which version there is, and whether it is a new file.
    ///
    /// # Errors
    ///
    /// Why it cannot be kept: nothing has changed then.
    pub fn keep(&mut self) -> Result<Value, String> {
        let Some(SettingsChange { name, text, .. }) = self.proposed.take() else { return Ok(Value::Null) };
        let named = |error: io::Error| format!("the change cannot be kept: {error}");
        let Some(text) = text else {
            self.remove(&name).map_err(named)?;
            self.files.remove(&name);
            return Ok(json!({ "etag": null, "is_new": false }));
        };
        let placed = self.put_in_place(&name);
        placed.map_err(named).inspect_err(|_| self.remove_temporary(&name))?;
        let etag = entity_tag(&text);
        let is_new = self.files.insert(name, text).is_none();
        Ok(json!({ "etag": etag, "is_new": is_new }))
    }

    /// Forgets the proposed change.
    pub fn withdraw(&mut self) {
        if let Some(SettingsChange { name, text: Some(_), .. }) = self.proposed.take() {
            self.remove_temporary(&name);
        }
    }

    fn remove_temporary(&self, name: &str) {
        if let Ok(folder) = self.folder() {
            let _ = fs::remove_file(temporary(folder, name));
        }
    }

    fn folder(&self) -> io::Result<&Path> {
        self.folder.as_deref().ok_or_else(|| io::Error::other(WITHOUT_FOLDER))
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let folder = self.folder()?;
        let path = temporary(folder, name);
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

    fn put_in_place(&self, name: &str) -> io::Result<()> {
        let folder = self.folder()?;
        fs::rename(temporary(folder, name), folder.join(format!("{name}{SUFFIX}")))?;
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

/// The same for the same text, and in all likelihood for no other (FNV-1a with 64 bits).
fn entity_tag(text: &str) -> String {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("\"{:x}-{:016x}\"", text.len(), text.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
}

/// A file that is written and not in place yet: no name of an added file begins with a dot.
fn temporary(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.next"))
}

/// Whether a text can be the name of an added file, which is that of a file in the folder.
pub(crate) fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !name.is_empty() && name.len() <= MAX_NAME && !name.starts_with('.') && name.bytes().all(is_allowed)
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

const WRONG_NAME: &str =
    "the name has letters, digits and . - _ only, does not begin with a dot, and is no longer than 100 bytes";

const WITHOUT_FOLDER: &str = "there is no folder for it: set STATE_DIRECTORY, XDG_STATE_HOME or HOME";

/// As long as the names of hosts mostly are; file systems take 255 bytes.
const MAX_NAME: usize = 100;

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
        added.keep().map_err(ChangeRefusal::NotKept)
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
        assert_eq!(added.texts().len(), 3);
        assert_eq!(open().texts(), BTreeMap::from([("a", "3"), ("b", "2")].map(|(a, b)| (a.to_owned(), b.to_owned()))));
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
    fn names_stay_in_the_folder() {
        let mut added = AddedSettings::open(None).unwrap();
        let long = "a".repeat(MAX_NAME + 1);
        for name in ["", ".", "..", ".a", "a/b", "../a", "a b", "ä", "a\n", "*", &long] {
            let refused = added.propose(change(name, Some(""), Precondition::None)).unwrap_err();
            assert_eq!(refused, ChangeRefusal::Invalid(WRONG_NAME.to_owned()), "{name:?}");
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
        assert!(added.keep().is_err());
        assert_eq!(added.list(), json!({ "files": [] }));
    }
}
