//! The fields of one message, as they are kept: where each stands in the text it came in.

mod in_place;

use alloc::{sync::Arc, vec::Vec};

use bytes::Bytes;
use smallvec::SmallVec;

pub use self::in_place::{FieldsInPlace, HeadFields};
use crate::{
    Headers,
    constant_field::ConstantField,
    field::{InvalidHeader, KnownHeader, text_length},
    packed_headers::PackedField,
};

/// Fields, in order, and the text they stand in.
#[derive(Clone, Default)]
pub(crate) struct List {
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
    /// The added text consists of the lines of all fields, and of nothing else.
    #[default]
    Lines,
    /// Fields were received, with their own spacing, or removed: they are copied one by one.
    Scattered,
}

/// Where a field's name and value stand in its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    name_start: u32,
    value_start: u32,
    value_length: u32,
    /// 0 where the name is well known, in lower case, and stands in no text.
    name_length: u16,
    pub(crate) known: Option<KnownHeader>,
    text: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    /// Received, with a spacing of its own.
    Received,
    /// Received as the line `name: value\r\n`.
    ReceivedLine,
    /// Added, as such a line.
    Added,
}

/// Both texts of a list.
#[derive(Clone, Copy)]
struct Texts<'a> {
    received: &'a [u8],
    added: &'a [u8],
}

/// Lines that stand behind one another in a text.
#[derive(Clone, Copy, Debug)]
struct Run {
    text: Text,
    start: usize,
    end: usize,
}

/// The fields of a head while it is parsed: where they stand in it. There is room in it for so many; more are
/// allocated.
#[derive(Debug, Default)]
pub struct ReceivedFields<const FIRST: usize = FIRST_FIELDS> {
    fields: SmallVec<[Field; FIRST]>,
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
    /// Whether it stands there as the line `name: value\r\n`, so that it can be copied as it is.
    pub is_line: bool,
}

impl<const FIRST: usize> ReceivedFields<FIRST> {
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
    #[inline(always)]
    pub fn push(&mut self, name: &[u8], span: Span) -> Result<(), InvalidHeader> {
        self.push_recognised(KnownHeader::recognise(name), span)
    }

    /// Adds a field whose name has been looked at already.
    ///
    /// # Errors
    ///
    /// As [`Self::push`].
    #[inline(always)]
    pub fn push_recognised(&mut self, known: Option<KnownHeader>, span: Span) -> Result<(), InvalidHeader> {
        let (field, end) = received_field(known, span)?;
        self.present |= known.map_or(0, KnownHeader::bit);
        self.end = self.end.max(end);
        self.fields.push(field);
        Ok(())
    }

    /// Adds a field of a well-known name in lower case, as HTTP/2 has it, whose name need not stand in the head.
    ///
    /// # Errors
    ///
    /// A field beyond four gigabytes.
    #[inline]
    pub fn push_known(
        &mut self,
        known: KnownHeader,
        value_start: usize,
        value_length: usize,
    ) -> Result<(), InvalidHeader> {
        self.present |= known.bit();
        self.end = self.end.max(value_start + value_length);
        self.fields.push(Field {
            name_start: 0,
            value_start: narrow(value_start)?,
            value_length: narrow(value_length)?,
            name_length: 0,
            known: Some(known),
            text: Text::Received,
        });
        Ok(())
    }

    /// Forgets all fields. Room for those of a usual head is kept.
    #[inline]
    pub fn clear(&mut self) {
        self.fields.clear();
        if self.fields.capacity() > MAX_KEPT {
            self.fields = SmallVec::new();
        }
        (self.present, self.end) = (0, 0);
    }

    /// The list, with the head that the fields are slices of.
    ///
    /// # Errors
    ///
    /// A field that does not lie within the head.
    #[inline]
    pub fn to_headers(&self, head: Bytes) -> Result<Headers, InvalidHeader> {
        // A copy that has the room it needs, and some for what is added to requests that are passed on.
        let mut fields = SmallVec::with_capacity(self.fields.len() + ROOM_TO_ADD);
        fields.extend_from_slice(&self.fields);
        ReceivedFields { fields, present: self.present, end: self.end }.into_headers(head)
    }
}

