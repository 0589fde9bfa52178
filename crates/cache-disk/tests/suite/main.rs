//! Stores in folders of their own.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod contents;
mod damage;
mod limits;
mod parts;
mod purges;
mod restarts;
mod servers;
mod spares;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use serow_cache::{
    CacheRules, ContentRange, ExchangeTimes, Extent, Key, MemoryStore, Storable, StoredBody, StoredContent,
    StoringRequest, TagNames, Time, storable,
};
use serow_cache_disk::{DiskStore, DiskThread, prepare};
use serow_message::{Headers, Method, Scheme, StatusCode};
use tempfile::TempDir;

/// A process with a store in a folder.
struct Process {
    store: Arc<MemoryStore>,
    disk: Arc<DiskStore>,
    thread: Option<DiskThread>,
}

impl Process {
    fn start(folder: &Path) -> Self {
        Self::of_server(folder, 1 << 30, 1)
    }

    fn of_server(folder: &Path, limit: u64, server: u64) -> Self {
        prepare(folder, None).unwrap();
        let (store, disk) =
            (Arc::new(MemoryStore::new(1 << 20, 1 << 18)), Arc::new(DiskStore::open(folder, limit, server).unwrap()));
        store.persist(Arc::<DiskStore>::clone(&disk));
        let thread = DiskThread::start(Arc::clone(&disk), Arc::clone(&store)).unwrap();
        Self { store, disk, thread: Some(thread) }
    }

    fn insert(&self, path: &str, tags: &str, body: &str) -> bool {
        self.store.insert(key(path), self.store.version(), response(tags, body))
    }

    /// As `insert`, with the content in a file of its own.
    fn insert_file(&self, path: &str, body: &str) -> bool {
        let new = self.store.new_content(&key(path), Some(body.len() as u64)).unwrap();
        new.write(&[Bytes::copy_from_slice(body.as_bytes())]).unwrap();
        let body = StoredContent::File(new.finish().unwrap()).into();
        self.store.insert(key(path), self.store.version(), Storable { body, ..response("", "") })
    }

    /// As `insert`, of the part of a whole of a hundred bytes that begins here.
    fn insert_part(&self, path: &str, start: u64, tags: &str, body: &str) -> bool {
        self.store.insert(
            key(path),
            self.store.version(),
            part(start, Bytes::copy_from_slice(body.as_bytes()).into(), tags),
        )
    }

    /// The bytes of the part that is stored for a path, and where it begins, if a request for this range gets it.
    fn find_part(&self, path: &str, range: &str) -> Option<(String, u64)> {
        let mut request = Headers::new();
        request.append("range", range).unwrap();
        let resource = self.store.find(&key(path))?;
        let StoredBody::Part(part) = &resource.select(0, &Method::GET, &request)?.body else { panic!("a whole") };
        assert_eq!(part.place().complete_length(), 100);
        Some((read(part.content())?, part.place().range().start))
    }

    /// The content that is stored for a path, and whether it is fresh.
    fn find(&self, path: &str) -> Option<(String, bool)> {
        let resource = self.store.find(&key(path))?;
        let stored = resource.select(0, &Method::GET, &Headers::new())?;
        let is_fresh = stored.current_head().freshness.is_fresh(NOW.after(Duration::from_secs(5)));
        let StoredBody::Whole(content) = &stored.body else { panic!("a part") };
        Some((read(content)?, is_fresh))
    }

    /// Ends as a server that is stopped: what waits is written.
    fn end(mut self) {
        self.thread.take();
    }
}

/// All bytes of a content; nothing if its file is gone.
fn read(content: &StoredContent) -> Option<String> {
    let bytes = match content {
        StoredContent::Memory(bytes) => bytes.to_vec(),
        StoredContent::File(file) => {
            let mut whole = file.open().unwrap()?;
            let mut bytes = Vec::new();
            while whole.length > 0 {
                whole.read_into(&mut bytes, usize::MAX).unwrap();
            }
            bytes
        }
    };
    Some(String::from_utf8(bytes).unwrap())
}

/// A part of a whole of a hundred bytes that begins here.
fn part(start: u64, content: StoredContent, tags: &str) -> Storable {
    let place = ContentRange::new(start..start + content.length(), 100).unwrap();
    Storable { body: StoredBody::new(content, Extent::Part(place)).unwrap(), ..response(tags, "") }
}

const NOW: Time = Time::from_seconds(1_700_000_000);

fn key(path: &str) -> Key {
    Key::new(Scheme::Http, "a", path, None, &[])
}

/// A response that is fresh for a minute.
fn response(tags: &str, body: &str) -> Storable {
    let (request, mut response) = (Headers::new(), Headers::new());
    response.append("cache-control", "max-age=60").unwrap();
    response.append("xkey", tags).unwrap();
    let tags = TagNames::take(&mut response);
    let request = StoringRequest {
        method: &Method::GET,
        headers: &request,
        has_credentials: false,
        no_store: false,
        set_fields: &[],
    };
    let exchange = ExchangeTimes { sent: NOW, received: NOW };
    let (head, _) = storable(request, StatusCode::OK, &response, &CacheRules::default(), exchange).unwrap();
    Storable { head, body: Bytes::from(body.to_owned()).into(), scope: 0, tags }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    (folder, path)
}

/// All files of responses.
fn files(folder: &Path) -> Vec<PathBuf> {
    let shards = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = shards.flat_map(|shard| fs::read_dir(shard).unwrap().map(|entry| entry.unwrap().path()));
    files.collect()
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}
