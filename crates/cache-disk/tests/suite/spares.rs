//! Files that are created before they are needed.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{Process, eventually, files, folder, key};

/// The files without names that this process has open below a folder.
fn spares(folder: &Path) -> Vec<PathBuf> {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let is_spare = |file: PathBuf| file.starts_with(folder) && file.to_string_lossy().ends_with(" (deleted)");
    descriptors.filter(|path| fs::read_link(path).is_ok_and(is_spare)).collect()
}

fn unfinished(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder.join("new")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn they_have_no_names_and_are_few() {
    let (_guard, folder) = folder();
    let first = Process::start(&folder);
    assert!(first.find("/a").is_none());
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(spares(&folder).len(), 0, "nothing has been stored");
    for round in 0..5 {
        for number in 0..100 {
            assert!(first.insert(&format!("/{round}/{number}"), "", "content"));
        }
        eventually("there are spare ones", || spares(&folder).len() == 32);
    }
    eventually("all is written", || first.disk.counts().written == 500);
    assert_eq!((files(&folder).len(), first.disk.counts().bytes), (500, 500 * 4096));
    // The next process of the server has its own.
    let second = Process::start(&folder);
    assert!(second.insert("/a", "", "of the second"));
    eventually("both have them", || spares(&folder).len() == 64);
    first.end();
    second.end();
    let third = Process::start(&folder);
    assert_eq!((spares(&folder).len(), third.find("/4/7")), (0, Some(("content".to_owned(), true))));
    assert_eq!(third.find("/a"), Some(("of the second".to_owned(), true)));
}

#[test]
fn contents_are_written_to_them_and_are_not_old() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    assert!(process.insert("/a", "", "x"));
    eventually("there are spare ones", || spares(&folder).len() == 32);
    for spare in spares(&folder) {
        File::options().write(true).open(spare).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    let (tick, now) = (Duration::from_millis(10), SystemTime::now());
    let new = process.store.new_content(&key("/b"), None).unwrap();
    let [file] = &unfinished(&folder)[..] else { panic!() };
    let metadata = fs::metadata(file).unwrap();
    // The clock of a file system goes in ticks.
    assert!(metadata.len() == 0 && metadata.modified().unwrap() >= now - tick, "{metadata:?}");
    assert_eq!(new.write(&["content".into()]).unwrap(), 7);
    drop(new);
    eventually("it is removed", || unfinished(&folder).is_empty());
}

#[test]
fn a_folder_that_disappears_costs_nothing_but_its_files() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    assert!(process.insert("/a", "", "x"));
    eventually("there are spare ones", || spares(&folder).len() == 32);
    fs::rename(folder.join("new"), folder.join("old")).unwrap();
    fs::create_dir(folder.join("new")).unwrap();
    assert!(process.insert("/b", "", "in another folder"));
    eventually("it is written", || process.disk.counts().written == 2);
    // Or the thread finds no folder for the next one, and gives all of them up.
    eventually("there are as many spare ones as before", || spares(&folder).len() == 32);
    fs::remove_dir(folder.join("new")).unwrap();
    assert!(process.insert("/c", "", "of a spare one"));
    eventually("it is written", || process.disk.counts().written == 3);
    eventually("no other can be created", || spares(&folder).is_empty());
    assert!(process.insert("/d", "", "in memory"));
    eventually("it is not written", || process.disk.counts().dropped == 1);
    assert_eq!(process.find("/d"), Some(("in memory".to_owned(), true)));
    process.end();
    fs::create_dir(folder.join("new")).unwrap();
    let next = Process::start(&folder);
    assert_eq!(next.find("/b"), Some(("in another folder".to_owned(), true)));
    assert_eq!((next.find("/c"), next.find("/d")), (Some(("of a spare one".to_owned(), true)), None));
}