impl ReceivedFields {
    /// The list, with the head that the fields are slices of; without a copy.
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
        Ok(Headers::of(Arc::new(list)))
    }
}

impl List {
    /// The list of these lines, each of which is a field: name and value have those lengths. There is room for a few more.
    pub(crate) fn of_lines(lines: &[u8], packed: impl ExactSizeIterator<Item = PackedField>) -> Self {
        let mut list = Self::default();
        list.added.reserve(lines.len() + LINES_TO_ADD);
        list.added.extend_from_slice(lines);
        list.fields.reserve(packed.len() + FIELDS_TO_ADD);
        let mut start = 0;
        for PackedField { known, name_length, value_length } in packed {
            let value_start = start + u32::from(name_length) + 2;
            list.note_added(Field {
                name_start: start,
                value_start,
                value_length,
                name_length,
                known,
                text: Text::Added,
            });
            start = value_start + value_length + 2;
        }
        list
    }

    #[inline]
    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Which well-known names occur, a bit each.
    #[inline]
    pub(crate) fn present(&self) -> u64 {
        self.present
    }

    /// The lines of all fields as one text, where they stand so.
    #[inline]
    pub(crate) fn lines(&self) -> Option<&[u8]> {
        (self.layout == Layout::Lines).then_some(&self.added)
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&[u8], Option<KnownHeader>, &[u8]) -> bool) {
        let texts = Texts { received: &self.received, added: &self.added };
        let fields = self.fields.as_mut_slice();
        let (mut kept, mut present) = (0, 0);
        for place in 0..fields.len() {
            let field = fields[place];
            if keep(texts.name(&field), field.known, texts.value(&field)) {
                present |= field.known.map_or(0, KnownHeader::bit);
                fields[kept] = field;
                kept += 1;
            }
        }
        self.present = present;
        if kept < fields.len() {
            self.fields.truncate(kept);
            self.layout = Layout::Scattered;
        }
    }

    /// Gives the first field of a name another value and removes the others; adds one where there is none.
    pub(crate) fn replace(
        &mut self,
        name: &[u8],
        known: Option<KnownHeader>,
        value: &[u8],
    ) -> Result<(), InvalidHeader> {
        let place = self.fields.iter().position(|field| self.is_named(field, known, name));
        self.append(name, known, value)?;
        let Some(place) = place else { return Ok(()) };
        self.layout = Layout::Scattered;
        let mut fields = core::mem::take(&mut self.fields);
        // The one that was added takes the place.
        fields.swap_remove(place);
        let mut index = 0;
        fields.retain(|field| {
            index += 1;
            index <= place + 1 || !self.is_named(field, known, name)
        });
        self.fields = fields;
        Ok(())
    }

    /// The value of a field, sharing the text it stands in where that is possible.
    #[cfg(feature = "std")]
    pub(crate) fn value_bytes(&self, field: &Field) -> Bytes {
        match field.text {
            Text::Received | Text::ReceivedLine => {
                let start = field.value_start as usize;
                self.received.slice(start..start + field.value_length as usize)
            }
            Text::Added => Bytes::copy_from_slice(self.value(field)),
        }
    }

    pub(crate) fn append(
        &mut self,
        name: &[u8],
        known: Option<KnownHeader>,
        value: &[u8],
    ) -> Result<(), InvalidHeader> {
        let field = added_field(self.added.len(), name, known, value)?;
        self.append_line(name, value);
        self.note_added(field);
        Ok(())
    }

    /// Adds a field with the value of the first field of another name, where there is one and its value is not empty.
    pub(crate) fn append_copy(&mut self, name: KnownHeader, of: KnownHeader) {
        let Some(field) = self.fields.iter().find(|field| field.known == Some(of)) else { return };
        let value = SmallVec::<[u8; SHORT_LINE]>::from_slice(self.value(field));
        let text = name.as_str().as_bytes();
        // A value was judged when it was received or added; it is not copied where the text would be too long.
        if !value.is_empty()
            && let Ok(field) = placed_field(self.added.len(), text, Some(name), &value)
        {
            self.append_line(text, &value);
            self.note_added(field);
        }
    }

    /// Adds a field whose line is right.
    pub(crate) fn append_constant(&mut self, field: &ConstantField) {
        let (start, known) = (self.added.len(), field.known);
        let name_length = known.as_str().len();
        let value_start = start + name_length + 2;
        self.added.extend_from_slice(field.line);
        // A text of four gigabytes is refused where it is added or received; a constant cannot take it there.
        self.note_added(Field {
            name_start: start as u32,
            value_start: value_start as u32,
            value_length: (self.added.len() - value_start - 2) as u32,
            name_length: name_length as u16,
            known: Some(known),
            text: Text::Added,
        });
    }

    /// Whether a name occurs twice, or one is not well-known.
    #[inline]
    pub(crate) fn has_repeated_or_other_names(&self) -> bool {
        self.present.count_ones() as usize != self.fields.len()
    }

    #[inline]
    fn note_added(&mut self, field: Field) {
        self.present |= field.known.map_or(0, KnownHeader::bit);
        self.fields.push(field);
    }

    /// Appends the line of a field. Short ones are put together elsewhere: each look for room costs as much as copying
    /// a field.
    #[inline]
    fn append_line(&mut self, name: &[u8], value: &[u8]) {
        let mut line = [0; SHORT_LINE];
        if let Some(line) = line.get_mut(..line_length(name, value)) {
            write_line(line, name, value);
            self.added.extend_from_slice(line);
        } else {
            self.added.reserve(line_length(name, value));
            for part in [name, b": ", value, b"\r\n"] {
                self.added.extend_from_slice(part);
            }
        }
    }

    /// Writes the fields as lines, without those named in `except`. Most stand in their text as they are to be written,
    /// and those next to one another are copied together.
    pub(crate) fn write_lines(&self, output: &mut Vec<u8>, except: &[KnownHeader]) {
        let (texts, except) = (self.texts(), KnownHeader::set(except));
        let mut run = Run { text: Text::ReceivedLine, start: 0, end: 0 };
        for field in &self.fields {
            if field.known.is_some_and(|known| except & known.bit() != 0) {
                continue;
            }
            match texts.line(field) {
                Some(line) if line.text == run.text && line.start == run.end => run.end = line.end,
                Some(line) => {
                    output.extend_from_slice(texts.run(run));
                    run = line;
                }
                None => {
                    output.extend_from_slice(texts.run(run));
                    run = Run { end: run.start, ..run };
                    for part in [texts.name(field), b": ", texts.value(field), b"\r\n"] {
                        output.extend_from_slice(part);
                    }
                }
            }
        }
        output.extend_from_slice(texts.run(run));
    }

    pub(crate) fn is_named(&self, field: &Field, known: Option<KnownHeader>, name: &[u8]) -> bool {
        match known {
            Some(_) => field.known == known,
            None => field.known.is_none() && self.name(field).eq_ignore_ascii_case(name),
        }
    }

    #[inline]
    fn texts(&self) -> Texts<'_> {
        Texts { received: &self.received, added: &self.added }
    }

    #[inline]
    pub(crate) fn name(&self, field: &Field) -> &[u8] {
        self.texts().name(field)
    }

    #[inline]
    pub(crate) fn value(&self, field: &Field) -> &[u8] {
        self.texts().value(field)
    }
}

