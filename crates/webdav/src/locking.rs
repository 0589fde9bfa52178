//! LOCK and UNLOCK.

use std::{os::fd::OwnedFd, sync::Arc};

use rustix::io::Errno;
use serow_files::{Opened, Root};
use serow_message::{Request, Response, StatusCode};

use crate::{
    blocking::blocking,
    bodies::LockRequest,
    conditions::Conditions,
    depth::Depth,
    locks::{Change, Lock, LockRefused, LockTable},
    member::{Kind, Member},
    multistatus::Multistatus,
    new_name::check_new,
    properties::write_active_lock,
    refusal::{Refusal, xml},
    structure::depth,
    timeout::lock_timeout,
    tree::{Budget, Unserved, survey},
    upload::{Existing, Upload, random},
    writable_folder::{Located, WritableFolder, seconds_since_1970},
    xml_body::xml_body,
};

/// Creates or refreshes a lock.
pub(crate) async fn lock(shared: Arc<WritableFolder>, mut request: Request) -> Result<Response, Refusal> {
    let located = shared.locate_changed(request.target.path())?;
    let conditions = Conditions::of(&shared, &request)?;
    let timeout = lock_timeout(request.headers.get("timeout"));
    let is_deep = match depth(&request)? {
        None | Some(Depth::Infinity) => true,
        Some(Depth::Zero) => false,
        Some(Depth::One) => return Err(Refusal::bad_request("Depth of a LOCK is 0 or infinity")),
    };
    let client = shared.site.client(&request);
    let body = xml_body(std::mem::take(&mut request.body)).await?;
    // RFC 4918 §9.10.2: without a body, a lock is refreshed.
    if body.is_empty() {
        return refresh(shared, located, conditions, timeout).await;
    }
    let LockRequest { is_shared, owner } = LockRequest::parse(&body)?;
    blocking(move || {
        let expires = seconds_since_1970().saturating_add(timeout);
        let path = located.path.clone();
        let lock = Lock { token: token()?, path, is_deep, is_shared, owner, client, timeout, expires };
        create(&shared, &located, &conditions, lock)
    })
    .await
}

/// Removes a lock.
pub(crate) async fn unlock(shared: Arc<WritableFolder>, request: Request) -> Result<Response, Refusal> {
    let located = shared.locate(request.target.path())?;
    let token = request.headers.get_str("lock-token").map(str::trim);
    let token = token.and_then(|token| token.strip_prefix('<')?.strip_suffix('>'));
    let token = token.ok_or_else(|| Refusal::bad_request("the field Lock-Token is missing or malformed"))?;
    let token = token.to_owned();
    // Another request may hold the locks while it waits for the disk.
    blocking(move || match shared.locks().remove(&located.path, &token, seconds_since_1970()) {
        true => Ok(Response::new(StatusCode::NO_CONTENT)),
        false => Err(Refusal::of_condition(StatusCode::CONFLICT, "lock-token-matches-request-uri", None)),
    })
    .await
}

fn create(
    shared: &WritableFolder,
    located: &Located,
    conditions: &Conditions,
    lock: Lock,
) -> Result<Response, Refusal> {
    let root = shared.folder.open_strictly()?;
    if shared.is_shared_with_others()
        && let Ok(Opened::Folder(folder)) = root.open_below(&located.path)
    {
        check_folder(shared, located, &folder, lock.is_deep)?;
    }
    let mut locks = shared.locks();
    conditions.check(shared, &root, &located.path, &locks)?;
    let is_new = is_missing(&root, located)?;
    if is_new {
        check_new(&located.path, shared.mode)?;
        // RFC 4918 §7.3: a lock of something that does not exist creates an empty file, which changes the folder.
        let change = Change { path: &located.path, is_member_change: true, is_deep: false };
        let tokens = conditions.tokens();
        shared.permit(&mut locks, &change, &tokens)?;
    }
    let own = lock.path.clone();
    if let Err(refused) = locks.add(lock.clone(), seconds_since_1970()) {
        return refuse(shared, &own, refused);
    }
    if is_new && let Err(refusal) = create_file(&root, &own) {
        locks.remove_all(&own);
        return Err(refusal);
    }
    drop(locks);
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(granted(shared, status, &lock).with("lock-token", format!("<{}>", lock.token)))
}

