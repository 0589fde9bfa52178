//! The list of header fields of one message.
//!
//! A flat list of slices, in the order of the message. The text of received fields stays where it was received; fields
//! added later are kept as the lines that HTTP/1 will send, so that writing them is one copy.

use alloc::{sync::Arc, vec::Vec};
use core::fmt;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::field::{FieldName, InvalidHeader, Known, is_token_byte, is_value_byte};

/// Header fields, in order; a name may occur more than once and is compared without regard to case.
///
/// ```
/// use serow_message::{Headers, Known};
///
/// let mut headers = Headers::new();
/// headers.append("Content-Type", "text/plain").unwrap();
/// assert_eq!(headers.get(Known::ContentType), Some(&b"text/plain"[..]));
/// assert_eq!(headers.get("content-type"), Some(&b"text/plain"[..]));
/// ```
#[derive(Clone, Default)]
pub struct Headers {
    /// Shared by clones until one of them is changed, so that a list made once costs nothing to be sent again, and small,
    /// since messages are moved often. `None` while it is empty.
    list: Option<Arc<List>>,
}

#[derive(Clone, Default)]
struct List {
    /// The received head that fields are slices of.
    received: Bytes,
    /// The lines `name: value\r\n` of fields that were added.
    added: SmallVec<[u8; FIRST_LINES]>,
    fields: SmallVec<[Field; FIRST_FIELDS]>,
    /// Which well-known names occur, a bit each: answers most questions without a walk.
    present: u64,
    layout: Layout,
}

/// Whether the text may be copied as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Layout {
    /// What was added is the lines of all fields and nothing else.
    #[default]
    Lines,
    /// Fields were received, with their own spacing, or removed: they are copied one by one.
    Scattered,
}

/// Where a field's name and value stand in its text.
#[derive(Clone, Copy, Debug)]
struct Field {
    name_start: u32,
    value_start: u32,
    value_length: u32,
    name_length: u16,
    known: Option<Known>,
    text: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Received,
    Added,
}

/// The fields of a head while it is parsed: where they stand in it.
#[derive(Debug, Default)]
pub struct ReceivedFields {
    fields: SmallVec<[Field; FIRST_FIELDS]>,
    present: u64,
    end: usize,
}

/// Where a field stands in a received head.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// First byte of the name.
    pub name_start: usize,
    /// Length of the name in bytes.
    pub name_length: usize,
    /// First byte of the value.
    pub value_start: usize,
    /// Length of the value in bytes.
    pub value_length: usize,
}

impl ReceivedFields {
    /// An empty list with room for so many fields.
    #[must_use]
    pub fn with_capacity(fields: usize) -> Self {
        Self { fields: SmallVec::with_capacity(fields), present: 0, end: 0 }
    }

    /// How many fields there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Adds a field; `name` is its text.
    ///
    /// # Errors
    ///
    /// A field beyond four gigabytes, or a name longer than 65,535 bytes.
    #[inline]
    pub fn push(&mut self, name: &[u8], span: Span) -> Result<(), InvalidHeader> {
        let known = Known::recognise(name);
        self.present |= known.map_or(0, Known::bit);
        self.end = self.end.max(span.value_start + span.value_length).max(span.name_start + span.name_length);
        self.fields.push(Field {
            name_start: narrow(span.name_start)?,
            value_start: narrow(span.value_start)?,
            value_length: narrow(span.value_length)?,
            name_length: u16::try_from(span.name_length).map_err(|_| InvalidHeader::TooLarge)?,
            known,
            text: Text::Received,
        });
        Ok(())
    }

    /// The list, with the head that the fields are slices of.
    ///
    /// # Errors
    ///
    /// A field that does not lie within the head.
    pub fn into_headers(self, head: Bytes) -> Result<Headers, InvalidHeader> {
        if self.end > head.len() {
            return Err(InvalidHeader::TooLarge);
        }
        let list = List {
            received: head,
            added: SmallVec::new(),
            fields: self.fields,
            present: self.present,
            layout: Layout::Scattered,
        };
        Ok(Headers { list: Some(Arc::new(list)) })
    }
}