// All fields lie within their texts; without a way to panic, what nobody looks at is not made.
impl<'a> Texts<'a> {
    #[inline]
    fn text(self, text: Text) -> &'a [u8] {
        match text {
            Text::Received | Text::ReceivedLine => self.received,
            Text::Added => self.added,
        }
    }

    #[inline]
    fn name(self, field: &Field) -> &'a [u8] {
        if let (Some(known), 0) = (field.known, field.name_length) {
            return known.as_str().as_bytes();
        }
        let start = field.name_start as usize;
        self.text(field.text).get(start..start + field.name_length as usize).unwrap_or_default()
    }

    #[inline]
    fn value(self, field: &Field) -> &'a [u8] {
        let start = field.value_start as usize;
        self.text(field.text).get(start..start + field.value_length as usize).unwrap_or_default()
    }

    /// Returns the place of a field's line as it is to be written, if there is one. Added fields always have one.
    #[inline]
    fn line(self, field: &Field) -> Option<Run> {
        let (start, end) = (field.name_start as usize, field.value_start as usize + field.value_length as usize);
        (field.text != Text::Received).then_some(Run { text: field.text, start, end: end + 2 })
    }

    #[inline]
    fn run(self, run: Run) -> &'a [u8] {
        self.text(run.text).get(run.start..run.end).unwrap_or_default()
    }
}

