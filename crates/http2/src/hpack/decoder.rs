//! From field blocks to fields (RFC 7541 §3).

use core::ops::ControlFlow;

use serow_streams::{
    compression::{DynamicTable, Line, Text, Texts, integer},
    fields::{DecodedField, FieldError, Name},
};

use super::{DEFAULT_CAPACITY, DecodeError, static_table};

/// Decodes the field blocks of one direction of a connection, in their order.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// The largest size that an update of the table's size may set.
    announced: usize,
    /// The table is larger than what the peer has acknowledged; its next block begins with an update.
    update_due: bool,
    texts: Texts,
}

impl Decoder {
    /// `capacity` is what we announce with SETTINGS_HEADER_TABLE_SIZE. The table starts with
    /// [`DEFAULT_CAPACITY`], since the peer may use that until it knows better, and allocates as it is used.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        let announced = if capacity < DEFAULT_CAPACITY { DEFAULT_CAPACITY } else { capacity };
        Self { table: DynamicTable::new(DEFAULT_CAPACITY), announced, update_due: false, texts: Texts::new() }
    }

    /// Gives back memory that is kept for the next block; the table stays.
    pub fn release_memory(&mut self) {
        self.texts = Texts::new();
    }

    /// The peer has acknowledged SETTINGS that announced this: from now on its table may not be larger (RFC 7541 §4.2).
    pub fn set_capacity(&mut self, capacity: usize) {
        self.announced = capacity;
        self.update_due = self.table.capacity() > capacity;
    }

    /// Decodes a whole field block and shows each line of it, in order, to `field`.
    ///
    /// Once `field` breaks it is shown no more, but the block is decoded to its end, so that the table stays what the
    /// peer thinks it is: a caller that has seen enough fields breaks, and the connection goes on. A block may refer to
    /// the same large entry with each of its bytes; nothing is allocated for that here, and a caller that keeps fields
    /// counts their [`list_size`](DecodedField::list_size).
    ///
    /// # Errors
    ///
    /// After an error the decoder is of no more use, and neither is the connection.
    #[inline]
    pub fn decode(
        &mut self,
        block: &[u8],
        mut field: impl FnMut(DecodedField<'_>) -> ControlFlow<()>,
    ) -> Result<(), DecodeError> {
        let mut rest = block;
        if matches!(block, [0x20..0x40, ..]) || self.update_due {
            self.update_size(&mut rest)?;
        }
        let mut wanted = true;
        while let Some(&first) = rest.first() {
            if first >= INDEXED && !wanted {
                self.skip_references(&mut rest)?;
                continue;
            }
            if first >= INDEXED {
                let line = line(&self.table, integer::decode::<7>(&mut rest)?)?;
                wanted = field(line.into_field(false)).is_continue();
                continue;
            }
            let literal = self.literal(first, &mut rest)?;
            if wanted {
                wanted = field(self.show(&literal)?).is_continue();
            }
            if literal.indexed {
                self.insert(&literal);
            }
        }
        self.texts.forget();
        Ok(())
    }

    /// Takes references to entries that nobody wants to see: they change nothing (RFC 7541 §6.1). Each byte of an HPACK
    /// bomb is one.
    fn skip_references(&self, rest: &mut &[u8]) -> Result<(), DecodeError> {
        let entries = static_table::COUNT + self.table.len();
        while rest.first().is_some_and(|first| *first >= INDEXED) {
            if !(1..=entries).contains(&integer::decode::<7>(rest)?) {
                return Err(DecodeError::Index);
            }
        }
        Ok(())
    }

    /// Takes the size updates at the beginning of a block (RFC 7541 §6.3): two at most, for the smallest size there was
    /// and the last (§4.2).
    #[cold]
    fn update_size(&mut self, rest: &mut &[u8]) -> Result<(), DecodeError> {
        for _ in 0..2 {
            if !matches!(rest, [0x20..0x40, ..]) {
                break;
            }
            let capacity = integer::decode::<5>(rest)?;
            if capacity > self.announced {
                return Err(DecodeError::SizeUpdate);
            }
            self.table.set_capacity(capacity);
            self.update_due = false;
        }
        if self.update_due { Err(DecodeError::SizeUpdate) } else { Ok(()) }
    }

    /// Takes a literal (RFC 7541 §6.2).
    #[inline]
    fn literal<'a>(&mut self, first: u8, rest: &mut &'a [u8]) -> Result<Literal<'a>, DecodeError> {
        let (index, indexed) = match first {
            0x40.. => (integer::decode::<6>(rest)?, true),
            0x20.. => return Err(DecodeError::SizeUpdate),
            _ => (integer::decode::<4>(rest)?, false),
        };
        let texts = &mut self.texts;
        texts.clear();
        let (name, name_kind, name_flaw) = match index {
            0 => {
                let text = texts.take(rest)?;
                let kind = Name::recognise(text.bytes(texts));
                (LiteralName::Text(text), kind, FieldError::of_name(kind, text.bytes(texts)))
            }
            index => {
                let line = line(&self.table, index)?;
                (LiteralName::Index(index), line.name_kind, line.error.filter(|error| *error == FieldError::Name))
            }
        };
        let value = texts.take(rest)?;
        let error = name_flaw.or_else(|| FieldError::of_value(value.bytes(texts)));
        Ok(Literal { name, name_kind, value, error, indexed, never_indexed: first & 0xf0 == 0x10 })
    }

    #[inline]
    fn show<'a>(&'a self, literal: &Literal<'a>) -> Result<DecodedField<'a>, DecodeError> {
        let Literal { name_kind, error, never_indexed, .. } = *literal;
        let name = match literal.name {
            LiteralName::Text(text) => text.bytes(&self.texts),
            LiteralName::Index(index) => line(&self.table, index)?.name,
        };
        Ok(DecodedField { name, value: literal.value.bytes(&self.texts), name_kind, never_indexed, error })
    }

    fn insert(&mut self, literal: &Literal<'_>) {
        let Literal { name_kind, error, .. } = *literal;
        let value = literal.value.bytes(&self.texts);
        match literal.name {
            LiteralName::Text(text) => {
                self.table.insert(name_kind, text.bytes(&self.texts), value, error);
            }
            LiteralName::Index(index) => match static_table::TABLE.get(index - 1) {
                Some(entry) => {
                    self.table.insert(name_kind, entry.name, value, error);
                }
                None => self.table.insert_with_name_of(index - 1 - static_table::COUNT, value, error),
            },
        }
    }
}

/// The entry of an index (RFC 7541 §2.3.3).
#[inline]
fn line(table: &DynamicTable, index: usize) -> Result<Line<'_>, DecodeError> {
    // That of zero wraps around, and neither table has so many.
    let place = index.wrapping_sub(1);
    match static_table::TABLE.get(place) {
        // Said again, since the compiler does not know that none of them has an error.
        Some(&entry) => Ok(Line { error: None, ..entry }),
        None => table.get(place - static_table::COUNT).ok_or(DecodeError::Index),
    }
}

struct Literal<'a> {
    name: LiteralName<'a>,
    name_kind: Name,
    value: Text<'a>,
    error: Option<FieldError>,
    indexed: bool,
    never_indexed: bool,
}

#[derive(Clone, Copy)]
enum LiteralName<'a> {
    /// That of an entry which is there.
    Index(usize),
    Text(Text<'a>),
}

/// RFC 7541 §6.1: the bit that says that a field is an entry.
const INDEXED: u8 = 0x80;
