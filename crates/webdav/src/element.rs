//! XML elements: those of request bodies, and properties of clients, which are stored and returned.
//!
//! Request bodies are small documents. Document types are refused, and with them entities other than the five that XML
//! has by itself: nothing can be expanded. Depth and number of elements are bounded.

mod builder;

use std::fmt::Write;

use quick_xml::{events::Event, reader::NsReader};

use self::builder::Builder;

/// An element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its name.
    pub name: Name,
    /// The prefix that its author chose for the namespace; empty for the default namespace.
    prefix: String,
    attributes: Vec<Attribute>,
    /// The elements and texts in it.
    pub children: Vec<Node>,
}

/// A child of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// An element.
    Element(Element),
    /// Text, without markup.
    Text(String),
}

/// The name of an element or attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// The namespace; empty for none.
    pub namespace: String,
    /// The name in the namespace.
    pub local: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Attribute {
    name: Name,
    prefix: String,
    value: String,
}

/// Why text is not an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XmlError {
    /// It is not well-formed, not in UTF-8, or has a document type.
    Malformed,
    /// It exceeds a limit: 32 levels, 1,000 elements, or 64 attributes of an element.
    TooComplex,
}

impl Name {
    /// A name in the namespace `DAV:`.
    #[must_use]
    pub fn dav(local: &str) -> Self {
        Self { namespace: DAV.to_owned(), local: local.to_owned() }
    }

    /// The name in the namespace `DAV:`, if it is one.
    #[must_use]
    pub fn in_dav(&self) -> Option<&str> {
        (self.namespace == DAV).then_some(self.local.as_str())
    }
}