/// A field that was received, and where it ends.
#[inline(always)]
fn received_field(known: Option<KnownHeader>, span: Span) -> Result<(Field, usize), InvalidHeader> {
    // Lines are copied as they stand: a caller that is wrong about the place of the value must not break one in two.
    let is_line = span.is_line && span.value_start == span.name_start + span.name_length + ": ".len();
    let line_end = if is_line { "\r\n".len() } else { 0 };
    let end = (span.value_start + span.value_length + line_end).max(span.name_start + span.name_length);
    // All of it is before the end.
    narrow(end)?;
    let field = Field {
        name_start: span.name_start as u32,
        value_start: span.value_start as u32,
        value_length: span.value_length as u32,
        name_length: u16::try_from(span.name_length).map_err(|_| InvalidHeader::TooLarge)?,
        known,
        text: if is_line { Text::ReceivedLine } else { Text::Received },
    };
    Ok((field, end))
}

/// A field whose line is added at this place.
#[inline]
fn added_field(start: usize, name: &[u8], known: Option<KnownHeader>, value: &[u8]) -> Result<Field, InvalidHeader> {
    if text_length(value) < value.len() {
        return Err(InvalidHeader::Value);
    }
    placed_field(start, name, known, value)
}

/// The same, for a value that is known to be valid.
#[inline]
fn placed_field(start: usize, name: &[u8], known: Option<KnownHeader>, value: &[u8]) -> Result<Field, InvalidHeader> {
    let value_start = start + name.len() + 2;
    // All of it is before the end.
    narrow(value_start + value.len())?;
    Ok(Field {
        name_start: start as u32,
        value_start: value_start as u32,
        value_length: value.len() as u32,
        name_length: u16::try_from(name.len()).map_err(|_| InvalidHeader::TooLarge)?,
        known,
        text: Text::Added,
    })
}

/// Bytes of the line of a field, its end included.
#[inline]
fn line_length(name: &[u8], value: &[u8]) -> usize {
    name.len() + value.len() + ": \r\n".len()
}

/// Writes the line of a field, which has exactly this length.
#[inline]
fn write_line(line: &mut [u8], name: &[u8], value: &[u8]) {
    let (colon, end) = (name.len(), line.len() - 2);
    line[..colon].copy_from_slice(name);
    line[colon + 2..end].copy_from_slice(value);
    for (place, byte) in [(colon, b':'), (colon + 1, b' '), (end, b'\r'), (end + 1, b'\n')] {
        line[place] = byte;
    }
}

fn narrow(offset: usize) -> Result<u32, InvalidHeader> {
    u32::try_from(offset).map_err(|_| InvalidHeader::TooLarge)
}

/// The list of a message without fields.
pub(crate) static EMPTY: List = List {
    received: Bytes::new(),
    added: SmallVec::new_const(),
    fields: SmallVec::new_const(),
    present: 0,
    layout: Layout::Lines,
};

/// Room for the lines of a usual response, and for those that are added to a request that is passed on, so that a list
/// is one allocation.
const FIRST_LINES: usize = 160;

/// `X-Forwarded-For` with the longest address, and nearly all else that is added.
const SHORT_LINE: usize = 64;

/// Room for the fields of a browser's request, which is kept for the next ones; that is 640 bytes.
const MAX_KEPT: usize = 32;

/// Room for fields that are added to a stored response: the lines of `Age` and `Cache-Status`.
const FIELDS_TO_ADD: usize = 2;
const LINES_TO_ADD: usize = 48;

/// `X-Forwarded-For`, `-Proto` and `-Host`, `Via`, and one more.
const ROOM_TO_ADD: usize = 5;

/// Fields of a usual response, and of a short request with those that a proxy adds.
const FIRST_FIELDS: usize = 8;
