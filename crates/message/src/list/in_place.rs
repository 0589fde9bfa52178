//! Fields that are parsed into the list that keeps them.

use alloc::sync::Arc;

use bytes::Bytes;

use super::{Layout, List, Span, received_field};
use crate::{Headers, InvalidHeader, KnownHeader};

/// The fields of a head while it is parsed, in the place that they are to keep: nothing is copied when the head is
/// complete.
#[derive(Default)]
pub struct HeadFields {
    list: Arc<List>,
    end: usize,
}

/// Where the fields of a head are added.
pub struct FieldsInPlace<'a> {
    list: &'a mut List,
    end: &'a mut usize,
}

impl HeadFields {
    /// Where its fields are added: asked for once, for all of them.
    #[inline]
    pub fn begin(&mut self) -> FieldsInPlace<'_> {
        FieldsInPlace { list: Arc::make_mut(&mut self.list), end: &mut self.end }
    }

    /// The list, with the head that the fields are slices of.
    ///
    /// # Errors
    ///
    /// A field that does not lie within the head.
    #[inline]
    pub fn into_headers(mut self, head: Bytes) -> Result<Headers, InvalidHeader> {
        if self.end > head.len() {
            return Err(InvalidHeader::TooLarge);
        }
        let list = Arc::make_mut(&mut self.list);
        list.received = head;
        list.layout = Layout::Scattered;
        Ok(Headers::of(self.list))
    }
}

impl FieldsInPlace<'_> {
    /// How many fields there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.list.fields.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.fields.is_empty()
    }

    /// Adds a field whose name has been looked at already.
    ///
    /// # Errors
    ///
    /// A field beyond four gigabytes, or a name longer than 65,535 bytes.
    #[inline(always)]
    pub fn push(&mut self, known: Option<KnownHeader>, span: Span) -> Result<(), InvalidHeader> {
        let (field, end) = received_field(known, span)?;
        *self.end = (*self.end).max(end);
        self.list.note_added(field);
        Ok(())
    }
}
