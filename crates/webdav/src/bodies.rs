//! The bodies of PROPFIND, PROPPATCH and LOCK.

use crate::element::{Element, Name, XmlError};

/// The query of a PROPFIND (RFC 4918 §14.20).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyQuery {
    /// All properties that are stored or cost little, and these.
    All(Vec<Name>),
    /// The names of all properties.
    Names,
    /// These properties.
    Some(Vec<Name>),
}

/// A change of a property (RFC 4918 §14.19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyChange {
    /// It gets this value: the element of the property.
    Set(Element),
    /// It is removed.
    Remove(Name),
}

/// The request of a LOCK (RFC 4918 §14.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRequest {
    /// Whether others can lock the same.
    pub is_shared: bool,
    /// The element `owner`, as it is returned; empty if there is none.
    pub owner: String,
}

impl PropertyQuery {
    /// Reads the body of a PROPFIND; an empty one asks for all.
    ///
    /// # Errors
    ///
    /// A body that is not well-formed, or no PROPFIND.
    pub fn parse(body: &[u8]) -> Result<Self, XmlError> {
        if body.is_empty() {
            return Ok(Self::All(Vec::new()));
        }
        let root = root(body, "propfind")?;
        let names = |element: &Element| element.elements().map(|property| property.name.clone()).collect();
        if let Some(properties) = root.dav_child("prop") {
            Ok(Self::Some(names(properties)))
        } else if root.dav_child("propname").is_some() {
            Ok(Self::Names)
        } else if root.dav_child("allprop").is_some() {
            Ok(Self::All(root.dav_child("include").map(names).unwrap_or_default()))
        } else {
            Err(XmlError::Malformed)
        }
    }
}

impl PropertyChange {
    /// Reads the body of a PROPPATCH: at least one change, in their order.
    ///
    /// # Errors
    ///
    /// A body that is not well-formed, or no PROPPATCH.
    pub fn parse(body: &[u8]) -> Result<Vec<Self>, XmlError> {
        let root = root(body, "propertyupdate")?;
        let mut changes = Vec::new();
        for instruction in root.elements() {
            let is_set = match instruction.name.in_dav() {
                Some("set") => true,
                Some("remove") => false,
                _ => continue,
            };
            for properties in instruction.elements().filter(|element| element.name.in_dav() == Some("prop")) {
                let languages = [properties, instruction, &root];
                let language = languages.into_iter().find_map(Element::language);
                changes.extend(properties.elements().map(|property| {
                    if !is_set {
                        return Self::Remove(property.name.clone());
                    }
                    let mut property = property.clone();
                    property.inherit_language(language);
                    Self::Set(property)
                }));
            }
        }
        if changes.is_empty() { Err(XmlError::Malformed) } else { Ok(changes) }
    }

    /// The name of the property.
    #[must_use]
    pub fn name(&self) -> &Name {
        match self {
            Self::Set(property) => &property.name,
            Self::Remove(name) => name,
        }
    }
}

impl LockRequest {
    /// Reads the body of a LOCK.
    ///
    /// # Errors
    ///
    /// A body that is not well-formed, no LOCK, not for a write lock, or with an owner of more than a kilobyte.
    pub fn parse(body: &[u8]) -> Result<Self, XmlError> {
        let root = root(body, "lockinfo")?;
        let scope = root.dav_child("lockscope").ok_or(XmlError::Malformed)?;
        let is_shared = match (scope.dav_child("exclusive"), scope.dav_child("shared")) {
            (Some(_), None) => false,
            (None, Some(_)) => true,
            _ => return Err(XmlError::Malformed),
        };
        root.dav_child("locktype").and_then(|kind| kind.dav_child("write")).ok_or(XmlError::Malformed)?;
        let mut owner = String::new();
        if let Some(element) = root.dav_child("owner") {
            element.write(&mut owner);
        }
        if owner.len() > MAX_OWNER { Err(XmlError::TooComplex) } else { Ok(Self { is_shared, owner }) }
    }
}

