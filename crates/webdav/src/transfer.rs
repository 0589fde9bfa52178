//! COPY and MOVE.
//!
//! A copy is made under a temporary name beside its destination, and renamed when it is complete. A file or folder at
//! the destination gets a temporary name before, and is removed after.

use std::{os::fd::OwnedFd, sync::Arc};

use rustix::{fs, io::Errno};
use serow_files::{OpenFile, Opened, Root};
use serow_message::{Request, Response, StatusCode};

use crate::{
    blocking::blocking,
    conditions::Conditions,
    dead_properties,
    depth::Depth,
    destination::DestinationError,
    locks::Change,
    member::{Kind, Member},
    quota::length,
    refusal::Refusal,
    structure::{depth, not_found_for_conflict},
    tree::{Budget, FolderCopy, NEW_FOLDER, OpenFolder, Removal, Unserved, copy_file, open_folder, remove, survey},
    upload::{Existing, Upload, rename, temporary_name},
    writable_folder::{Located, WritableFolder, path_at},
};

/// The method, which decides whether the source stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    Copy,
    Move,
}

/// Copies or moves a file, or a folder with all that is in it.
pub(crate) async fn transfer(
    shared: Arc<WritableFolder>,
    request: Request,
    kind: Transfer,
) -> Result<Response, Refusal> {
    let source = match kind {
        Transfer::Copy => shared.locate(request.target.path())?,
        Transfer::Move => shared.locate_changed(request.target.path())?,
    };
    let destination = destination(&shared, &request)?;
    let depth = depth(&request)?.unwrap_or(Depth::Infinity);
    if depth == Depth::One || depth == Depth::Zero && kind == Transfer::Move {
        return Err(Refusal::bad_request("Depth is infinity; that of a COPY can be 0"));
    }
    let is_overwriting = match request.headers.get("overwrite") {
        None => true,
        Some(value) if value.eq_ignore_ascii_case(b"t") => true,
        Some(value) if value.eq_ignore_ascii_case(b"f") => false,
        Some(_) => return Err(Refusal::bad_request("Overwrite is T or F")),
    };
    let existing = if is_overwriting { Existing::Replace } else { Existing::Keep };
    let conditions = Conditions::of(&shared, &request)?;
    let work = Work { shared, source, destination, depth, existing, conditions };
    blocking(move || {
        let was_there = match kind {
            Transfer::Copy => work.copy()?,
            Transfer::Move => work.relocate()?,
        };
        Ok(Response::new(if was_there { StatusCode::NO_CONTENT } else { StatusCode::CREATED }))
    })
    .await
}

fn destination(shared: &WritableFolder, request: &Request) -> Result<Located, Refusal> {
    let value = request.headers.get_str("destination");
    let url = value.ok_or_else(|| Refusal::bad_request("the field Destination is missing, or not in UTF-8"))?;
    match path_at(url, &shared.site.hosts(request)) {
        Ok(path) => {
            let located = shared.locate_new(&path)?;
            match shared.is_own(&located.path, located.is_folder) {
                true => Ok(located),
                false => Err(Refusal::of_another_route()),
            }
        }
        Err(DestinationError::Malformed) => Err(Refusal::bad_request("the field Destination is malformed")),
        Err(DestinationError::OtherHost) => {
            Err(Refusal::new(StatusCode::BAD_GATEWAY, "the destination is on another server"))
        }
    }
}

/// A COPY or MOVE.
struct Work {
    shared: Arc<WritableFolder>,
    source: Located,
    destination: Located,
    depth: Depth,
    existing: Existing,
    conditions: Conditions,
}

