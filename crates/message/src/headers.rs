//! The list of header fields of one message.
//!
//! A flat list of slices, in the order of the message. The text of received fields stays where it was received; fields
//! added later are kept as the lines that HTTP/1 will send, so that writing them is one copy.

use alloc::{sync::Arc, vec::Vec};
use core::fmt;

#[cfg(feature = "std")]
use bytes::Bytes;

use crate::{
    constant_field::ConstantField,
    field::{FieldName, InvalidHeader, KnownHeader, is_token_byte},
    known_names::KnownNames,
    list::{EMPTY, Field, List},
};

/// Header fields, in order; a name may occur more than once and is compared without regard to case.
///
/// ```
/// use serow_message::{Headers, KnownHeader};
///
/// let mut headers = Headers::new();
/// headers.append("Content-Type", "text/plain").unwrap();
/// assert_eq!(headers.get(KnownHeader::ContentType), Some(&b"text/plain"[..]));
/// assert_eq!(headers.get("content-type"), Some(&b"text/plain"[..]));
/// ```
#[derive(Clone, Default)]
pub struct Headers {
    /// Shared by clones until one of them is changed, so that a list made once costs nothing to be sent again, and
    /// small, since messages are moved often. `None` while it is empty.
    list: Option<Arc<List>>,
}

