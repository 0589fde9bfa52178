//! PUT: uploads of files.

use std::{fs::File, io, mem, sync::Arc, time::Instant};

use rustix::fs::fstatvfs;
use serow_files::{Opened, Root};
use serow_message::{Body, FileVersion, KnownHeader, Request, Response, StatusCode};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::{
    blocking::blocking,
    conditions::Conditions,
    dead_properties,
    disk::Disk,
    locks::{Change, LockTable},
    member::{Kind, Member},
    methods,
    piece::Piece,
    refusal::Refusal,
    shared::{Located, Shared, seconds_since_1970},
    upload::{Existing, Upload},
};

/// Stores the body of a request as a file.
pub(crate) async fn put(shared: Arc<Shared>, request: Request) -> Result<Response, Refusal> {
    let headers = &request.headers;
    // RFC 9110 §14.5: a part of a file would replace the whole.
    if headers.contains(KnownHeader::ContentRange) {
        return Err(Refusal::bad_request("parts of files cannot be uploaded: leave Content-Range out"));
    }
    let mut codings = headers.list(KnownHeader::ContentEncoding);
    if codings.any(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
        let text = "files are stored as they are sent: leave Content-Encoding out, and do not compress";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    let located = shared.locate(request.target.path())?;
    if located.is_folder {
        return Err(Refusal::method(methods::FOLDER, "a folder cannot be uploaded: leave out the slash at the end"));
    }
    let conditions = Conditions::of(&request)?;
    let length = request.body.length();
    let beginning = Beginning { shared: Arc::clone(&shared), located, conditions };
    let (beginning, upload) = blocking(move || {
        let upload = beginning.begin(length)?;
        Ok((beginning, upload))
    })
    .await?;
    let rest = receive(request.body, upload.file(), &shared.disk).await?;
    blocking(move || beginning.complete(upload, rest)).await
}

/// What is known of an upload before its body.
struct Beginning {
    shared: Arc<Shared>,
    located: Located,
    conditions: Conditions,
}

/// Where an upload goes, and what is there now.
struct Goal {
    member: Member,
    kind: Option<Kind>,
    root: Root,
}

impl Beginning {
    /// Creates the file, if the upload is permitted and there is room for it.
    fn begin(&self, length: Option<u64>) -> Result<Upload, Refusal> {
        let goal = self.check(&mut self.shared.locks())?;
        if let (Some(length), Ok(system)) = (length, fstatvfs(&goal.member.folder))
            && length > system.f_bavail.saturating_mul(system.f_frsize)
        {
            return Err(Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "there is no room for the file"));
        }
        Ok(Upload::create(&goal.member.folder)?)
    }

    /// Whether the upload is permitted: asked before the first byte, and again before the file becomes visible.
    fn check(&self, locks: &mut LockTable) -> Result<Goal, Refusal> {
        let Self { shared, located, conditions } = self;
        let root = shared.folder.open_strictly()?;
        let member = Member::open(&root, &located.path).map_err(|refusal| match located.path.as_slice() {
            b"" => Refusal::method(methods::FOLDER, "this is a folder"),
            _ => refusal,
        })?;
        let kind = member.kind()?;
        match kind {
            None | Some(Kind::File) => {}
            Some(Kind::Folder) => return Err(Refusal::method(methods::FOLDER, "this is a folder")),
            Some(Kind::Link | Kind::Special) => {
                return Err(Refusal::forbidden("this is not a file, or a symbolic link, which uploads do not follow"));
            }
        }
        conditions.check(shared, &root, &located.path, locks)?;
        let change = Change { path: &located.path, is_member_change: kind.is_none(), is_deep: false };
        shared.permit(locks, &change, &conditions.tokens())?;
        Ok(Goal { member, kind, root })
    }

    /// Writes the last piece, and makes the file visible.
    fn complete(self, upload: Upload, rest: Piece) -> Result<Response, Refusal> {
        rest.write(upload.file())?;
        // Until it is visible, nobody else may pass the same check.
        let mut locks = self.shared.locks();
        let Goal { member, kind, root } = self.check(&mut locks)?;
        if let (Some(_), Ok(Opened::File(earlier))) = (kind, root.open_below(&self.located.path)) {
            // RFC 4918 §9.7.1: properties of the client stay.
            dead_properties::copy(&earlier.file, upload.file());
        }
        let existing = if self.conditions.requires_absence() { Existing::Keep } else { Existing::Replace };
        let file = upload.publish(&member.name, existing, member.mode())?;
        drop(locks);
        let status = if kind.is_none() { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
        let version = FileVersion::of(&file.metadata()?);
        let (tag, _) = self.shared.folder.validators(&version);
        // Strong, since nobody can have written to this file before it had a name.
        Ok(Response::new(status).with(KnownHeader::Etag, tag.into_strong().to_string()))
    }
}

/// Receives a body into a file; returns the last piece, which is not written yet. If the disk is slow, another thread
/// writes a piece while the next one is received.
async fn receive(mut body: Body, file: &Arc<File>, disk: &Disk) -> Result<Piece, Refusal> {
    let mut piece = Piece::default();
    let mut writing = None;
    while let Some(chunk) = body.chunk().await {
        piece.add(chunk.map_err(|error| Refusal::of_body(&error))?);
        if piece.length() < PIECE {
            continue;
        }
        settle(writing.take()).await?;
        let piece = mem::take(&mut piece);
        if disk.is_fast(seconds_since_1970()) {
            let began = Instant::now();
            piece.write(file)?;
            disk.note(began.elapsed(), seconds_since_1970());
        } else {
            let file = Arc::clone(file);
            writing = Some(spawn_blocking(move || piece.write(&file)));
        }
    }
    settle(writing).await?;
    Ok(piece)
}

/// Waits for the piece that is being written.
async fn settle(writing: Option<JoinHandle<io::Result<()>>>) -> Result<(), Refusal> {
    if let Some(writing) = writing {
        writing.await.unwrap_or_else(|panic| Err(io::Error::other(panic)))?;
    }
    Ok(())
}

/// Some dozen microseconds of copying. Twice as much is the memory of an upload, of which there may be thousands.
const PIECE: usize = 64 << 10;
