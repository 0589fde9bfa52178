//! DELETE and MKCOL: removing files and folders, and creating folders.

use std::sync::Arc;

use rustix::{fs, io::Errno};
use serow_message::{Request, Response, StatusCode};

use crate::{
    blocking::blocking,
    conditions::Conditions,
    depth::Depth,
    locks::Change,
    member::{Kind, Member},
    methods,
    multistatus::Multistatus,
    quota::length,
    refusal::{Refusal, xml},
    settings::WriteMode,
    tree::{Budget, NEW_FOLDER, Removal, Unserved, open_folder, remove, survey},
    writable_folder::WritableFolder,
};

/// Removes a file, or a folder with all that is in it.
pub(crate) async fn delete(shared: Arc<WritableFolder>, request: Request) -> Result<Response, Refusal> {
    let located = shared.locate_changed(request.target.path())?;
    let depth = depth(&request)?;
    let conditions = Conditions::of(&shared, &request)?;
    blocking(move || {
        let quota = shared.quota()?;
        let root = shared.folder.open_strictly()?;
        let member = Member::open(&root, &located.path).map_err(not_found_for_conflict)?;
        let kind = member.kind()?.filter(|kind| *kind != Kind::Special).ok_or_else(Refusal::not_found)?;
        if located.is_folder && kind != Kind::Folder {
            return Err(Refusal::not_found());
        }
        let is_folder = kind == Kind::Folder;
        if kind != Kind::File {
            // The router knew neither what it is nor what is in it.
            shared.permit_path(&located.path, kind)?;
        }
        if is_folder && shared.mode == WriteMode::Put {
            return Err(Refusal::method("GET, HEAD, OPTIONS", "folders cannot be deleted here"));
        }
        if is_folder && depth.is_some_and(|depth| depth != Depth::Infinity) {
            return Err(Refusal::bad_request(
                "a folder is deleted with all that is in it: Depth is infinity, or left out",
            ));
        }
        {
            let mut locks = shared.locks();
            conditions.check(&shared, &root, &located.path, &locks)?;
            let change = Change { path: &located.path, is_member_change: true, is_deep: is_folder };
            shared.permit(&mut locks, &change, &conditions.tokens())?;
            if !is_folder {
                let bytes = member.stat()?.map_or(0, |stat| length(&stat));
                fs::unlinkat(&member.folder, member.name.as_slice(), fs::AtFlags::empty())?;
                if let Some(quota) = quota {
                    quota.release(bytes);
                }
                locks.remove_all(&located.path);
                return Ok(Response::new(StatusCode::NO_CONTENT));
            }
        }
        let (folder, path) = (open_folder(&member.folder, &member.name)?, located.path.clone());
        survey(&shared, &folder, &[path], Unserved::Refused, &mut Budget::default())?;
        let mut removal = Removal { is_counted: quota.is_some(), ..Removal::default() };
        remove(&member.folder, &member.name, kind, located.path.clone(), &mut removal);
        if let Some(quota) = quota {
            quota.release(removal.bytes);
        }
        if removal.failures.is_empty() {
            shared.locks().remove_all(&located.path);
            return Ok(Response::new(StatusCode::NO_CONTENT));
        }
        Ok(failed(&shared, &removal.failures))
    })
    .await
}

/// Creates a folder.
pub(crate) async fn create_folder(shared: Arc<WritableFolder>, request: Request) -> Result<Response, Refusal> {
    // RFC 4918 §9.3: the body could describe what is to be in the folder, in a format that nobody has defined.
    if request.body.length() != Some(0) {
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "MKCOL has no body"));
    }
    let located = shared.locate_new(request.target.path())?;
    let conditions = Conditions::of(&shared, &request)?;
    blocking(move || {
        let exists = || Refusal::method(methods::EXISTING, "the name exists already");
        let root = shared.folder.open_strictly()?;
        if located.path.is_empty() {
            return Err(exists());
        }
        let member = Member::open(&root, &located.path)?;
        if member.kind()?.is_some() {
            return Err(exists());
        }
        shared.permit_path(&located.path, Kind::Folder)?;
        let mut locks = shared.locks();
        conditions.check(&shared, &root, &located.path, &locks)?;
        let change = Change { path: &located.path, is_member_change: true, is_deep: false };
        shared.permit(&mut locks, &change, &conditions.tokens())?;
        match fs::mkdirat(&member.folder, member.name.as_slice(), NEW_FOLDER) {
            Ok(()) => Ok(Response::new(StatusCode::CREATED)),
            Err(Errno::EXIST) => Err(exists()),
            Err(errno) => Err(errno.into()),
        }
    })
    .await
}

/// The field `Depth` of a request.
///
/// # Errors
///
/// An invalid value.
pub(crate) fn depth(request: &Request) -> Result<Option<Depth>, Refusal> {
    let depth = request.headers.get("depth").map(Depth::parse).transpose();
    depth.map_err(|_| Refusal::bad_request("Depth is 0, 1 or infinity"))
}

/// Turns 409 into 404: a resource in a folder that does not exist does not exist either.
pub(crate) fn not_found_for_conflict(refusal: Refusal) -> Refusal {
    if refusal.status() == StatusCode::CONFLICT { Refusal::not_found() } else { refusal }
}

/// RFC 4918 §9.6.1: what could not be removed.
fn failed(shared: &WritableFolder, failures: &[(Vec<u8>, Errno)]) -> Response {
    let mut writer = Multistatus::default();
    writer.begin();
    for (path, errno) in failures {
        writer.status(&shared.request_path(path, false), Refusal::from(*errno).status());
    }
    writer.end();
    xml(StatusCode::MULTI_STATUS, writer.into_text())
}