impl Work {
    /// Returns whether something was at the destination.
    fn copy(&self) -> Result<bool, Refusal> {
        let mut reservation = self.shared.reservation()?;
        let readable = self.shared.folder.open()?;
        let source = readable.open_below(&self.source.path)?;
        let kind = if matches!(source, Opened::Folder(_)) { Kind::Folder } else { Kind::File };
        if kind == Kind::Folder && !self.shared.is_own(&self.source.path, true) {
            return Err(Refusal::of_another_route());
        }
        let (target, target_kind) = self.target(kind)?;
        let strict = self.shared.folder.open_strictly()?;
        self.permit(&strict, target_kind, false)?;
        match source {
            Opened::File(OpenFile { file, .. }) => {
                let upload = Upload::create(&target.folder)?;
                copy_file(&file, upload.file(), &mut reservation)?;
                // No folder is moved to another path with it: see `relocate`.
                let _locks = self.shared.is_shared_with_others().then(|| self.shared.locks());
                if target_kind == Some(Kind::Folder) {
                    self.replace_folder(&target, |name| upload.publish(name, Existing::Keep, None).map(drop))?;
                    reservation.settle_all(0);
                    return Ok(true);
                }
                let replaced = target.stat()?.map_or(0, |stat| length(&stat));
                upload.publish(&target.name, self.existing, None).map_err(|errno| self.refused(errno))?;
                reservation.settle_all(replaced);
                Ok(target_kind.is_some())
            }
            Opened::Folder(folder) => {
                let temporary = Temporary::create(&target.folder)?;
                let inner = open_folder(&target.folder, temporary.name.as_bytes())?;
                if self.depth == Depth::Infinity {
                    let (shared, root, budget) = (&*self.shared, &readable, Budget::default());
                    let mut copy = FolderCopy { shared, root, budget, reservation: &mut reservation };
                    let from = OpenFolder { path: &self.source.path, folder: &folder };
                    copy.copy(from, OpenFolder { path: &self.destination.path, folder: &inner })?;
                } else {
                    dead_properties::copy(&folder, &inner);
                }
                let locks = self.shared.is_shared_with_others().then(|| self.shared.locks());
                let was_there =
                    self.place(&target, target_kind, &target.folder, temporary.name.as_bytes(), Kind::Folder)?;
                drop(locks);
                self.shared.locks().remove_within(&self.destination.path);
                reservation.settle_all(0);
                Ok(was_there)
            }
        }
    }

    /// Returns whether something was at the destination.
    fn relocate(&self) -> Result<bool, Refusal> {
        self.shared.quota()?;
        let root = self.shared.folder.open_strictly()?;
        let source = Member::open(&root, &self.source.path).map_err(not_found_for_conflict)?;
        let kind = source.kind()?.filter(|kind| *kind != Kind::Special).ok_or_else(Refusal::not_found)?;
        if self.source.is_folder && kind != Kind::Folder {
            return Err(Refusal::not_found());
        }
        let (target, target_kind) = self.target(kind)?;
        self.permit(&root, target_kind, true)?;
        let locks = self.shared.is_shared_with_others().then(|| self.shared.locks());
        if locks.is_some() && kind != Kind::File {
            self.survey_source(&source, kind)?;
        }
        let was_there = self.place(&target, target_kind, &source.folder, &source.name, kind)?;
        drop(locks);
        let mut locks = self.shared.locks();
        locks.remove_within(&self.destination.path);
        locks.remove_all(&self.source.path);
        Ok(was_there)
    }

    /// Makes sure that nothing in a folder is another route's, neither where it is nor where it is moved to. The locks are
    /// held until it is there, so that no other request puts something into it that could not be put there.
    fn survey_source(&self, source: &Member, kind: Kind) -> Result<(), Refusal> {
        self.shared.permit_path(&self.source.path, kind)?;
        if kind != Kind::Folder {
            return Ok(());
        }
        let paths = [self.source.path.clone(), self.destination.path.clone()];
        let folder = open_folder(&source.folder, &source.name)?;
        survey(&self.shared, &folder, &paths, Unserved::Allowed, &mut Budget::default())
    }

    /// The destination of something of this kind, and what is there.
    fn target(&self, new: Kind) -> Result<(Member, Option<Kind>), Refusal> {
        let (source, destination) = (&self.source.path, &self.destination.path);
        let is_deep = new == Kind::Folder && self.depth == Depth::Infinity;
        if source == destination {
            return Err(Refusal::forbidden("source and destination are the same"));
        }
        if is_deep && is_below(destination, source) {
            return Err(Refusal::forbidden("the destination is within the source"));
        }
        if is_below(source, destination) || destination.is_empty() {
            return Err(Refusal::forbidden("the source is within the destination, which would be replaced"));
        }
        self.shared.permit_path(destination, new)?;
        let member = Member::open(&self.shared.folder.open_strictly()?, destination)?;
        let kind = member.kind()?;
        if let Some(kind) = kind {
            self.shared.permit_path(destination, kind)?;
        }
        match kind {
            Some(_) if self.existing == Existing::Keep => {
                Err(Refusal::new(StatusCode::PRECONDITION_FAILED, "the destination exists"))
            }
            Some(Kind::Link | Kind::Special) => {
                Err(Refusal::forbidden("the destination is not a file or folder, or a symbolic link"))
            }
            Some(Kind::Folder) => {
                let folder = open_folder(&member.folder, &member.name)?;
                let budget = &mut Budget::default();
                survey(&self.shared, &folder, std::slice::from_ref(destination), Unserved::Refused, budget)?;
                Ok((member, kind))
            }
            kind => Ok((member, kind)),
        }
    }

