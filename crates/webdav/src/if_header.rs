//! The field `If` (RFC 4918 §10.4).
//!
//! ```text
//! If           = 1*List | 1*(Resource-Tag 1*List)
//! Resource-Tag = "<" URL ">"
//! List         = "(" 1*Condition ")"
//! Condition    = ["Not"] ( "<" state token ">" | "[" entity tag "]" )
//! ```

use std::fmt;

/// A value of `If`: lists of conditions, of which one has to be fulfilled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IfHeader {
    lists: Vec<IfList>,
}

/// A list of conditions, all of which have to be fulfilled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IfList {
    /// The URL of the resource that the list is about; `None` for the resource of the request.
    pub resource: Option<String>,
    /// The conditions, at least one.
    pub conditions: Vec<Condition>,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Whether it is fulfilled if the state is another one.
    pub negated: bool,
    /// The state.
    pub state: ResourceState,
}

/// The state of a resource that a condition is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceState {
    /// It is locked with this token.
    Token(String),
    /// It has this entity tag; with its quotation marks.
    Tag(String),
}

impl IfHeader {
    /// Reads a value of the field.
    ///
    /// # Errors
    ///
    /// Text that does not follow the grammar, or has more than 100 conditions.
    ///
    /// ```
    /// use serow_webdav::IfHeader;
    ///
    /// assert!(IfHeader::parse("(<urn:uuid:1> [\"tag\"]) (Not <DAV:no-lock>)").is_ok());
    /// assert!(IfHeader::parse("<urn:uuid:1>").is_err());
    /// ```
    pub fn parse(value: &str) -> Result<Self, InvalidIf> {
        let mut rest = Rest(value);
        let mut lists = Vec::new();
        let (mut resource, mut room) = (None, MAX_CONDITIONS);
        let is_tagged = rest.is_before("<");
        while !rest.is_empty() {
            if is_tagged && rest.is_before("<") {
                resource = Some(rest.enclosed('<', '>')?.to_owned());
                if !rest.is_before("(") {
                    return Err(InvalidIf);
                }
            }
            lists.push(IfList { resource: resource.clone(), conditions: rest.list(&mut room)? });
        }
        if lists.is_empty() { Err(InvalidIf) } else { Ok(Self { lists }) }
    }

    /// The lists, in their order.
    #[must_use]
    pub fn lists(&self) -> &[IfList] {
        &self.lists
    }

    /// Whether one of the lists is fulfilled; `holds` says whether a resource, or that of the request, is in a state.
    pub fn is_fulfilled(&self, mut holds: impl FnMut(Option<&str>, &ResourceState) -> bool) -> bool {
        self.lists.iter().any(|list| {
            let mut conditions = list.conditions.iter();
            conditions.all(|condition| holds(list.resource.as_deref(), &condition.state) != condition.negated)
        })
    }

    /// The tokens that the client shows to have: those of conditions that are not negated.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        let conditions = self.lists.iter().flat_map(|list| &list.conditions);
        conditions.filter(|condition| !condition.negated).filter_map(|condition| match &condition.state {
            ResourceState::Token(token) => Some(token.as_str()),
            ResourceState::Tag(_) => None,
        })
    }
}

/// The rest of the text.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn list(&mut self, room: &mut usize) -> Result<Vec<Condition>, InvalidIf> {
        self.take("(")?;
        let mut conditions = Vec::new();
        while !self.is_before(")") {
            *room = room.checked_sub(1).ok_or(InvalidIf)?;
            let negated = self.take_not();
            let state = if self.is_before("[") {
                ResourceState::Tag(self.tag()?.to_owned())
            } else {
                ResourceState::Token(self.enclosed('<', '>')?.to_owned())
            };
            conditions.push(Condition { negated, state });
        }
        self.take(")")?;
        if conditions.is_empty() { Err(InvalidIf) } else { Ok(conditions) }
    }

    /// Within its quotation marks, a tag may have a bracket, and in the examples of RFC 4918 a space.
    fn tag(&mut self) -> Result<&'a str, InvalidIf> {
        self.take("[")?;
        let start = if self.0.starts_with("W/") { 2 } else { 0 };
        let opaque = self.0[start..].strip_prefix('"').ok_or(InvalidIf)?;
        let end = start + 1 + opaque.find('"').ok_or(InvalidIf)? + 1;
        let (tag, rest) = self.0.split_at(end);
        if tag[start + 1..].bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(InvalidIf);
        }
        self.0 = rest;
        self.take("]")?;
        Ok(tag)
    }

    fn enclosed(&mut self, open: char, close: char) -> Result<&'a str, InvalidIf> {
        let rest = self.0.trim_ascii_start().strip_prefix(open).ok_or(InvalidIf)?;
        let (inside, rest) = rest.split_once(close).ok_or(InvalidIf)?;
        if inside.is_empty() || inside.bytes().any(|byte| byte <= b' ' || byte == b'<' || byte == 0x7f) {
            return Err(InvalidIf);
        }
        self.0 = rest;
        Ok(inside)
    }

    fn take_not(&mut self) -> bool {
        let text = self.0.trim_ascii_start();
        let is_not = text.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("not"));
        if is_not {
            self.0 = &text[3..];
        }
        is_not
    }

    fn take(&mut self, text: &str) -> Result<(), InvalidIf> {
        self.0 = self.0.trim_ascii_start().strip_prefix(text).ok_or(InvalidIf)?;
        Ok(())
    }

    fn is_before(&self, text: &str) -> bool {
        self.0.trim_ascii_start().starts_with(text)
    }

    fn is_empty(&self) -> bool {
        self.0.trim_ascii().is_empty()
    }
}

