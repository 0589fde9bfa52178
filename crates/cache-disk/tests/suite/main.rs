//! Stores in folders of their own.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod contents;
mod damage;
mod limits;
mod purges;
mod restarts;
mod servers;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use serow_cache::{
    CacheRules, Exchange, Key, MemoryStore, Storable, StoredContent, StoredHead, StoringRequest, TagNames, Time,
    storable,
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
        let content = StoredContent::File(new.finish().unwrap());
        self.store.insert(key(path), self.store.version(), Storable { content, ..response("", "") })
    }

    /// The content that is stored for a path, and whether it is fresh.
    fn find(&self, path: &str) -> Option<(String, bool)> {
        let resource = self.store.find(&key(path))?;
        let stored = resource.select(0, &Headers::new())?;
        let is_fresh = stored.current_head().freshness.is_fresh(NOW.after(Duration::from_secs(5)));
        let content = match &stored.content {
            StoredContent::Memory(bytes) => bytes.to_vec(),
            StoredContent::File(file) => {
                let mut whole = file.open().unwrap()?;
                let mut content = Vec::new();
                while whole.length > 0 {
                    whole.read_into(&mut content, usize::MAX).unwrap();
                }
                content
            }
        };
        Some((String::from_utf8(content).unwrap(), is_fresh))
    }

    /// Ends as a server that is stopped: what waits is written.
    fn end(mut self) {
        self.thread.take();
    }
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
    let request = StoringRequest { method: &Method::GET, headers: &request, has_credentials: false, no_store: false };
    let exchange = Exchange { sent: NOW, received: NOW };
    let head = storable(request, StatusCode::OK, &response, &CacheRules::default(), exchange).unwrap();
    Storable {
        head: StoredHead::new(StatusCode::OK, head),
        content: Bytes::from(body.to_owned()).into(),
        scope: 0,
        tags,
    }
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
