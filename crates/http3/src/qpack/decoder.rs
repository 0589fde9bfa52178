//! From field sections to fields (RFC 9204 §2.2).

use alloc::vec::Vec;
use core::ops::ControlFlow;

use serow_streams::{
    StreamId,
    compression::{Line, Text, Texts, integer},
    fields::DecodedField,
};

use super::{
    DecodeError, EncoderStreamError,
    blocked::Blocked,
    instruction::{ACKNOWLEDGE, CANCEL, INCREMENT},
    line::{named, with_value},
    prefix::Prefix,
    received_table::ReceivedTable,
    representation::{
        INDEXED, INDEXED_STATIC, LITERAL, LITERAL_NEVER, LITERAL_POST_BASE_NEVER, LITERAL_WITH_NAME,
        LITERAL_WITH_NAME_NEVER, LITERAL_WITH_STATIC_NAME, POST_BASE,
    },
    static_table::TABLE,
};

/// Decodes the field sections that the peer sends, with the table that the peer's encoder stream fills.
#[derive(Debug)]
pub struct Decoder {
    table: ReceivedTable,
    /// How many entries the peer knows to be here, once it has received the output.
    acknowledged: u64,
    blocked: Blocked,
    /// Acknowledgements and cancellations for the decoder stream.
    output: Vec<u8>,
    texts: Texts,
}

/// The outcome of decoding a field section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// All of its fields were shown.
    Whole,
    /// It refers to entries that have not arrived. The caller keeps it, and decodes it again when
    /// [`Decoder::insert_count`] is at least this.
    Blocked(u64),
}

impl Decoder {
    /// `capacity` is what we announce with SETTINGS_QPACK_MAX_TABLE_CAPACITY, in bytes, `blocked` what we announce with
    /// SETTINGS_QPACK_BLOCKED_STREAMS. It allocates as it is used: at most the table's text twice and its entries, an
    /// instruction that is not whole, which may have eight times the table's bytes, and some kilobytes of output.
    ///
    /// Attack: each byte of the encoder stream can copy an entry as large as the table, which takes a quarter of a
    /// microsecond with 4,096 bytes. A larger table is worth little, and costs more.
    #[must_use]
    pub const fn new(capacity: usize, blocked: usize) -> Self {
        Self {
            table: ReceivedTable::new(capacity),
            acknowledged: 0,
            blocked: Blocked::new(blocked),
            output: Vec::new(),
            texts: Texts::new(),
        }
    }

    /// Gives back memory that is kept for the next section; the table stays.
    pub fn release_memory(&mut self) {
        self.texts = Texts::new();
        self.output.shrink_to_fit();
    }

    /// How many entries the peer has added to the table: sections that were [blocked](Decoded::Blocked) until there are
    /// so many, or fewer, can be decoded now.
    #[must_use]
    pub const fn insert_count(&self) -> u64 {
        self.table.inserted()
    }