/// As the field is written.
impl fmt::Display for IfHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = None;
        for list in &self.lists {
            if let Some(resource) = list.resource.as_deref().filter(|resource| Some(*resource) != before) {
                write!(f, "<{resource}> ")?;
            }
            before = list.resource.as_deref();
            f.write_str("(")?;
            for (number, Condition { negated, state }) in list.conditions.iter().enumerate() {
                f.write_str(if number > 0 { " " } else { "" })?;
                f.write_str(if *negated { "Not " } else { "" })?;
                match state {
                    ResourceState::Token(token) => write!(f, "<{token}>")?,
                    ResourceState::Tag(tag) => write!(f, "[{tag}]")?,
                }
            }
            f.write_str(") ")?;
        }
        Ok(())
    }
}

/// The error for a value of `If` that does not follow the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidIf;

/// Clients send one for each resource that a request changes. Each costs a look at the file system, so a field of 32 KB
/// full of conditions would cost more than the request.
const MAX_CONDITIONS: usize = 100;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn examples_of_the_rfc_are_valid() {
        for (value, lists) in [
            // RFC 4918 §10.4.6 to §10.4.9.
            (r#"(<urn:uuid:181d4fae-7d8c-11d0-a765-00a0c91e6bf2> ["I am an ETag"])"#, Some(1)),
            (r#"(<urn:uuid:181d4fae> ["ETag"]) (["another"])"#, Some(2)),
            ("(Not <urn:uuid:181d4fae> <urn:uuid:58f202ac>)", Some(1)),
            ("(<urn:uuid:181d4fae>) (Not <DAV:no-lock>)", Some(2)),
            (r#"<http://www.example.com/a> (<urn:uuid:1> [W/"A weak ETag"]) (["strong"])"#, Some(2)),
            ("</a>(<urn:uuid:1>)</b>(<urn:uuid:2>)(<urn:uuid:3>)", Some(3)),
            (r#"(not["a]b"])"#, Some(1)),
        ] {
            assert_eq!(IfHeader::parse(value).ok().map(|header| header.lists.len()), lists, "{value}");
        }
    }

    #[test]
    fn other_text_is_invalid() {
        let many = "(<a:b>)".repeat(MAX_CONDITIONS + 1);
        for value in [
            "",
            " ",
            "()",
            "(",
            "(<a:b>",
            "(<>)",
            "<a:b>",
            "<a:b> <c:d> (<e:f>)",
            "(<a:b>) x",
            "(Not)",
            "(Not Not <a:b>)",
            "(<a b>)",
            "([a])",
            "([\"a])",
            "([\"a\")",
            "(<a:b>) <c:d> (<e:f>)",
            "(\"a\")",
            "(<a:b>))",
            &many,
        ] {
            assert_eq!(IfHeader::parse(value), Err(InvalidIf), "{value}");
        }
    }

    #[test]
    fn one_list_with_all_its_conditions_is_enough() {
        let holds = |resource: Option<&str>, state: &ResourceState| match state {
            ResourceState::Token(token) => token == "a:1" && resource.is_none(),
            ResourceState::Tag(tag) => tag == "\"t\"" && resource != Some("/other"),
        };
        for (value, expected) in [
            ("(<a:1>)", true),
            ("(<a:2>)", false),
            ("(Not <a:2>)", true),
            ("(<a:1> [\"t\"])", true),
            ("(<a:1> [\"u\"])", false),
            ("(<a:1> [\"u\"]) ([\"t\"])", true),
            ("(<a:1> Not [\"u\"])", true),
            ("</r> (<a:1>)", false),
            ("</r> (<a:1>) ([\"t\"])", true),
            ("</other> ([\"t\"]) </r> ([\"u\"])", false),
        ] {
            assert_eq!(IfHeader::parse(value).unwrap().is_fulfilled(holds), expected, "{value}");
        }
        let tokens = IfHeader::parse("(<a:1> Not <a:2>) (<a:3> [\"t\"])").unwrap();
        assert_eq!(tokens.tokens().collect::<Vec<_>>(), ["a:1", "a:3"]);
    }

    fn state() -> impl Strategy<Value = ResourceState> {
        prop_oneof![
            "[!-;=?-~]{1,12}".prop_map(ResourceState::Token),
            ("(W/)?", "[!#-~]{0,12}").prop_map(|(weak, text)| ResourceState::Tag(format!("{weak}\"{text}\""))),
        ]
    }

    fn conditions() -> impl Strategy<Value = Vec<Condition>> {
        let condition = (any::<bool>(), state()).prop_map(|(negated, state)| Condition { negated, state });
        proptest::collection::vec(condition, 1..5)
    }

    proptest! {
        #[test]
        fn a_written_header_is_read_again(
            tagged in any::<bool>(),
            lists in proptest::collection::vec(("[!-;=?-~]{1,8}", conditions()), 1..5),
        ) {
            let lists = lists.into_iter().map(|(resource, conditions)| {
                IfList { resource: tagged.then_some(resource), conditions }
            });
            let header = IfHeader { lists: lists.collect() };
            prop_assert_eq!(IfHeader::parse(&header.to_string()), Ok(header));
        }

        #[test]
        fn whatever_is_read_is_read_alike_when_it_is_written_again(value in "[ ()<>\\[\\]\"Nota:/W1]{0,40}") {
            if let Ok(header) = IfHeader::parse(&value) {
                prop_assert_eq!(IfHeader::parse(&header.to_string()), Ok(header));
            }
        }
    }
}
