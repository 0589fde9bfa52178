//! Files that are not what was written.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown, symlink},
};

use serow_cache_disk::{FolderError, prepare};

use crate::{Process, files, folder};

#[test]
fn damaged_and_foreign_files_are_misses() {
    let (guard, folder) = folder();
    let first = Process::start(&folder);
    assert!(first.insert("/a", "", "content"));
    first.end();
    let [file] = &files(&folder)[..] else { panic!() };
    let whole = fs::read(file).unwrap();
    // Damaged responses do not come into memory.
    let process = Process::start(&folder);
    let find = || process.find("/a");
    for length in 0..whole.len() {
        fs::write(file, &whole[..length]).unwrap();
        assert_eq!(find(), None, "cut after {length}");
    }
    for position in 0..whole.len() {
        let mut changed = whole.clone();
        changed[position] ^= 0x20;
        fs::write(file, changed).unwrap();
        assert_eq!(find(), None, "changed at {position}");
    }
    fs::write(file, [&whole[..], b"more"].concat()).unwrap();
    assert_eq!(find(), None);
    fs::write(file, &whole).unwrap();
    assert_eq!(Process::start(&folder).find("/a"), Some(("content".to_owned(), true)));
    // A link out of the folder, a folder, a pipe.
    let secret = guard.path().join("secret");
    fs::rename(file, &secret).unwrap();
    symlink(&secret, file).unwrap();
    assert_eq!(find(), None);
    fs::remove_file(file).unwrap();
    fs::create_dir(file).unwrap();
    assert_eq!(find(), None);
    fs::remove_dir(file).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, file, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert_eq!(find(), None, "and nobody waits for a writer");
}

#[test]
fn a_response_replaces_a_damaged_file() {
    let (_guard, folder) = folder();
    let first = Process::start(&folder);
    assert!(first.insert("/a", "", "content"));
    first.end();
    fs::write(&files(&folder)[0], "damaged").unwrap();
    let second = Process::start(&folder);
    assert_eq!(second.find("/a"), None);
    assert!(second.insert("/a", "", "new"));
    second.end();
    assert_eq!(Process::start(&folder).find("/a"), Some(("new".to_owned(), true)));
}

#[test]
fn folders_that_are_not_for_a_cache_are_refused() {
    let (guard, path) = folder();
    fs::write(guard.path().join("file"), "").unwrap();
    assert!(matches!(prepare(guard.path(), None), Err(FolderError::Foreign(_))));
    assert!(matches!(prepare(&guard.path().join("file"), None), Err(FolderError::System(..))));
    assert!(matches!(prepare(&path.join("a/b"), None), Err(FolderError::System(..))));
    prepare(&path, None).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let error = prepare(&path, None).unwrap_err();
    assert!(matches!(error, FolderError::NotPrivate(_)) && error.to_string().contains("chmod go-w"), "{error}");
}

#[test]
fn folders_of_another_user_and_links_are_refused() {
    let (guard, path) = folder();
    prepare(&path, None).unwrap();
    let link = guard.path().join("link");
    symlink(&path, &link).unwrap();
    let error = prepare(&link, None).unwrap_err();
    assert!(matches!(error, FolderError::Link(_)) && error.to_string().contains("name the folder itself"), "{error}");
    let user = fs::metadata(&path).unwrap().uid();
    // Root may give the folder away; others can only ask on behalf of somebody else.
    let owner = match user {
        0 => chown(&path, Some(1234), None).map(|()| None).unwrap(),
        user => Some((user + 1, None)),
    };
    let error = prepare(&path, owner).unwrap_err();
    assert!(matches!(error, FolderError::NotOwn(..)) && error.to_string().contains("chown"), "{error}");
}

#[test]
fn files_left_unfinished_by_a_crash_are_removed() {
    let (_guard, folder) = folder();
    Process::start(&folder).end();
    let [old, new] = ["1-1", "1-2"].map(|name| folder.join("new").join(name));
    let write = || [&old, &new].map(|path| fs::write(path, "x").unwrap());
    write();
    let first = Process::start(&folder);
    assert!(!old.exists() && !new.exists(), "nobody else may be writing them");
    write();
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().write(true).open(&old).unwrap().set_modified(hour_ago).unwrap();
    let second = Process::start(&folder);
    crate::eventually("the old one is removed", || !old.exists());
    assert!(new.exists(), "the first process may be writing it");
    first.end();
    second.end();
}