impl Headers {
    /// An empty list; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { list: None }
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
    pub fn contains_any(&self, names: &[Known]) -> bool {
        let mut set = 0;
        for name in names {
            set |= name.bit();
        }
        self.present() & set != 0
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
        let fields = if absent { &[][..] } else { &list.fields[..] };
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
    /// A name that is no token or a value with control characters: nothing was added.
    #[inline]
    pub fn append(&mut self, name: impl FieldName, value: impl AsRef<[u8]>) -> Result<(), InvalidHeader> {
        let known = name.known();
        if known.is_none() && !is_token(name.bytes()) {
            return Err(InvalidHeader::Name);
        }
        self.change().append(name.bytes(), known, value.as_ref())
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
        if self.is_empty() {
            return;
        }
        let list = self.change();
        let before = list.fields.len();
        let mut fields = core::mem::take(&mut list.fields);
        fields.retain(|field| keep(list.name(field), list.value(field)));
        list.fields = fields;
        if list.fields.len() != before {
            list.layout = Layout::Scattered;
            list.present = list.fields.iter().filter_map(|field| field.known).fold(0, |set, known| set | known.bit());
        }
    }

    /// Name and value of each field, in order.
    pub fn iter(&self) -> HeaderIter<'_> {
        HeaderIter { list: self.list.as_deref(), fields: self.fields().iter() }
    }

    /// Writes the fields as lines `name: value\r\n`, without those named in `except`.
    #[inline]
    pub fn write_lines(&self, output: &mut Vec<u8>, except: &[Known]) {
        let Some(list) = self.list.as_deref() else { return };
        if list.layout == Layout::Lines && !self.contains_any(except) {
            output.extend_from_slice(&list.added);
            return;
        }
        for field in &list.fields {
            if field.known.is_some_and(|known| except.contains(&known)) {
                continue;
            }
            for part in [list.name(field), b": ", list.value(field), b"\r\n"] {
                output.extend_from_slice(part);
            }
        }
    }

    /// The value of a field, sharing the text it stands in where that is possible.
    #[cfg(feature = "std")]
    pub(crate) fn value_bytes(&self, index: usize) -> Bytes {
        let Some(list) = self.list.as_deref() else { return Bytes::new() };
        match list.fields.get(index) {
            Some(field) if field.text == Text::Received => {
                let start = field.value_start as usize;
                list.received.slice(start..start + field.value_length as usize)
            }
            Some(field) => Bytes::copy_from_slice(list.value(field)),
            None => Bytes::new(),
        }
    }

    fn fields(&self) -> &[Field] {
        self.list.as_deref().map_or(&[], |list| &list.fields)
    }

    fn present(&self) -> u64 {
        self.list.as_deref().map_or(0, |list| list.present)
    }

    /// The list to be changed: a copy, if clones share it.
    fn change(&mut self) -> &mut List {
        Arc::make_mut(self.list.get_or_insert_default())
    }
}

impl List {
    fn append(&mut self, name: &[u8], known: Option<Known>, value: &[u8]) -> Result<(), InvalidHeader> {
        // Without an early end the compiler looks at many bytes at a time.
        if value.iter().fold(false, |wrong, &byte| wrong | !is_value_byte(byte)) {
            return Err(InvalidHeader::Value);
        }
        let name_start = self.added.len();
        let field = Field {
            name_start: narrow(name_start)?,
            value_start: narrow(name_start + name.len() + 2)?,
            value_length: narrow(value.len())?,
            name_length: u16::try_from(name.len()).map_err(|_| InvalidHeader::TooLarge)?,
            known,
            text: Text::Added,
        };
        self.added.reserve(name.len() + value.len() + 4);
        self.added.extend_from_slice(name);
        self.added.extend_from_slice(b": ");
        self.added.extend_from_slice(value);
        self.added.extend_from_slice(b"\r\n");
        self.present |= known.map_or(0, Known::bit);
        self.fields.push(field);
        Ok(())
    }

