//! Contents that are purged before their record is written.

use std::{fs, io, time::Duration};

use bytes::Bytes;
use serow_cache::{
    CacheRules, ExchangeTimes, PurgeMode, PurgeTarget, Storable, StoredContent, StoringRequest, TagNames, Time, encode,
    storable,
};
use serow_message::{Headers, Method, Scheme, StatusCode};
use tempfile::TempDir;

use super::*;
use crate::{folder::prepare, pending::Work};

/// A store in a folder, without the thread that writes.
fn stores() -> (TempDir, Arc<DiskStore>, MemoryStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    prepare(&path, None).unwrap();
    let (disk, store) = (Arc::new(DiskStore::open(&path, 1 << 20, 1).unwrap()), MemoryStore::new(1 << 20, 1 << 18));
    store.persist(Arc::<DiskStore>::clone(&disk));
    disk.claim(&store);
    (folder, disk, store)
}

/// Stores a response with the tag `t` whose content is in a file, and returns it as the thread that writes takes it.
fn insert(disk: &DiskStore, store: &MemoryStore) -> (Key, Resource) {
    let key = Key::new(Scheme::Http, "a", "/", None, &[]);
    let file = store.new_content(&key, None).unwrap();
    file.write(&[Bytes::from("content")]).unwrap();
    let (request, mut response, now) = (Headers::new(), Headers::new(), Time::from_seconds(1_700_000_000));
    response.append("cache-control", "max-age=60").unwrap();
    response.append("xkey", "t").unwrap();
    let tags = TagNames::take(&mut response);
    let request = StoringRequest {
        method: &Method::GET,
        headers: &request,
        has_credentials: false,
        no_store: false,
        set_fields: &[],
    };
    let exchange = ExchangeTimes { sent: now, received: now };
    let (head, _) = storable(request, StatusCode::OK, &response, &CacheRules::default(), exchange).unwrap();
    let body = StoredContent::File(file.finish().unwrap()).into();
    assert!(store.insert(key, store.version(), Storable { head, body, scope: 0, tags }));
    let Work::Write(key, resource) = disk.pending.next(Duration::ZERO) else { panic!("nothing is to be written") };
    (key, resource)
}

fn files(folder: &TempDir, below: &str) -> usize {
    fs::read_dir(folder.path().join("cache").join(below)).unwrap().count()
}

#[test]
fn contents_that_are_purged_before_they_are_written_are_removed() {
    for (is_failing, is_in_record) in [(false, false), (false, true), (true, false)] {
        let (folder, disk, store) = stores();
        let (key, resource) = insert(&disk, &store);
        let record_before = encode(&key, &resource);
        store.purge(PurgeTarget::Tag(b"t"), PurgeMode::Remove);
        let record = if is_in_record { record_before } else { encode(&key, &resource) };
        if is_failing {
            disk.health.fail(&io::Error::other("of the disk"));
        }
        assert_eq!(files(&folder, "new"), 1);
        disk.write(&key, &resource, &record);
        disk.remove_discarded();
        // The store in memory has it still: nobody has asked for it.
        assert_eq!(files(&folder, "new"), 0, "{is_failing} {is_in_record}");
        assert!(store.find(&key).is_some_and(|resource| resource.of_scope(0).next().is_none()));
    }
}

#[test]
fn a_content_that_is_discarded_takes_room_until_it_is_removed() {
    let (folder, disk, store) = stores();
    let key = Key::new(Scheme::Http, "a", "/", None, &[]);
    let file = store.new_content(&key, None).unwrap();
    file.write(&[vec![0; 400_000].into()]).unwrap();
    drop(file);
    assert!(disk.space.reserve(200_000).is_none() && files(&folder, "new") == 1);
    disk.remove_discarded();
    assert!(disk.space.reserve(200_000).is_some() && files(&folder, "new") == 0);
}