    /// Decodes a whole field section of a stream and shows each line of it, in order, to `field`.
    ///
    /// Once `field` breaks, nothing of the rest is looked at, since no field section changes the table: whoever has seen
    /// enough fields breaks, and the connection goes on. A section may refer to the same large entry with each of its
    /// bytes; nothing is allocated for that here, and whoever keeps fields counts their
    /// [`list_size`](DecodedField::list_size).
    ///
    /// The sections of one stream are decoded in their order: none behind one that is blocked.
    ///
    /// # Errors
    ///
    /// After an error the decoder is of no more use, and neither is the connection.
    #[inline]
    pub fn decode(
        &mut self,
        stream: StreamId,
        section: &[u8],
        field: impl FnMut(DecodedField<'_>) -> ControlFlow<()>,
    ) -> Result<Decoded, DecodeError> {
        let mut lines = section;
        let prefix = Prefix::decode(&mut lines, self.table.announced(), self.table.inserted())?;
        if prefix.required > self.table.inserted() {
            self.blocked.add(stream, prefix.required, self.table.inserted())?;
            return Ok(Decoded::Blocked(prefix.required));
        }
        self.blocked.remove(stream);
        self.decode_lines(prefix, lines, field)?;
        self.texts.forget();
        if prefix.required > 0 {
            self.acknowledge(stream, prefix.required)?;
        }
        Ok(Decoded::Whole)
    }

    #[inline]
    fn decode_lines(
        &mut self,
        prefix: Prefix,
        mut rest: &[u8],
        mut field: impl FnMut(DecodedField<'_>) -> ControlFlow<()>,
    ) -> Result<(), DecodeError> {
        while let Some(&first) = rest.first() {
            let outcome = match first {
                INDEXED.. => field(self.indexed(prefix, first, &mut rest)?.into_field(false)),
                POST_BASE..LITERAL => {
                    let absolute = prefix.post_base(integer::decode::<4>(&mut rest)?)?;
                    field(self.line(absolute)?.into_field(false))
                }
                _ => field(self.literal(prefix, first, &mut rest)?),
            };
            if outcome.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// RFC 9204 §4.5.2.
    #[inline]
    fn indexed(&self, prefix: Prefix, first: u8, rest: &mut &[u8]) -> Result<Line<'_>, DecodeError> {
        let index = integer::decode::<6>(rest)?;
        if first & INDEXED_STATIC != 0 { static_line(index) } else { self.line(prefix.relative(index)?) }
    }

    /// RFC 9204 §4.5.4, §4.5.5, §4.5.6.
    #[inline]
    fn literal<'a, 'b: 'a>(
        &'a mut self,
        prefix: Prefix,
        first: u8,
        rest: &mut &'b [u8],
    ) -> Result<DecodedField<'a>, DecodeError> {
        self.texts.clear();
        let (name, never_indexed) = match first {
            LITERAL_WITH_NAME.. => {
                let index = integer::decode::<4>(rest)?;
                let is_static = first & LITERAL_WITH_STATIC_NAME != 0;
                let name =
                    if is_static { LiteralName::Static(index) } else { LiteralName::Dynamic(prefix.relative(index)?) };
                (name, first & LITERAL_WITH_NAME_NEVER != 0)
            }
            LITERAL.. => (LiteralName::Text(self.texts.take_prefixed::<3>(rest)?), first & LITERAL_NEVER != 0),
            _ => (
                LiteralName::Dynamic(prefix.post_base(integer::decode::<3>(rest)?)?),
                first & LITERAL_POST_BASE_NEVER != 0,
            ),
        };
        let value = self.texts.take(rest)?;
        let name = match name {
            LiteralName::Static(index) => static_line(index)?,
            LiteralName::Dynamic(absolute) => self.line(absolute)?,
            LiteralName::Text(text) => named(text.bytes(&self.texts)),
        };
        let value = value.bytes(&self.texts);
        Ok(with_value(name, value).into_field(never_indexed))
    }

    /// The entry of an absolute index, unless it was evicted.
    #[inline]
    fn line(&self, absolute: u64) -> Result<Line<'_>, DecodeError> {
        self.table.get(absolute).ok_or(DecodeError::Index)
    }

    fn acknowledge(&mut self, stream: StreamId, required: u64) -> Result<(), DecodeError> {
        integer::encode_long::<7>(stream.get(), ACKNOWLEDGE, &mut self.output);
        self.acknowledged = self.acknowledged.max(required);
        if self.output.len() > MAX_OUTPUT { Err(DecodeError::Unread) } else { Ok(()) }
    }

    /// A stream was reset or is not read any more: sections of it that were not decoded never will be (RFC 9204
    /// §2.2.2.2). Also right for a stream on which nothing waits.
    pub fn cancel(&mut self, stream: StreamId) {
        self.blocked.remove(stream);
        // Without a table no section has references. And a peer that resets streams without end, and reads nothing, does
        // not make the output grow; the next section that refers to the table is an error.
        if self.table.announced() > 0 && self.output.len() <= MAX_OUTPUT {
            integer::encode_long::<6>(stream.get(), CANCEL, &mut self.output);
        }
    }

    /// Whether there is something to send on the decoder stream.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty() || self.table.inserted() > self.acknowledged
    }

    /// Appends what is to be sent on the decoder stream: acknowledgements of sections, cancellations, and one increment
    /// for all entries that no acknowledged section needs (RFC 9204 §4.4). Only what can be sent is to be asked for.
    pub fn write(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.output);
        if self.table.inserted() > self.acknowledged {
            integer::encode_long::<6>(self.table.inserted() - self.acknowledged, INCREMENT, output);
            self.acknowledged = self.table.inserted();
        }
    }

    /// Takes the next bytes of the peer's encoder stream, in pieces of any length.
    ///
    /// # Errors
    ///
    /// After an error the decoder is of no more use, and neither is the connection.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), EncoderStreamError> {
        self.table.receive(bytes, &mut self.texts)?;
        self.texts.forget();
        Ok(())
    }
}

#[inline]
fn static_line(index: usize) -> Result<Line<'static>, DecodeError> {
    let entry = *TABLE.get(index).ok_or(DecodeError::Index)?;
    // Said again, since the compiler does not know that none of them has an error.
    Ok(Line { error: None, ..entry })
}

/// Where the name of a literal stands.
enum LiteralName<'a> {
    Static(usize),
    /// At this absolute index.
    Dynamic(u64),
    Text(Text<'a>),
}

/// Attack: a peer that sends sections, each of which is to be acknowledged, and does not read the acknowledgements. A
/// thousand and more of them wait here, while a usual peer has a hundred streams at a time.
const MAX_OUTPUT: usize = 4096;