    fn is_named(&self, field: &Field, known: Option<Known>, name: &[u8]) -> bool {
        match known {
            Some(_) => field.known == known,
            None => field.known.is_none() && self.name(field).eq_ignore_ascii_case(name),
        }
    }

    fn text(&self, field: &Field) -> &[u8] {
        match field.text {
            Text::Received => &self.received,
            Text::Added => &self.added,
        }
    }

    fn name(&self, field: &Field) -> &[u8] {
        let start = field.name_start as usize;
        &self.text(field)[start..start + field.name_length as usize]
    }

    fn value(&self, field: &Field) -> &[u8] {
        let start = field.value_start as usize;
        &self.text(field)[start..start + field.value_length as usize]
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
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

fn narrow(offset: usize) -> Result<u32, InvalidHeader> {
    u32::try_from(offset).map_err(|_| InvalidHeader::TooLarge)
}

/// What a message without fields looks into.
static EMPTY: List = List {
    received: Bytes::new(),
    added: SmallVec::new_const(),
    fields: SmallVec::new_const(),
    present: 0,
    layout: Layout::Lines,
};

/// Room for the lines of a usual response, so that it is one allocation.
const FIRST_LINES: usize = 96;

/// Fields of a usual response.
const FIRST_FIELDS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn received(lines: &'static str) -> Headers {
        let mut fields = ReceivedFields::default();
        let mut start = 0;
        for line in lines.split_inclusive("\r\n") {
            let (name, rest) = line.split_once(':').unwrap();
            let value = rest.trim();
            let span = Span {
                name_start: start,
                name_length: name.len(),
                value_start: start + name.len() + 1 + rest.find(value).unwrap(),
                value_length: value.len(),
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
        assert_eq!(headers.get(Known::Host), Some(&b"a"[..]));
        assert_eq!(headers.get("x-ONE"), Some(&b"1"[..]));
        assert_eq!(headers.get("x-two"), None);
        assert!(headers.contains_any(&[Known::Te, Known::Accept]));
        assert!(!headers.contains_any(&[Known::Te, Known::Via]));
        let members: Vec<_> = headers.list(Known::Accept).collect();
        assert_eq!(members, [b"b", b"c", b"d", b"e"]);
    }

    #[test]
    fn written_lines_keep_order_and_leave_out_what_was_asked() {
        let mut headers = received("Host: a\r\nX:1\r\n");
        headers.append("Te", "trailers").unwrap();
        let mut output = Vec::new();
        headers.write_lines(&mut output, &[Known::Host]);
        assert_eq!(output, b"X: 1\r\nTe: trailers\r\n");
    }

    #[test]
    fn lines_are_copied_whole_when_nothing_was_removed() {
        let mut headers = Headers::new();
        headers.append("a", "1").unwrap();
        headers.append(Known::Etag, "\"x\"").unwrap();
        let mut clone = headers.clone();
        clone.append("b", "2").unwrap();
        let mut output = Vec::new();
        clone.write_lines(&mut output, &[Known::Date]);
        assert_eq!(output, b"a: 1\r\netag: \"x\"\r\nb: 2\r\n");
        clone.remove("A");
        output.clear();
        clone.write_lines(&mut output, &[]);
        assert_eq!(output, b"etag: \"x\"\r\nb: 2\r\n");
        assert_eq!(headers.len(), 2);
        clone.insert("etag", "\"y\"").unwrap();
        assert_eq!(clone.get_all(Known::Etag).collect::<Vec<_>>(), [b"\"y\""]);
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
    fn spans_outside_the_head_are_refused() {
        let mut fields = ReceivedFields::default();
        fields.push(b"a", Span { name_start: 0, name_length: 1, value_start: 3, value_length: 9 }).unwrap();
        assert!(fields.into_headers(Bytes::from_static(b"a: b")).is_err());
    }
}
