//! PUT: uploads of files.

use std::{fs::File, io, mem, sync::Arc};

use rustix::fs::fstatvfs;
use serow_files::{Folder, Opened, Root};
use serow_message::{Body, FileVersion, KnownHeader, Request, Response, StatusCode};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::Instant,
};

use crate::{
    blocking::blocking,
    conditions::Conditions,
    dead_properties,
    disk::Disk,
    locks::{Change, LockTable},
    member::{Kind, Member},
    methods,
    piece::Piece,
    quota::{Reservation, length},
    refusal::Refusal,
    same_origin::is_from_another_site,
    settings::WriteMode,
    upload::{Existing, Upload},
    writable_folder::{Located, WritableFolder, seconds_since_1970},
};

/// Stores the body of a request as a file.
pub(crate) async fn put(shared: Arc<WritableFolder>, request: Request) -> Result<Response, Refusal> {
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
    let located = shared.locate_new(request.target.path())?;
    if located.is_folder {
        return Err(Refusal::method(methods::FOLDER, "a folder cannot be uploaded: leave out the slash at the end"));
    }
    if shared.mode == WriteMode::Form {
        check_form(&request, &shared.folder, &located)?;
    }
    let conditions = Conditions::of(&shared, &request)?;
    let length = request.body.length();
    let beginning = Beginning { shared: Arc::clone(&shared), located, conditions };
    let (beginning, upload, mut reservation) = blocking(move || {
        let (upload, reservation) = beginning.begin(length)?;
        Ok((beginning, upload, reservation))
    })
    .await?;
    let rest = receive(request.body, upload.file(), &shared.disk, &mut reservation).await?;
    blocking(move || beginning.complete(upload, rest, reservation)).await
}

/// Whether the page of the listing, or a program, has sent an upload, and the listing stays.
fn check_form(request: &Request, folder: &Folder, located: &Located) -> Result<(), Refusal> {
    if is_from_another_site(request) {
        return Err(Refusal::forbidden("pages of other sites may not upload"));
    }
    // No page of another site can send it unless this one permits it, not even in old browsers.
    if !request.headers.contains(UPLOAD_FIELD) {
        return Err(Refusal::forbidden(
            "uploads have the field Serow-Upload, as in curl -H 'Serow-Upload: 1' -T FILE URL",
        ));
    }
    let name = located.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if folder.is_index(name) {
        return Err(Refusal::forbidden("a file of this name would take the place of the listing"));
    }
    Ok(())
}

/// The context of an upload, as known before its body.
struct Beginning {
    shared: Arc<WritableFolder>,
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
    fn begin(&self, length: Option<u64>) -> Result<(Upload, Reservation), Refusal> {
        let mut reservation = self.shared.reservation()?;
        let goal = self.check(&mut self.shared.locks())?;
        reservation.reserve(length.unwrap_or(0))?;
        if let (Some(length), Ok(system)) = (length, fstatvfs(&goal.member.folder))
            && length > system.f_bavail.saturating_mul(system.f_frsize)
        {
            return Err(Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "there is no room for the file"));
        }
        Ok((Upload::create(&goal.member.folder)?, reservation))
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
            Some(Kind::File) if shared.mode == WriteMode::Form => {
                return Err(Refusal::new(StatusCode::CONFLICT, "there is a file of this name already"));
            }
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
    fn complete(self, upload: Upload, rest: Piece, reservation: Reservation) -> Result<Response, Refusal> {
        rest.write(upload.file())?;
        // Until it is visible, nobody else may pass the same check.
        let mut locks = self.shared.locks();
        let Goal { member, kind, root } = self.check(&mut locks)?;
        if let (Some(_), Ok(Opened::File(earlier))) = (kind, root.open_below(&self.located.path)) {
            // RFC 4918 §9.7.1: properties of the client stay.
            dead_properties::copy(&earlier.file, upload.file());
        }
        let is_kept = self.shared.mode == WriteMode::Form || self.conditions.requires_absence();
        let existing = if is_kept { Existing::Keep } else { Existing::Replace };
        let replaced = member.stat()?.map_or(0, |stat| length(&stat));
        let file = upload.publish(&member.name, existing, member.mode())?;
        let metadata = file.metadata()?;
        reservation.settle(metadata.len(), replaced);
        drop(locks);
        let status = if kind.is_none() { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
        let version = FileVersion::of(&metadata);
        let (tag, _) = self.shared.folder.validators(&version, || Some(&*file));
        let response = Response::new(status);
        Ok(match tag {
            // Strong, since nobody can have written to this file before it had a name.
            Some(tag) => response.with(KnownHeader::Etag, tag.into_strong().to_string()),
            None => response,
        })
    }
}

/// Receives a body into a file; returns the last piece, which is not written yet. If the disk is slow, another thread
/// writes a piece while the next one is received.
async fn receive(
    mut body: Body,
    file: &Arc<File>,
    disk: &Disk,
    reservation: &mut Reservation,
) -> Result<Piece, Refusal> {
    let mut piece = Piece::default();
    let mut writing = None;
    let mut received = 0_u64;
    while let Some(chunk) = body.chunk().await {
        let chunk = chunk.map_err(|error| Refusal::of_body(&error))?;
        received = received.saturating_add(chunk.len() as u64);
        // Only a body of unknown length needs more than was reserved at first.
        reservation.reserve(received)?;
        piece.add(chunk);
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

/// The field that the page of the listing adds to its uploads.
const UPLOAD_FIELD: &str = "serow-upload";

/// Some dozen microseconds of copying. Twice as much is the memory of an upload, of which there may be thousands.
const PIECE: usize = 64 << 10;