impl Element {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// Text that is not well-formed or too complex.
    pub fn parse(document: &[u8]) -> Result<Self, XmlError> {
        let document = document.strip_prefix("\u{feff}".as_bytes()).unwrap_or(document);
        let text = std::str::from_utf8(document).map_err(|_| XmlError::Malformed)?;
        let mut reader = NsReader::from_str(text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_comments = true;
        let mut builder = Builder::default();
        loop {
            let event = reader.read_event().map_err(|_| XmlError::Malformed)?;
            match event {
                Event::Start(start) => builder.open(&start, reader.resolver())?,
                Event::End(_) => builder.close()?,
                Event::Text(text) => builder.add_text(&text.xml10_content())?,
                Event::CData(text) => builder.add_text(&text.xml10_content())?,
                Event::GeneralRef(reference) => {
                    let character = reference.resolve_char_ref().map_err(|_| XmlError::Malformed)?;
                    let character = character.or_else(|| predefined(&reference)).ok_or(XmlError::Malformed)?;
                    builder.add_text(character.encode_utf8(&mut [0; 4]))?;
                }
                Event::DocType(_) | Event::Empty(_) => return Err(XmlError::Malformed),
                Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
                Event::Eof => return builder.finish(),
            }
        }
    }

    /// An element with nothing in it.
    #[must_use]
    pub fn empty(name: Name) -> Self {
        let prefix = if name.namespace == DAV { "D" } else { "" }.to_owned();
        Self { name, prefix, attributes: Vec::new(), children: Vec::new() }
    }

    /// The elements in it, without the text between them.
    pub fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(|child| match child {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The first element in it of this name in the namespace `DAV:`.
    #[must_use]
    pub fn dav_child(&self, local: &str) -> Option<&Self> {
        self.elements().find(|element| element.name.in_dav() == Some(local))
    }

    /// The value of its attribute `xml:lang`, if it has one.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let language = attributes.find(|attribute| attribute.prefix == "xml" && attribute.name.local == "lang");
        language.map(|attribute| attribute.value.as_str())
    }

    /// Gives it this language, unless it has one (RFC 4918 §4.3: the language around a property is part of it).
    pub fn inherit_language(&mut self, language: Option<&str>) {
        if let Some(language) = language.filter(|_| self.language().is_none()) {
            let name = Name { namespace: XML.to_owned(), local: "lang".to_owned() };
            self.attributes.push(Attribute { name, prefix: "xml".to_owned(), value: language.to_owned() });
        }
    }

    /// Writes it where the prefix `D` stands for `DAV:` and there is no default namespace.
    pub fn write(&self, output: &mut String) {
        let mut scope = vec![("D", DAV), ("xml", XML), ("", "")];
        self.write_in(output, &mut scope);
    }

    fn write_in<'a>(&'a self, output: &mut String, scope: &mut Vec<(&'a str, &'a str)>) {
        let before = scope.len();
        output.push('<');
        let start = output.len();
        push_name(output, &self.prefix, &self.name.local);
        let name = output[start..].to_owned();
        let attributes = self.attributes.iter().map(|attribute| (attribute.prefix.as_str(), &attribute.name));
        let attributes = attributes.filter(|(prefix, _)| !prefix.is_empty());
        for (prefix, name) in std::iter::once((self.prefix.as_str(), &self.name)).chain(attributes) {
            let known = scope.iter().rev().find(|(known, _)| *known == prefix);
            if known.is_none_or(|(_, namespace)| *namespace != name.namespace) {
                scope.push((prefix, &name.namespace));
                output.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
                output.push_str(prefix);
                push_value(output, &name.namespace);
            }
        }
        for Attribute { name, prefix, value } in &self.attributes {
            output.push(' ');
            push_name(output, prefix, &name.local);
            push_value(output, value);
        }
        if self.children.is_empty() {
            output.push_str("/>");
        } else {
            output.push('>');
            for child in &self.children {
                match child {
                    Node::Element(element) => element.write_in(output, scope),
                    Node::Text(text) => escape(text, output),
                }
            }
            let _ = write!(output, "</{name}>");
        }
        scope.truncate(before);
    }
}

fn push_name(output: &mut String, prefix: &str, local: &str) {
    output.push_str(prefix);
    output.push_str(if prefix.is_empty() { "" } else { ":" });
    output.push_str(local);
}

fn push_value(output: &mut String, value: &str) {
    output.push_str("=\"");
    escape(value, output);
    output.push('"');
}

/// Writes text with all characters escaped that mean something in XML, or that a reader would change; characters that
/// XML cannot express are replaced.
pub fn escape(text: &str, output: &mut String) {
    for character in text.chars() {
        match character {
            '<' => output.push_str("&lt;"),
            '>' => output.push_str("&gt;"),
            '&' => output.push_str("&amp;"),
            '"' => output.push_str("&quot;"),
            '\t' | '\n' | '\r' => drop(write!(output, "&#{};", u32::from(character))),
            _ if is_character(character) => output.push(character),
            _ => output.push(char::REPLACEMENT_CHARACTER),
        }
    }
}

/// XML 1.0 §2.2.
fn is_character(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// XML 1.0 §4.6.
fn predefined(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}

/// The namespace of WebDAV.
pub(crate) const DAV: &str = "DAV:";

/// Namespaces in XML 1.0 §3: the prefix `xml` always stands for it.
const XML: &str = "http://www.w3.org/XML/1998/namespace";

#[cfg(test)]
mod tests {
    use super::*;

    fn written(document: &str) -> Result<String, XmlError> {
        let mut output = String::new();
        Element::parse(document.as_bytes())?.write(&mut output);
        Ok(output)
    }

    #[test]
    fn elements_are_written_with_their_namespaces() {
        for (document, expected) in [
            ("<a/>", "<a/>"),
            ("<?xml version='1.0'?>\n<!-- c --><a></a>\n", "<a/>"),
            ("<a xmlns='DAV:'/>", "<a xmlns=\"DAV:\"/>"),
            ("<D:a xmlns:D='DAV:'/>", "<D:a/>"),
            ("<D:a xmlns:D='other'><D:b/></D:a>", "<D:a xmlns:D=\"other\"><D:b/></D:a>"),
            ("<x:a xmlns:x='1'><b/><x:c xmlns:x='2'/></x:a>", "<x:a xmlns:x=\"1\"><b/><x:c xmlns:x=\"2\"/></x:a>"),
            ("<a xmlns='1'><b xmlns=''/></a>", "<a xmlns=\"1\"><b xmlns=\"\"/></a>"),
            ("<a xmlns:y='2' y:b='&lt;\"' c='d'/>", "<a xmlns:y=\"2\" y:b=\"&lt;&quot;\" c=\"d\"/>"),
            ("<a xml:lang='de'>x</a>", "<a xml:lang=\"de\">x</a>"),
            ("<a>&#65;&amp;<![CDATA[<b>]]>&apos;</a>", "<a>A&amp;&lt;b&gt;'</a>"),
            ("<a>\u{10000}</a>", "<a>\u{10000}</a>"),
            ("\u{feff}<a/>", "<a/>"),
        ] {
            assert_eq!(written(document).as_deref(), Ok(expected), "{document}");
            assert_eq!(written(expected).is_ok(), !expected.starts_with("<D:a/"), "{expected}");
        }
    }

    #[test]
    fn malformed_documents_are_refused() {
        for document in [
            "",
            "text",
            "<a>",
            "<a></b>",
            "</a>",
            "<a/><b/>",
            "<a/>text",
            "<a>&other;</a>",
            "<a b='&other;'/>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
            "<x:a/>",
            "<a x:b=''/>",
            "<a xmlns:x=''/>",
            "<x:a xmlns:x='http:/<?x.example/'/>",
            "<x:a xmlns:x='a&amp;b'/>",
            "<a b='1' b='2'/>",
            "<a xmlns:x='1' xmlns:y='1' x:b='' y:b=''/>",
            "<a>\u{1}</a>",
            "<a>&#1;</a>",
            "<a>&#xD800;</a>",
            "<1/>",
            "<a\"/>",
            "<a b=c/>",
            "<x:/>",
            "<:a/>",
            "<xmlns:a/>",
        ] {
            assert_eq!(written(document), Err(XmlError::Malformed), "{document}");
        }
        assert_eq!(Element::parse(b"<a>\xff</a>"), Err(XmlError::Malformed));
        assert_eq!(Element::parse(b"\xff\xfe<\0a\0/\0>\0"), Err(XmlError::Malformed));
    }

    #[test]
    fn complex_documents_are_refused() {
        let nested = |levels: usize| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
        let long = |elements: usize| format!("<a>{}</a>", "<b/>".repeat(elements - 1));
        let wide = |attributes: usize| {
            let attributes: String = (0..attributes).map(|number| format!(" a{number}=''")).collect();
            format!("<a{attributes}/>")
        };
        for (accepted, refused) in [(nested(32), nested(33)), (long(1000), long(1001)), (wide(64), wide(65))] {
            assert!(written(&accepted).is_ok());
            assert_eq!(written(&refused), Err(XmlError::TooComplex));
        }
    }

    #[test]
    fn text_is_escaped() {
        let mut output = String::new();
        escape("<a b=\"c\">&\u{1}\r\n'\u{ffff}", &mut output);
        assert_eq!(output, "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}&#13;&#10;'\u{fffd}");
    }

    #[test]
    fn a_property_inherits_the_language_around_it() {
        let mut element = Element::parse(b"<a/>").unwrap();
        element.inherit_language(None);
        assert_eq!(element.language(), None);
        element.inherit_language(Some("de"));
        element.inherit_language(Some("fr"));
        assert_eq!(element.language(), Some("de"));
    }
}