/// Whether the clients of other routes cannot change what is to be locked: they do not know of the locks here (RFC 4918
/// §9.10.3).
fn check_folder(shared: &WritableFolder, located: &Located, folder: &OwnedFd, is_deep: bool) -> Result<(), Refusal> {
    shared.permit_path(&located.path, Kind::Folder)?;
    if is_deep {
        survey(shared, folder, std::slice::from_ref(&located.path), Unserved::Allowed, &mut Budget::default())?;
    }
    Ok(())
}

/// Whether there is nothing at the path of a lock yet.
fn is_missing(root: &Root, located: &Located) -> Result<bool, Refusal> {
    if located.path.is_empty() {
        return Ok(false);
    }
    match Member::open(root, &located.path)?.kind()? {
        None if located.is_folder => Err(Refusal::not_found()),
        None => Ok(true),
        Some(Kind::File | Kind::Folder) => Ok(false),
        Some(Kind::Link | Kind::Special) => Err(Refusal::forbidden("symbolic links cannot be locked")),
    }
}

fn create_file(root: &Root, path: &[u8]) -> Result<(), Refusal> {
    let member = Member::open(root, path)?;
    match Upload::create(&member.folder)?.publish(&member.name, Existing::Keep, None) {
        Ok(_) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn refuse(shared: &WritableFolder, path: &[u8], refused: LockRefused) -> Result<Response, Refusal> {
    match refused {
        LockRefused::TooMany => Err(Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "there are too many locks")),
        LockRefused::Conflict(other) if other.len() <= path.len() => {
            let other = shared.request_path(&other, false);
            Err(Refusal::of_condition(StatusCode::LOCKED, "no-conflicting-lock", Some(other)))
        }
        // RFC 4918 §9.10.6: something below is locked.
        LockRefused::Conflict(other) => {
            let mut writer = Multistatus::default();
            writer.begin();
            writer.status(&shared.request_path(&other, false), StatusCode::LOCKED);
            writer.status(&shared.request_path(path, false), StatusCode::FAILED_DEPENDENCY);
            writer.end();
            Ok(xml(StatusCode::MULTI_STATUS, writer.into_text()))
        }
    }
}

async fn refresh(
    shared: Arc<WritableFolder>,
    located: Located,
    conditions: Conditions,
    timeout: u64,
) -> Result<Response, Refusal> {
    blocking(move || {
        let root = shared.folder.open_strictly()?;
        let mut locks = shared.locks();
        let tokens = conditions.tokens();
        if tokens.is_empty() {
            return Err(Refusal::bad_request("a LOCK without a body refreshes the lock that the field If names"));
        }
        conditions.check(&shared, &root, &located.path, &locks)?;
        let lock = refreshed(&mut locks, &located.path, &tokens, timeout);
        drop(locks);
        Ok(granted(&shared, StatusCode::OK, &lock.ok_or_else(Refusal::precondition)?))
    })
    .await
}

fn refreshed(locks: &mut LockTable, path: &[u8], tokens: &[&str], timeout: u64) -> Option<Lock> {
    locks.refresh(path, tokens, timeout, seconds_since_1970())
}

/// RFC 4918 §9.10.1.
fn granted(shared: &WritableFolder, status: StatusCode, lock: &Lock) -> Response {
    let mut text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:prop xmlns:D=\"DAV:\"><D:lockdiscovery>".to_owned();
    write_active_lock(&mut text, lock, shared);
    text.push_str("</D:lockdiscovery></D:prop>\n");
    xml(status, text)
}

/// A token that no other lock has (RFC 4918 §6.5): a random UUID (RFC 9562 §5.4).
fn token() -> Result<String, Refusal> {
    let random = random()? & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let digits = format!("{random:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(format!("urn:uuid:{}", parts.join("-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random_uuids() {
        let (one, other) = (token().unwrap(), token().unwrap());
        assert_ne!(one, other);
        assert_eq!((one.len(), &one[..9], &one[23..24]), (45, "urn:uuid:", "4"));
        assert!(matches!(&one[28..29], "8" | "9" | "a" | "b"), "{one}");
    }
}
