//! Properties that clients set (dead properties, RFC 4918 §4): an extended attribute of the file or folder holds them
//! all, so that a PROPPATCH changes all or none.

use std::{fmt::Write, os::fd::AsFd};

use rustix::{
    fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr},
    io::Errno,
};

use crate::element::Element;

/// The properties of an open file or folder; none where the file system has no extended attributes.
pub(crate) fn read(file: impl AsFd) -> Vec<Element> {
    let Some(document) = stored(file) else { return Vec::new() };
    // Other programs may have written something else.
    Element::parse(&document).map(|root| root.elements().cloned().collect()).unwrap_or_default()
}

/// Stores properties instead of those that there were.
///
/// # Errors
///
/// [`Errno::OPNOTSUPP`] without extended attributes; [`Errno::NOSPC`] or [`Errno::TOOBIG`] where they are too large: ext4 has
/// 4 KB for all attributes of a file, XFS and Btrfs have 64 KB and 16 KB.
pub(crate) fn write(file: impl AsFd, properties: &[Element]) -> rustix::io::Result<()> {
    if properties.is_empty() {
        return match fremovexattr(file, ATTRIBUTE) {
            Err(Errno::NODATA) => Ok(()),
            outcome => outcome,
        };
    }
    let mut document = "<p xmlns:D=\"DAV:\">".to_owned();
    for property in properties {
        property.write(&mut document);
    }
    let _ = write!(document, "</p>");
    // A document that cannot be read again would be lost.
    if document.len() > MAX_SIZE || Element::parse(document.as_bytes()).is_err() {
        return Err(Errno::TOOBIG);
    }
    fsetxattr(file, ATTRIBUTE, document.as_bytes(), XattrFlags::empty())
}

/// Gives a file the properties of another one, as far as its file system permits.
pub(crate) fn copy(from: impl AsFd, to: impl AsFd) {
    if let Some(document) = stored(from) {
        let _ = fsetxattr(to, ATTRIBUTE, &document, XattrFlags::empty());
    }
}

fn stored(file: impl AsFd) -> Option<Vec<u8>> {
    // Most files have none: that costs one call with a small buffer.
    let mut small = [0; 512];
    match fgetxattr(&file, ATTRIBUTE, &mut small) {
        Ok(length) => Some(small[..length].to_vec()),
        Err(Errno::RANGE) => {
            let mut large = vec![0; MAX_SIZE];
            let length = fgetxattr(&file, ATTRIBUTE, large.as_mut_slice()).ok()?;
            large.truncate(length);
            Some(large)
        }
        Err(_) => None,
    }
}

const ATTRIBUTE: &str = "user.serow.properties";

/// The kernel's limit for an extended attribute (XATTR_SIZE_MAX).
const MAX_SIZE: usize = 64 << 10;
