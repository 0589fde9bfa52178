//! Parts of responses, which must not be taken for the whole.

use std::{fs, time::Duration};

use bytes::Bytes;
use serow_cache::{PurgeMode, PurgeTarget, StoredContent};

use crate::{NOW, Process, eventually, files, folder, key, part};

#[test]
fn parts_outlive_the_process_in_the_record_and_in_a_file() {
    let (_guard, folder) = folder();
    let first = Process::start(&folder);
    assert!(first.insert_part("/a", 20, "", "content"));
    let new = first.store.new_content(&key("/b"), Some(4)).unwrap();
    new.write(&[Bytes::from_static(b"file")]).unwrap();
    let in_file = part(30, StoredContent::File(new.finish().unwrap()), "");
    assert!(first.store.insert(key("/b"), first.store.version(), in_file));
    first.end();
    let second = Process::start(&folder);
    assert_eq!(second.find_part("/a", "bytes=21-22"), Some(("content".to_owned(), 20)));
    assert_eq!(second.find_part("/b", "bytes=30-33"), Some(("file".to_owned(), 30)));
    for path in ["/a", "/b"] {
        assert_eq!(second.find(path), None, "{path}: it is not the whole");
        assert_eq!(second.find_part(path, "bytes=0-25"), None, "{path}");
    }
}

#[test]
fn damaged_records_of_parts_are_misses() {
    let (_guard, folder) = folder();
    let first = Process::start(&folder);
    assert!(first.insert_part("/a", 20, "", "content"));
    first.end();
    let [file] = &files(&folder)[..] else { panic!() };
    let whole = fs::read(file).unwrap();
    let process = Process::start(&folder);
    for position in 0..whole.len() {
        let mut changed = whole.clone();
        changed[position] ^= 1;
        fs::write(file, changed).unwrap();
        let found = (process.find("/a"), process.find_part("/a", "bytes=21-22"));
        assert_eq!(found, (None, None), "changed at {position}");
    }
    // Those of the layout before had no parts.
    fs::write(file, [b"SEROWRC2", &whole[8..]].concat()).unwrap();
    assert_eq!(process.find_part("/a", "bytes=21-22"), None);
    fs::write(file, &whole).unwrap();
    assert_eq!(process.find_part("/a", "bytes=21-22"), Some(("content".to_owned(), 20)));
}

#[test]
fn purges_concern_parts_that_are_only_in_the_folder() {
    let targets = [PurgeTarget::Uri("http://a/a"), PurgeTarget::Prefix("http://a/"), PurgeTarget::Tag(b"t")];
    for target in targets {
        for mode in [PurgeMode::Remove, PurgeMode::Outdate(NOW.after(Duration::from_secs(1)))] {
            let (_guard, folder) = folder();
            let first = Process::start(&folder);
            assert!(first.insert_part("/a", 20, "t", "content"));
            first.end();
            let second = Process::start(&folder);
            eventually("the folder is claimed", || second.disk.counts().bytes > 0);
            second.store.purge(target, mode);
            second.end();
            let third = Process::start(&folder);
            let is_there = third.find_part("/a", "bytes=21-22").is_some();
            assert_eq!(is_there, mode != PurgeMode::Remove, "{target:?} {mode:?}");
            let resource = third.store.find(&key("/a"));
            let mut stored = resource.iter().flat_map(|resource| resource.of_scope(0));
            let now = NOW.after(Duration::from_secs(5));
            assert!(stored.all(|stored| !stored.current_head().freshness.is_fresh(now)), "{target:?} {mode:?}");
        }
    }
}