impl Headers {
    /// An empty list; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { list: None }
    }

    pub(crate) fn of(list: Arc<List>) -> Self {
        Self { list: Some(list) }
    }

    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fields().len()
    }

    /// Whether there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields().is_empty()
    }

    /// Whether a field of this name occurs.
    #[inline]
    pub fn contains(&self, name: impl FieldName) -> bool {
        match name.known() {
            Some(known) => self.present() & known.bit() != 0,
            None => self.get(name).is_some(),
        }
    }

    /// Whether one of these names occurs. Costs one comparison, however many names.
    #[inline]
    #[must_use]
    pub fn contains_any(&self, names: &[KnownHeader]) -> bool {
        self.present() & KnownHeader::set(names) != 0
    }

    /// The value of the first field of this name.
    #[inline]
    pub fn get(&self, name: impl FieldName) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// The value of the first field of this name, if it is UTF-8.
    pub fn get_str(&self, name: impl FieldName) -> Option<&str> {
        core::str::from_utf8(self.get(name)?).ok()
    }

    /// The values of all fields of this name, in order.
    #[inline]
    pub fn get_all<N: FieldName>(&self, name: N) -> impl Iterator<Item = &[u8]> + use<'_, N> {
        let known = name.known();
        let absent = known.is_some_and(|known| self.present() & known.bit() == 0);
        let list = self.list.as_deref().unwrap_or(&EMPTY);
        let fields = if absent { &[][..] } else { list.fields() };
        fields.iter().filter(move |field| list.is_named(field, known, name.bytes())).map(move |field| list.value(field))
    }

    /// The members of a field whose value is a comma-separated list (RFC 9110 §5.6.1), over all its lines, without the
    /// white space around them; empty members are passed over.
    pub fn list<N: FieldName>(&self, name: N) -> impl Iterator<Item = &[u8]> + use<'_, N> {
        self.get_all(name)
            .flat_map(|value| value.split(|&byte| byte == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|member| !member.is_empty())
    }

    /// Adds a field behind the others.
    ///
    /// # Errors
    ///
    /// A name that is not a token or a value with control characters: nothing was added.
    #[inline]
    pub fn append(&mut self, name: impl FieldName, value: impl AsRef<[u8]>) -> Result<(), InvalidHeader> {
        let known = name.known();
        if known.is_none() && !is_token(name.bytes()) {
            return Err(InvalidHeader::Name);
        }
        self.change().append(name.bytes(), known, value.as_ref())
    }

    /// Adds a field with the value of the first field of another name, where there is one and its value is not empty.
    pub fn append_copy(&mut self, name: KnownHeader, of: KnownHeader) {
        if self.contains(of) {
            self.change().append_copy(name, of);
        }
    }

    /// Adds a field that was checked when the program was compiled, behind the others.
    #[inline]
    pub fn append_constant(&mut self, field: &ConstantField) {
        self.change().append_constant(field);
    }

    /// Removes all fields of this name and adds one.
    ///
    /// # Errors
    ///
    /// As [`Self::append`]; then the fields of that name are gone.
    pub fn insert(&mut self, name: impl FieldName, value: impl AsRef<[u8]>) -> Result<(), InvalidHeader> {
        self.remove(name.bytes());
        self.append(name, value)
    }

    /// Like [`Self::insert`], but the field stands where the first of that name stood.
    ///
    /// # Errors
    ///
    /// As [`Self::append`]: nothing was changed.
    pub fn replace(&mut self, name: impl FieldName, value: impl AsRef<[u8]>) -> Result<(), InvalidHeader> {
        let known = name.known();
        if known.is_none() && !is_token(name.bytes()) {
            return Err(InvalidHeader::Name);
        }
        self.change().replace(name.bytes(), known, value.as_ref())
    }

    /// Removes all fields of this name; says whether there was one.
    pub fn remove(&mut self, name: impl FieldName) -> bool {
        let name = name.bytes();
        let found = self.contains(name);
        if found {
            self.retain(|other, _| !other.eq_ignore_ascii_case(name));
        }
        found
    }

    /// Removes the fields that the closure refuses; it sees name and value.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        self.retain_known(|name, _, value| keep(name, value));
    }

    /// The same; the closure also sees which well-known name it is.
    pub fn retain_known(&mut self, keep: impl FnMut(&[u8], Option<KnownHeader>, &[u8]) -> bool) {
        if !self.is_empty() {
            self.change().retain(keep);
        }
    }

    /// Removes the fields with one of these well-known names, and those with other names that the closure refuses. Costs
    /// next to nothing where all names are well-known and none is among these.
    #[inline]
    pub fn remove_names(&mut self, names: KnownNames, mut keep_other: impl FnMut(&[u8]) -> bool) {
        let has_others = self.list.as_deref().is_some_and(List::has_repeated_or_other_names);
        if has_others || self.present() & names.bits != 0 {
            self.change().retain(|name, known, _| match known {
                Some(known) => !names.contains(known),
                None => keep_other(name),
            });
        }
    }

    /// Name and value of each field, in order.
    pub fn iter(&self) -> HeaderIter<'_> {
        HeaderIter { list: self.list.as_deref(), fields: self.fields().iter() }
    }

    /// Name, which well-known name that is, and value of each field, in order.
    #[inline]
    pub fn iter_known(&self) -> impl Iterator<Item = (&[u8], Option<KnownHeader>, &[u8])> {
        let list = self.list.as_deref().unwrap_or(&EMPTY);
        list.fields().iter().map(|field| (list.name(field), field.known, list.value(field)))
    }

    /// Writes the fields as lines `name: value\r\n`, without those named in `except`.
    #[inline]
    pub fn write_lines(&self, output: &mut Vec<u8>, except: &[KnownHeader]) {
        let Some(list) = self.list.as_deref() else { return };
        if let Some(lines) = list.lines().filter(|_| !self.contains_any(except)) {
            output.extend_from_slice(lines);
            return;
        }
        list.write_lines(output, except);
    }

    /// The values of all fields, sharing the text they stand in where that is possible.
    #[cfg(feature = "std")]
    pub(crate) fn shared_values(&self) -> impl Iterator<Item = (&[u8], Option<KnownHeader>, Bytes)> {
        let list = self.list.as_deref().unwrap_or(&EMPTY);
        list.fields().iter().map(|field| (list.name(field), field.known, list.value_bytes(field)))
    }

    /// A copy that shares no memory with this one. Where the clones of one list go to several threads, each of them
    /// changes the number of its references, and they wait for each other's changes.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self { list: self.list.as_deref().map(|list| Arc::new(list.clone())) }
    }

    fn fields(&self) -> &[Field] {
        self.list.as_deref().map_or(&[], List::fields)
    }

    fn present(&self) -> u64 {
        self.list.as_deref().map_or(0, List::present)
    }

    /// The list to be changed: a copy, if clones share it.
    fn change(&mut self) -> &mut List {
        Arc::make_mut(self.list.get_or_insert_default())
    }
}

/// RFC 9110 §5.6.2.
fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().copied().all(is_token_byte)
}

/// Iterator over name and value of each field; see [`Headers::iter`].
#[derive(Clone)]
pub struct HeaderIter<'a> {
    list: Option<&'a List>,
    fields: core::slice::Iter<'a, Field>,
}

impl<'a> Iterator for HeaderIter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (list, field) = (self.list?, self.fields.next()?);
        Some((list.name(field), list.value(field)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.fields.size_hint()
    }
}

impl ExactSizeIterator for HeaderIter<'_> {}

impl<'a> IntoIterator for &'a Headers {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = HeaderIter<'a>;

    fn into_iter(self) -> HeaderIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_map()
            .entries(
                self.iter()
                    .map(|(name, value)| (name.escape_ascii(), value.escape_ascii()))
                    .map(|(name, value)| (alloc::format!("{name}"), alloc::format!("{value}"))),
            )
            .finish()
    }
}

impl PartialEq for Headers {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .zip(other.iter())
                .all(|(ours, theirs)| ours.0.eq_ignore_ascii_case(theirs.0) && ours.1 == theirs.1)
    }
}