fn root(body: &[u8], name: &str) -> Result<Element, XmlError> {
    Element::parse(body).and_then(|root| match root.name.in_dav() {
        Some(found) if found == name => Ok(root),
        _ => Err(XmlError::Malformed),
    })
}

/// A name and an address. It is kept as long as the lock, and sent to all who ask for it.
const MAX_OWNER: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn dav(root: &str, inside: &str) -> Vec<u8> {
        format!("<D:{root} xmlns:D='DAV:' xmlns:x='other' xml:lang='en'>{inside}</D:{root}>").into_bytes()
    }

    #[test]
    fn property_queries() {
        let other = Name { namespace: "other".to_owned(), local: "b".to_owned() };
        for (inside, expected) in [
            ("<D:allprop/>", Ok(PropertyQuery::All(vec![]))),
            ("<D:allprop/><D:include><x:b/></D:include>", Ok(PropertyQuery::All(vec![other.clone()]))),
            ("<D:propname/>", Ok(PropertyQuery::Names)),
            ("<D:prop><D:a/> <x:b>y</x:b></D:prop>", Ok(PropertyQuery::Some(vec![Name::dav("a"), other]))),
            ("<D:prop/>", Ok(PropertyQuery::Some(vec![]))),
            ("<x:prop/>", Err(XmlError::Malformed)),
            ("", Err(XmlError::Malformed)),
        ] {
            assert_eq!(PropertyQuery::parse(&dav("propfind", inside)), expected, "{inside}");
        }
        assert_eq!(PropertyQuery::parse(b""), Ok(PropertyQuery::All(vec![])));
        assert_eq!(PropertyQuery::parse(&dav("lockinfo", "<D:allprop/>")), Err(XmlError::Malformed));
    }

    #[test]
    fn property_changes_keep_their_order() {
        let inside = "<D:set><D:prop><x:a>1</x:a></D:prop></D:set><D:remove><D:prop><x:a/><x:b/></D:prop></D:remove>\
                      <x:other/><D:set><D:prop xml:lang='de'><b/></D:prop></D:set>";
        let changes = PropertyChange::parse(&dav("propertyupdate", inside)).unwrap();
        let shown = changes.iter().map(|change| {
            let mut text = String::new();
            match change {
                PropertyChange::Set(property) => property.write(&mut text),
                PropertyChange::Remove(name) => text.push_str(&name.local),
            }
            text
        });
        let expected = ["<x:a xmlns:x=\"other\" xml:lang=\"en\">1</x:a>", "a", "b", "<b xml:lang=\"de\"/>"];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        for inside in ["", "<D:set/>", "<D:set><D:prop/></D:set>"] {
            assert_eq!(PropertyChange::parse(&dav("propertyupdate", inside)), Err(XmlError::Malformed), "{inside}");
        }
    }

    #[test]
    fn lock_requests() {
        let (exclusive, write) = ("<D:lockscope><D:exclusive/></D:lockscope>", "<D:locktype><D:write/></D:locktype>");
        let shared = "<D:lockscope><D:shared/></D:lockscope>";
        let long = format!("<D:owner>{}</D:owner>", "x".repeat(1024));
        let owned = |owner: &str| Ok(LockRequest { is_shared: false, owner: owner.to_owned() });
        for (inside, expected) in [
            (format!("{exclusive}{write}"), owned("")),
            (
                format!("{exclusive}{write}<D:owner><x:me/></D:owner>"),
                owned("<D:owner><x:me xmlns:x=\"other\"/></D:owner>"),
            ),
            (format!("{write}{shared}"), Ok(LockRequest { is_shared: true, owner: String::new() })),
            (format!("{exclusive}{write}{long}"), Err(XmlError::TooComplex)),
            (exclusive.to_owned(), Err(XmlError::Malformed)),
            (write.to_owned(), Err(XmlError::Malformed)),
            ("<D:lockscope/><D:locktype/>".to_owned(), Err(XmlError::Malformed)),
        ] {
            assert_eq!(LockRequest::parse(&dav("lockinfo", &inside)), expected, "{inside}");
        }
    }
}