    /// Conditions and locks.
    fn permit(&self, root: &Root, kind: Option<Kind>, is_moving: bool) -> Result<(), Refusal> {
        let mut locks = self.shared.locks();
        self.conditions.check(&self.shared, root, &self.source.path, &locks)?;
        let tokens = self.conditions.tokens();
        if is_moving {
            let change = Change { path: &self.source.path, is_member_change: true, is_deep: true };
            self.shared.permit(&mut locks, &change, &tokens)?;
        }
        let path = &self.destination.path;
        let change = Change { path, is_member_change: kind.is_none(), is_deep: kind.is_some() };
        self.shared.permit(&mut locks, &change, &tokens)
    }

    /// Renames something to the destination. Returns whether something was there.
    fn place(
        &self,
        target: &Member,
        target_kind: Option<Kind>,
        folder: &OwnedFd,
        name: &[u8],
        kind: Kind,
    ) -> Result<bool, Refusal> {
        let rename_to = |new: &[u8], existing| rename(folder, name, &target.folder, new, existing);
        match target_kind {
            // In one step, so that there always is a file.
            Some(Kind::File) if kind != Kind::Folder => {
                let replaced = target.stat()?.map_or(0, |stat| length(&stat));
                rename_to(&target.name, Existing::Replace)?;
                self.release(replaced)?;
            }
            Some(_) => {
                self.replace_folder(target, |new| rename_to(new, Existing::Keep))?;
            }
            // Something may have appeared meanwhile.
            None => rename_to(&target.name, Existing::Keep).map_err(|errno| self.refused(errno))?,
        }
        Ok(target_kind.is_some())
    }

    /// Puts something in the place of what is at the destination.
    fn replace_folder(
        &self,
        target: &Member,
        publish: impl FnOnce(&[u8]) -> rustix::io::Result<()>,
    ) -> Result<bool, Refusal> {
        let earlier = temporary_name()?;
        let folder = &target.folder;
        let kind = target.kind()?.unwrap_or(Kind::File);
        rename(folder, &target.name, folder, earlier.as_bytes(), Existing::Keep)?;
        if let Err(errno) = publish(&target.name) {
            let _ = rename(folder, earlier.as_bytes(), folder, &target.name, Existing::Keep);
            return Err(self.refused(errno));
        }
        let mut removal = Removal { is_counted: self.shared.quota()?.is_some(), ..Removal::default() };
        remove(folder, earlier.as_bytes(), kind, Vec::new(), &mut removal);
        self.release(removal.bytes)?;
        if let Some((_, errno)) = removal.failures.first() {
            tracing::warn!("what a COPY or MOVE replaced is left in {earlier:?}, which is not served: {errno}");
        }
        Ok(true)
    }

    /// Files with so many bytes were replaced.
    fn release(&self, bytes: u64) -> Result<(), Refusal> {
        if let Some(quota) = self.shared.quota()? {
            quota.release(bytes);
        }
        Ok(())
    }

    fn refused(&self, errno: Errno) -> Refusal {
        match errno {
            Errno::EXIST if self.existing == Existing::Keep => {
                Refusal::new(StatusCode::PRECONDITION_FAILED, "the destination exists")
            }
            errno => errno.into(),
        }
    }
}

/// A folder with a temporary name, removed unless it was renamed.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: String,
}

impl<'a> Temporary<'a> {
    fn create(folder: &'a OwnedFd) -> rustix::io::Result<Self> {
        let name = temporary_name()?;
        fs::mkdirat(folder, name.as_str(), NEW_FOLDER)?;
        Ok(Self { folder, name })
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if fs::statat(self.folder, self.name.as_str(), fs::AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            remove(self.folder, self.name.as_bytes(), Kind::Folder, Vec::new(), &mut Removal::default());
        }
    }
}

/// Whether a path is below another one.
fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path != folder && (folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_a_folder_but_not_below_a_name_that_it_begins_with() {
        for (path, folder, expected) in [
            ("a/b", "a", true),
            ("a", "", true),
            ("ab", "a", false),
            ("a", "a", false),
            ("a", "a/b", false),
            ("", "", false),
        ] {
            assert_eq!(is_below(path.as_bytes(), folder.as_bytes()), expected, "{path} {folder}");
        }
    }
}
