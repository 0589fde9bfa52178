//! PROPFIND: the properties of a file or folder, and of what is in it.
//!
//! The response is written a piece at a time, while the client reads it, so that a folder may have any number of entries.

use std::{
    os::fd::OwnedFd,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http_body::Frame;
use rustix::fs::{self, AtFlags, FileType, Stat, StatxFlags};
use serow_files::{EntityTag, Opened, Root, below};
use serow_message::{Body, BoxError, FileVersion, Request, Response, StatusCode};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::{
    blocking::blocking,
    bodies::PropertyQuery,
    dead_properties,
    depth::Depth,
    element::{Element, Name},
    locks::Lock,
    multistatus::Multistatus,
    properties::{self, Described, LIVE, QUOTA},
    refusal::{Refusal, xml},
    structure::depth,
    tree::entries,
    writable_folder::{Located, WritableFolder},
    xml_body::xml_body,
};

/// Returns properties.
pub(crate) async fn propfind(shared: Arc<WritableFolder>, mut request: Request) -> Result<Response, Refusal> {
    let located = shared.locate(request.target.path()).map_err(|refusal| match refusal.status() {
        StatusCode::FORBIDDEN => Refusal::not_found(),
        _ => refusal,
    })?;
    // RFC 4918 §9.1: without the field, infinity is meant.
    let depth = depth(&request)?.unwrap_or(Depth::Infinity);
    if depth == Depth::Infinity {
        return Err(Refusal::of_condition(StatusCode::FORBIDDEN, "propfind-finite-depth", None));
    }
    let query = PropertyQuery::parse(&xml_body(std::mem::take(&mut request.body)).await?)?;
    let (text, walk) = blocking(move || {
        let mut walk = Walk::begin(shared, &located, depth, query)?;
        Ok((walk.next_piece(), walk))
    })
    .await?;
    let body = match walk.rest {
        Rest::Done => text.unwrap_or_default().into(),
        _ => Body::stream(Listing { first: text, walk: Some(walk), working: None }),
    };
    Ok(xml(StatusCode::MULTI_STATUS, body))
}

/// A PROPFIND on its way through a folder.
struct Walk {
    shared: Arc<WritableFolder>,
    root: Root,
    query: PropertyQuery,
    /// The resource of the request, until it is written.
    own: Option<Described>,
    rest: Rest,
}

/// The part that is still to be written.
enum Rest {
    /// Entries of a folder, and the end.
    Entries(Box<Entries>),
    /// The end.
    End,
    /// Nothing.
    Done,
}

struct Entries {
    folder: OwnedFd,
    path: Vec<u8>,
    names: Box<dyn Iterator<Item = Vec<u8>> + Send>,
}

impl Walk {
    fn begin(
        shared: Arc<WritableFolder>,
        located: &Located,
        depth: Depth,
        query: PropertyQuery,
    ) -> Result<Self, Refusal> {
        let root = shared.folder.open()?;
        let path = located.path.clone();
        let (folder, is_folder) = match root.open_below(&path)? {
            Opened::File(_) if located.is_folder => return Err(Refusal::not_found()),
            Opened::File(file) => (OwnedFd::from(file.file), false),
            Opened::Folder(folder) => (folder, true),
        };
        if is_folder && !shared.is_own(&path, true) {
            return Err(Refusal::of_another_route());
        }
        let stat = fs::fstat(&folder)?;
        let mut own = Described { created: None, quota: None, ..described(path.clone(), &stat) };
        own.tag = tag(&shared, &root, &own, &query);
        if wants(&query, "creationdate") {
            own.created = created(&folder, b"");
        }
        if is_folder && QUOTA.iter().any(|local| wants(&query, local)) {
            let system = fs::fstatvfs(&folder)?;
            let bytes = |blocks: u64| blocks.saturating_mul(system.f_frsize);
            let free = bytes(system.f_bavail);
            own.quota = Some(match shared.quota()?.map(|quota| quota.state()) {
                // RFC 4331 §3: the disk may have less room than the quota.
                Some((rest, used)) => (free.min(rest), used),
                None => (free, bytes(system.f_blocks.saturating_sub(system.f_bfree))),
            });
        }
        let rest = match depth {
            Depth::One if is_folder => {
                let hidden = shared.folder.hidden();
                let names = entries(&folder)?.filter_map(|entry| entry.ok().map(|(name, _)| name));
                let names = Box::new(names.filter(move |name| hidden.allows(name)));
                Rest::Entries(Box::new(Entries { folder, path, names }))
            }
            _ => Rest::End,
        };
        Ok(Self { shared, root, query, own: Some(own), rest })
    }

    /// The next piece of the response; nothing after the end.
    fn next_piece(&mut self) -> Option<Bytes> {
        let mut writer = Multistatus::default();
        if let Some(own) = self.own.take() {
            writer.begin();
            self.write(&mut writer, &own);
        }
        let mut rest = std::mem::replace(&mut self.rest, Rest::Done);
        if let Rest::Entries(entries) = &mut rest {
            while writer.len() < PIECE {
                let Some(name) = entries.names.next() else {
                    rest = Rest::End;
                    break;
                };
                // An entry that is gone meanwhile, or that leads out of the root, is left out.
                let Some(stat) = self.root.describe(&entries.folder, &entries.path, &name) else { continue };
                let mut found = described(below(&entries.path, &name), &stat);
                if !self.shared.is_own(&found.path, found.is_folder) {
                    continue;
                }
                found.tag = tag(&self.shared, &self.root, &found, &self.query);
                if wants(&self.query, "creationdate") {
                    found.created = created(&entries.folder, &name);
                }
                self.write(&mut writer, &found);
            }
        }
        match rest {
            Rest::Entries(_) => self.rest = rest,
            Rest::End => writer.end(),
            Rest::Done => return None,
        }
        Some(writer.into_text().into())
    }

    fn write(&self, writer: &mut Multistatus, found: &Described) {
        let locks: Vec<Lock> = if wants(&self.query, "lockdiscovery") {
            self.shared.locks().covering(&found.path).cloned().collect()
        } else {
            Vec::new()
        };
        let dead = if wants_dead(&self.query) { self.dead(&found.path) } else { Vec::new() };
        let (mut present, mut absent) = (String::new(), String::new());
        let live = |local: &str, output: &mut String| properties::write(output, local, found, &self.shared, &locks);
        match &self.query {
            PropertyQuery::Names => {
                for local in LIVE.into_iter().chain(QUOTA) {
                    if live(local, &mut String::new()) {
                        Element::empty(Name::dav(local)).write(&mut present);
                    }
                }
                dead.iter().for_each(|property| Element::empty(property.name.clone()).write(&mut present));
            }
            PropertyQuery::All(more) => {
                for local in
                    LIVE.into_iter().chain(more.iter().filter_map(Name::in_dav).filter(|name| QUOTA.contains(name)))
                {
                    live(local, &mut present);
                }
                dead.iter().for_each(|property| property.write(&mut present));
            }
            PropertyQuery::Some(names) => {
                for name in names {
                    let is_live = name.in_dav().is_some_and(|local| live(local, &mut present));
                    match dead.iter().find(|property| !is_live && property.name == *name) {
                        Some(property) => property.write(&mut present),
                        None if is_live => {}
                        None => Element::empty(name.clone()).write(&mut absent),
                    }
                }
            }
        }
        writer.begin_response(&self.shared.request_path(&found.path, found.is_folder));
        // RFC 4918 §14.24: a response has a propstat at least.
        if present.is_empty() && absent.is_empty() {
            writer.properties(" ", StatusCode::OK);
        }
        writer.properties(&present, StatusCode::OK);
        writer.properties(&absent, StatusCode::NOT_FOUND);
        writer.end_response();
    }

    fn dead(&self, path: &[u8]) -> Vec<Element> {
        match self.root.open_below(path) {
            Ok(Opened::File(file)) => dead_properties::read(&file.file),
            Ok(Opened::Folder(folder)) => dead_properties::read(&folder),
            Err(_) => Vec::new(),
        }
    }
}

fn described(path: Vec<u8>, stat: &Stat) -> Described {
    let version = FileVersion {
        identity: (stat.st_dev, stat.st_ino),
        length: stat.st_size.max(0) as u64,
        modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
    };
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    Described { path, is_folder, version, tag: None, created: None, quota: None }
}

/// The entity tag of a file, if it is wanted.
fn tag(shared: &WritableFolder, root: &Root, found: &Described, query: &PropertyQuery) -> Option<EntityTag> {
    if found.is_folder || !wants(query, "getetag") {
        return None;
    }
    let open = || match root.open_below(&found.path) {
        Ok(Opened::File(file)) => Some(Arc::new(file.file)),
        Ok(Opened::Folder(_)) | Err(_) => None,
    };
    shared.folder.validators(&found.version, open).0
}

/// The types differ between platforms.
fn nanoseconds(seconds: impl Into<i128>, rest: impl Into<i128>) -> i128 {
    seconds.into() * 1_000_000_000 + rest.into()
}

/// When a name in a folder, or the folder itself, was created, where the file system knows it.
fn created(folder: &OwnedFd, name: &[u8]) -> Option<SystemTime> {
    let flags = if name.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::SYMLINK_NOFOLLOW };
    let found = fs::statx(folder, name, flags, StatxFlags::BTIME).ok()?;
    let is_known = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
    let seconds = u64::try_from(found.stx_btime.tv_sec).ok().filter(|_| is_known)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn wants(query: &PropertyQuery, local: &str) -> bool {
    match query {
        PropertyQuery::Names => true,
        PropertyQuery::All(more) => LIVE.contains(&local) || more.iter().any(|name| name.in_dav() == Some(local)),
        PropertyQuery::Some(names) => names.iter().any(|name| name.in_dav() == Some(local)),
    }
}

/// Whether properties of clients are wanted, for which each file has to be opened.
fn wants_dead(query: &PropertyQuery) -> bool {
    match query {
        PropertyQuery::All(_) | PropertyQuery::Names => true,
        PropertyQuery::Some(names) => names.iter().any(|name| !properties::is_live(name)),
    }
}

/// The body of a response in several pieces.
struct Listing {
    first: Option<Bytes>,
    walk: Option<Walk>,
    working: Option<JoinHandle<(Option<Bytes>, Walk)>>,
}

impl http_body::Body for Listing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if let Some(mut walk) = self.walk.take() {
            self.working = Some(spawn_blocking(move || (walk.next_piece(), walk)));
        }
        let Some(working) = &mut self.working else { return Poll::Ready(None) };
        let (piece, walk) = match ready!(Pin::new(working).poll(context)) {
            Ok(done) => done,
            Err(panic) => return Poll::Ready(Some(Err(panic.into()))),
        };
        self.working = None;
        self.walk = piece.is_some().then_some(walk);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// A few hundred entries, each of which costs some system calls; and the memory of a response.
const PIECE: usize = 64 << 10;
