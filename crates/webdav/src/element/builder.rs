//! Makes elements of what an XML reader finds, within limits.

use quick_xml::{
    XmlVersion,
    events::BytesStart,
    name::{NamespaceResolver, PrefixDeclaration, ResolveResult},
};

use super::{Attribute, Element, Name, Node, XmlError, is_character};

/// The elements that have begun and not ended yet.
#[derive(Default)]
pub(super) struct Builder {
    open: Vec<Element>,
    root: Option<Element>,
    elements: usize,
}

impl Builder {
    pub(super) fn open(&mut self, start: &BytesStart<'_>, resolver: &NamespaceResolver) -> Result<(), XmlError> {
        self.elements += 1;
        if self.open.len() == MAX_DEPTH || self.elements > MAX_ELEMENTS {
            return Err(XmlError::TooComplex);
        }
        if self.root.is_some() {
            return Err(XmlError::Malformed);
        }
        let (namespace, local) = resolver.resolve_element(start.name());
        let name = name_of(&namespace, local.into_inner())?;
        let prefix = start.name().prefix().map(|prefix| prefix.into_inner().to_owned()).unwrap_or_default();
        let mut attributes: Vec<Attribute> = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|_| XmlError::Malformed)?;
            if attributes.len() == MAX_ATTRIBUTES {
                return Err(XmlError::TooComplex);
            }
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|_| XmlError::Malformed)?;
            check_text(&value)?;
            match attribute.key.as_namespace_binding() {
                // Namespaces in XML 1.0 §2.2: a prefix cannot be undeclared.
                Some(PrefixDeclaration::Named(_)) if value.is_empty() => return Err(XmlError::Malformed),
                // The reader compares namespaces as they are written, so none may have two spellings.
                Some(_) if attribute.value.bytes().any(is_escaped) => return Err(XmlError::Malformed),
                Some(_) => continue,
                None => {}
            }
            let (namespace, local) = resolver.resolve_attribute(attribute.key);
            let name = name_of(&namespace, local.into_inner())?;
            if attributes.iter().any(|other| other.name == name) {
                return Err(XmlError::Malformed);
            }
            let prefix = attribute.key.prefix().map(|prefix| prefix.into_inner().to_owned()).unwrap_or_default();
            attributes.push(Attribute { name, prefix, value: value.into_owned() });
        }
        // Namespaces in XML 1.0 §3: `xmlns` declares namespaces and cannot be the prefix of an element.
        if prefix == "xmlns" {
            return Err(XmlError::Malformed);
        }
        if !prefix.is_empty() {
            check_name(&prefix)?;
        }
        self.open.push(Element { name, prefix, attributes, children: Vec::new() });
        Ok(())
    }

    pub(super) fn close(&mut self) -> Result<(), XmlError> {
        let element = self.open.pop().ok_or(XmlError::Malformed)?;
        match self.open.last_mut() {
            Some(parent) => parent.children.push(Node::Element(element)),
            None => self.root = Some(element),
        }
        Ok(())
    }

    pub(super) fn add_text(&mut self, text: &str) -> Result<(), XmlError> {
        check_text(text)?;
        match self.open.last_mut() {
            None if text.trim_ascii().is_empty() => {}
            None => return Err(XmlError::Malformed),
            Some(element) => match element.children.last_mut() {
                Some(Node::Text(before)) => before.push_str(text),
                _ if text.is_empty() => {}
                _ => element.children.push(Node::Text(text.to_owned())),
            },
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Element, XmlError> {
        if self.open.is_empty() { self.root.ok_or(XmlError::Malformed) } else { Err(XmlError::Malformed) }
    }
}

fn name_of(namespace: &ResolveResult<'_>, local: &str) -> Result<Name, XmlError> {
    let namespace = match namespace {
        ResolveResult::Bound(namespace) => namespace.0,
        ResolveResult::Unbound => "",
        ResolveResult::Unknown(_) => return Err(XmlError::Malformed),
    };
    check_name(local)?;
    check_text(namespace)?;
    Ok(Name { namespace: namespace.to_owned(), local: local.to_owned() })
}

/// Namespaces in XML 1.0 §3, but for some characters that are not ASCII: what is read must be valid when it is written.
fn check_name(name: &str) -> Result<(), XmlError> {
    let is_start = |character: char| character.is_ascii_alphabetic() || character == '_' || !character.is_ascii();
    let is_part = |character| is_start(character) || character.is_ascii_digit() || matches!(character, '-' | '.');
    let is_name = name.starts_with(is_start) && name.chars().all(is_part);
    if is_name { check_text(name) } else { Err(XmlError::Malformed) }
}

fn check_text(text: &str) -> Result<(), XmlError> {
    if text.chars().all(is_character) { Ok(()) } else { Err(XmlError::Malformed) }
}

/// Whether a value is written with an entity or a character reference in the place of this byte, or of what follows it.
fn is_escaped(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'&' | b'"' | b'\t' | b'\n' | b'\r')
}

/// Requests have five levels, and the values of properties a few more. Elements are freed recursively.
const MAX_DEPTH: usize = 32;

/// More properties than clients use; each costs a hundred times the memory of its text.
const MAX_ELEMENTS: usize = 1000;

/// They are compared with each other.
const MAX_ATTRIBUTES: usize = 64;
