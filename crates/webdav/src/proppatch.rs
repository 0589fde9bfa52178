//! PROPPATCH: changes properties.

use std::sync::Arc;

use rustix::io::Errno;
use serow_files::Opened;
use serow_message::{Request, Response, StatusCode};

use crate::{
    blocking::blocking,
    bodies::PropertyChange,
    conditions::Conditions,
    dead_properties,
    element::Element,
    locks::Change,
    member::Kind,
    multistatus::Multistatus,
    properties::is_live,
    refusal::{Refusal, xml},
    writable_folder::WritableFolder,
    xml_body::xml_body,
};

/// Changes all of the named properties, or none.
pub(crate) async fn proppatch(shared: Arc<WritableFolder>, mut request: Request) -> Result<Response, Refusal> {
    let located = shared.locate_changed(request.target.path())?;
    let conditions = Conditions::of(&shared, &request)?;
    let changes = PropertyChange::parse(&xml_body(std::mem::take(&mut request.body)).await?)?;
    blocking(move || {
        let root = shared.folder.open_strictly()?;
        let (file, is_folder) = match root.open_below(&located.path)? {
            Opened::File(_) if located.is_folder => return Err(Refusal::not_found()),
            Opened::File(file) => (file.file.into(), false),
            Opened::Folder(folder) => (folder, true),
        };
        if is_folder {
            shared.permit_path(&located.path, Kind::Folder)?;
        }
        let mut locks = shared.locks();
        conditions.check(&shared, &root, &located.path, &locks)?;
        let change = Change { path: &located.path, is_member_change: false, is_deep: false };
        shared.permit(&mut locks, &change, &conditions.tokens())?;
        // The locks are held meanwhile, since properties are read, changed and written.
        let outcome = if changes.iter().any(|change| is_live(change.name())) {
            Err((StatusCode::FORBIDDEN, "cannot-modify-protected-property"))
        } else {
            apply(&file, &changes)
        };
        drop(locks);
        Ok(response(&shared.request_path(&located.path, is_folder), &changes, outcome))
    })
    .await
}

fn apply(file: &std::os::fd::OwnedFd, changes: &[PropertyChange]) -> Result<(), (StatusCode, &'static str)> {
    let mut properties = dead_properties::read(file);
    for change in changes {
        properties.retain(|property| property.name != *change.name());
        if let PropertyChange::Set(property) = change {
            properties.push(property.clone());
        }
    }
    dead_properties::write(file, &properties).map_err(|errno| match errno {
        Errno::OPNOTSUPP => (StatusCode::FORBIDDEN, ""),
        errno => (Refusal::from(errno).status(), ""),
    })
}

/// RFC 4918 §9.2.1: if one change fails, the others are not made.
fn response(path: &[u8], changes: &[PropertyChange], outcome: Result<(), (StatusCode, &'static str)>) -> Response {
    let (mut culprits, mut others) = (String::new(), String::new());
    let is_protected = matches!(outcome, Err((_, condition)) if !condition.is_empty());
    for change in changes {
        let is_culprit = !is_protected || is_live(change.name());
        Element::empty(change.name().clone()).write(if is_culprit { &mut culprits } else { &mut others });
    }
    let mut writer = Multistatus::default();
    writer.begin();
    writer.begin_response(path);
    match outcome {
        Ok(()) => writer.properties(&culprits, StatusCode::OK),
        Err((status, condition)) => writer.refused_properties(&culprits, status, condition),
    }
    writer.properties(&others, StatusCode::FAILED_DEPENDENCY);
    writer.end_response();
    writer.end();
    xml(StatusCode::MULTI_STATUS, writer.into_text())
}