impl Eq for Headers {}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{ReceivedFields, Span};

    fn received(lines: &'static str) -> Headers {
        let mut fields = <ReceivedFields>::default();
        let mut start = 0;
        for line in lines.split_inclusive("\r\n") {
            let (name, rest) = line.split_once(':').unwrap();
            let value = rest.trim();
            let space = rest.find(value).unwrap();
            let span = Span {
                name_start: start,
                name_length: name.len(),
                value_start: start + name.len() + 1 + space,
                value_length: value.len(),
                is_line: space == 1 && *rest == *[" ", value, "\r\n"].concat(),
            };
            fields.push(name.as_bytes(), span).unwrap();
            start += line.len();
        }
        fields.into_headers(Bytes::from_static(lines.as_bytes())).unwrap()
    }

    #[test]
    fn received_fields_are_found_without_regard_to_case() {
        let headers = received("HOST: a\r\nX-One:1\r\nAccept: b, c\r\naccept:d ,, e\r\n");
        assert_eq!(headers.get("host"), Some(&b"a"[..]));
        assert_eq!(headers.get(KnownHeader::Host), Some(&b"a"[..]));
        assert_eq!(headers.get("x-ONE"), Some(&b"1"[..]));
        assert_eq!(headers.get("x-two"), None);
        assert!(headers.contains_any(&[KnownHeader::Te, KnownHeader::Accept]));
        assert!(!headers.contains_any(&[KnownHeader::Te, KnownHeader::Via]));
        let members: Vec<_> = headers.list(KnownHeader::Accept).collect();
        assert_eq!(members, [b"b", b"c", b"d", b"e"]);
    }

    #[test]
    fn written_lines_keep_order_and_leave_out_what_was_asked() {
        let mut headers = received("Host: a\r\nX:1\r\n");
        headers.append("Te", "trailers").unwrap();
        let mut output = Vec::new();
        headers.write_lines(&mut output, &[KnownHeader::Host]);
        assert_eq!(output, b"X: 1\r\nTe: trailers\r\n");
    }

    #[test]
    fn lines_are_copied_whole_when_nothing_was_removed() {
        let mut headers = Headers::new();
        headers.append("a", "1").unwrap();
        headers.append(KnownHeader::Etag, "\"x\"").unwrap();
        let mut clone = headers.clone();
        clone.append("b", "2").unwrap();
        let mut output = Vec::new();
        clone.write_lines(&mut output, &[KnownHeader::Date]);
        assert_eq!(output, b"a: 1\r\netag: \"x\"\r\nb: 2\r\n");
        clone.remove("A");
        output.clear();
        clone.write_lines(&mut output, &[]);
        assert_eq!(output, b"etag: \"x\"\r\nb: 2\r\n");
        assert_eq!(headers.len(), 2);
        clone.insert("etag", "\"y\"").unwrap();
        assert_eq!(clone.get_all(KnownHeader::Etag).collect::<Vec<_>>(), [b"\"y\""]);
    }

    #[test]
    fn a_field_is_replaced_where_it_stands() {
        let cases = [
            ("", "x", "x: new\r\n"),
            ("X:1\r\nHost: a\r\nY:2\r\n", "host", "X: 1\r\nhost: new\r\nY: 2\r\n"),
            ("x:1\r\ny:2\r\nX:3\r\nx:4\r\nz:5\r\n", "X", "X: new\r\ny: 2\r\nz: 5\r\n"),
            ("a:1\r\n", "Via", "a: 1\r\nVia: new\r\n"),
        ];
        for (before, name, after) in cases {
            let mut headers = received(before);
            headers.replace(name, "new").unwrap();
            let mut output = Vec::new();
            headers.write_lines(&mut output, &[]);
            assert_eq!(output, after.as_bytes(), "{before:?}");
            assert_eq!(headers.get(name), Some(&b"new"[..]));
            assert_eq!(headers.replace(name, "\n"), Err(InvalidHeader::Value));
            assert_eq!(headers.get(name), Some(&b"new"[..]));
        }
    }

    #[test]
    fn those_kept_are_known_by_their_names() {
        let mut headers = received("Host: a\r\nTe: b\r\nX: c\r\nAccept: d\r\n");
        headers.retain_known(|name, known, value| known != Some(KnownHeader::Te) && name != b"X" && value != b"z");
        let left: Vec<_> = headers.iter_known().map(|(_, known, _)| known).collect();
        assert_eq!(left, [Some(KnownHeader::Host), Some(KnownHeader::Accept)]);
        assert!(headers.contains(KnownHeader::Accept) && !headers.contains(KnownHeader::Te));
    }

    #[test]
    fn a_value_is_copied_where_there_is_one() {
        let mut headers = received("Host: a\r\nTe:\r\nHost: b\r\n");
        headers.append_copy(KnownHeader::XForwardedHost, KnownHeader::Host);
        headers.append_copy(KnownHeader::Via, KnownHeader::Te);
        headers.append_copy(KnownHeader::Via, KnownHeader::Age);
        // One that was added itself.
        headers.append_copy(KnownHeader::Origin, KnownHeader::XForwardedHost);
        let mut output = Vec::new();
        headers.write_lines(&mut output, &[KnownHeader::Host, KnownHeader::Te]);
        assert_eq!(output, b"x-forwarded-host: a\r\norigin: a\r\n");
        assert!(!headers.contains(KnownHeader::Via));
    }

    #[test]
    fn names_of_a_set_are_removed_and_others_judged() {
        let names = KnownNames::of(&[KnownHeader::Te]).and(KnownNames::of(&[KnownHeader::Age]));
        let cases = [
            ("", ""),
            ("Host: a\r\nAccept: b\r\n", "Host: a\r\nAccept: b\r\n"),
            ("Host: a\r\nHost: b\r\n", "Host: a\r\nHost: b\r\n"),
            ("Te: a\r\nHost: b\r\nAge: c\r\nte: d\r\n", "Host: b\r\n"),
            ("X: a\r\nHost: b\r\nY: c\r\n", "Host: b\r\nY: c\r\n"),
            ("X: a\r\n", ""),
        ];
        for (before, after) in cases {
            let mut headers = received(before);
            headers.remove_names(names, |name| name != b"X");
            let mut output = Vec::new();
            headers.write_lines(&mut output, &[]);
            assert_eq!(output, after.as_bytes(), "{before:?}");
        }
    }

    #[test]
    fn lines_of_any_spacing_are_written_alike() {
        let lines = "A:1\r\nB: 2\r\nC: 3\r\nD:\t4\r\nE: 5 \r\nF:  6\r\nG: 7\r\nHost: h\r\nI: \r\n";
        let written = |headers: &Headers, except: &[KnownHeader]| {
            let mut output = Vec::new();
            headers.write_lines(&mut output, except);
            alloc::string::String::from_utf8(output).unwrap()
        };
        let mut headers = received(lines);
        let all = "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: 6\r\nG: 7\r\nHost: h\r\nI: \r\n";
        assert_eq!(written(&headers, &[]), all);
        assert_eq!(written(&headers, &[KnownHeader::Host]), all.replace("Host: h\r\n", ""));
        headers.append("b", "8").unwrap();
        headers.append("long", "x".repeat(100)).unwrap();
        headers.remove("C");
        let rest = all.replace("C: 3\r\n", "") + "b: 8\r\nlong: " + &"x".repeat(100) + "\r\n";
        assert_eq!(written(&headers, &[]), rest);
    }

    #[test]
    fn text_that_would_split_a_message_is_refused() {
        let mut headers = Headers::new();
        for name in ["", "a b", "a:", "a\r\n", "ä"] {
            assert_eq!(headers.append(name, "x"), Err(InvalidHeader::Name), "{name:?}");
        }
        for value in ["a\r\nb: c", "\n", "\0", "\u{7f}"] {
            assert_eq!(headers.append("a", value), Err(InvalidHeader::Value), "{value:?}");
        }
        assert!(headers.is_empty());
    }

    #[test]
    fn well_known_names_need_no_text() {
        let mut fields = <ReceivedFields>::default();
        fields.push_known(KnownHeader::Host, 0, 1).unwrap();
        fields
            .push(b"x", Span { name_start: 1, name_length: 1, value_start: 2, value_length: 2, is_line: false })
            .unwrap();
        let mut headers = fields.to_headers(Bytes::from_static(b"axbc")).unwrap();
        headers.append("te", "trailers").unwrap();
        let mut output = Vec::new();
        headers.write_lines(&mut output, &[]);
        assert_eq!(output, b"host: a\r\nx: bc\r\nte: trailers\r\n");
        assert!(headers.remove("Host") && !headers.contains(KnownHeader::Host) && headers.contains("X"));
        assert!(fields.to_headers(Bytes::from_static(b"axb")).is_err());
        fields.clear();
        assert!(fields.is_empty() && fields.to_headers(Bytes::new()).unwrap().is_empty());
    }

    #[test]
    fn spans_outside_the_head_are_refused() {
        let mut fields = <ReceivedFields>::default();
        fields
            .push(b"a", Span { name_start: 0, name_length: 1, value_start: 3, value_length: 9, is_line: false })
            .unwrap();
        assert!(fields.into_headers(Bytes::from_static(b"a: b")).is_err());
    }
}
