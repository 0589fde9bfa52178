//! Bodies of PROPFIND, PROPPATCH and LOCK: what is accepted is well-formed when it is written again, and means the same.

use serow_webdav::{Element, LockRequest, PropertyChange, PropertyQuery, XmlError};

/// The target.
pub fn target(body: &[u8]) {
    let _ = PropertyQuery::parse(body);
    if let Ok(changes) = PropertyChange::parse(body) {
        for change in changes {
            if let PropertyChange::Set(property) = change {
                check(&property);
            }
        }
    }
    if let Ok(request) = LockRequest::parse(body) {
        assert!(request.owner.len() <= 1024);
        assert!(request.owner.is_empty() || wrapped(&request.owner).is_ok(), "{}", request.owner);
    }
    if let Ok(element) = Element::parse(body) {
        check(&element);
    }
}

fn check(element: &Element) {
    let mut text = String::new();
    element.write(&mut text);
    match wrapped(&text) {
        Ok(wrapper) => assert_eq!(wrapper.elements().next(), Some(element), "{text}"),
        // The element around it may be one too many.
        Err(error) => assert_eq!(error, XmlError::TooComplex, "{text}"),
    }
}

/// An element as it is in a response, or in an extended attribute.
fn wrapped(text: &str) -> Result<Element, XmlError> {
    Element::parse(format!("<p xmlns:D=\"DAV:\">{text}</p>").as_bytes())
}
