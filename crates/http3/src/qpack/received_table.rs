//! The table of a decoder, filled by the peer's encoder stream (RFC 9204 §4.3).

use alloc::vec::Vec;

use serow_streams::{
    compression::{DynamicTable, Line, Texts, integer},
    fields::ENTRY_OVERHEAD,
};

use super::{
    EncoderStreamError,
    instruction::{self, INSERT, INSERT_WITH_NAME, SET_CAPACITY, STATIC_NAME},
    line::{named, with_value},
    static_table::TABLE,
};

/// The table, and how far the peer's encoder stream was read.
#[derive(Debug)]
pub(super) struct ReceivedTable {
    table: DynamicTable,
    /// The largest capacity that the peer may set.
    announced: usize,
    /// How many entries were ever added.
    inserted: u64,
    /// The beginning of an instruction whose rest has not arrived.
    partial: Vec<u8>,
}

impl ReceivedTable {
    pub(super) const fn new(announced: usize) -> Self {
        // RFC 9204 §3.2.3: the peer's encoder sets the capacity before it adds anything.
        Self { table: DynamicTable::new(0), announced, inserted: 0, partial: Vec::new() }
    }

    /// SETTINGS_QPACK_MAX_TABLE_CAPACITY.
    #[inline]
    pub(super) const fn announced(&self) -> usize {
        self.announced
    }

    #[inline]
    pub(super) const fn inserted(&self) -> u64 {
        self.inserted
    }

    /// The entry of an absolute index, if it is there.
    #[inline]
    pub(super) fn get(&self, absolute: u64) -> Option<Line<'_>> {
        let newer = self.inserted.checked_sub(absolute)?.checked_sub(1)?;
        self.table.get(usize::try_from(newer).ok()?)
    }

    /// Takes the next bytes of the encoder stream.
    pub(super) fn receive(&mut self, bytes: &[u8], texts: &mut Texts) -> Result<(), EncoderStreamError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.partial.is_empty() {
                let extent = self.extent(rest)?;
                let Some((instruction, behind)) = rest.split_at_checked(extent) else {
                    self.partial.extend_from_slice(rest);
                    break;
                };
                self.execute(instruction, texts)?;
                rest = behind;
                continue;
            }
            let missing = self.extent(&self.partial)?.saturating_sub(self.partial.len());
            let (piece, behind) = rest.split_at(missing.min(rest.len()));
            self.partial.extend_from_slice(piece);
            rest = behind;
            if self.extent(&self.partial)? == self.partial.len() {
                let instruction = core::mem::take(&mut self.partial);
                self.execute(&instruction, texts)?;
            }
        }
        Ok(())
    }

    /// How many bytes an instruction has, at least.
    fn extent(&self, bytes: &[u8]) -> Result<usize, EncoderStreamError> {
        instruction::extent(bytes, self.table.capacity().checked_sub(ENTRY_OVERHEAD))
    }

    /// Executes a whole instruction.
    fn execute(&mut self, instruction: &[u8], texts: &mut Texts) -> Result<(), EncoderStreamError> {
        let mut rest = instruction;
        texts.clear();
        match instruction.first().copied().unwrap_or_default() {
            first @ INSERT_WITH_NAME.. => {
                let index = integer::decode::<6>(&mut rest)?;
                let value = texts.take(&mut rest)?.bytes(texts);
                if first & STATIC_NAME == 0 {
                    return self.insert_with_name_of(index, value);
                }
                self.insert(with_value(*TABLE.get(index).ok_or(EncoderStreamError::Index)?, value))
            }
            INSERT.. => {
                let name = texts.take_prefixed::<5>(&mut rest)?;
                let value = texts.take(&mut rest)?.bytes(texts);
                self.insert(with_value(named(name.bytes(texts)), value))
            }
            SET_CAPACITY.. => self.set_capacity(integer::decode::<5>(&mut rest)?),
            _ => self.duplicate(integer::decode::<5>(&mut rest)?),
        }
    }

    /// RFC 9204 §4.3.1.
    fn set_capacity(&mut self, capacity: usize) -> Result<(), EncoderStreamError> {
        if capacity > self.announced {
            return Err(EncoderStreamError::Capacity);
        }
        self.table.set_capacity(capacity);
        Ok(())
    }

    /// RFC 9204 §4.3.2, with a name of the static table, and §4.3.3.
    fn insert(&mut self, line: Line<'_>) -> Result<(), EncoderStreamError> {
        let Line { name, value, name_kind, error } = line;
        self.check_size(name.len(), value.len())?;
        self.table.insert(name_kind, name, value, error);
        self.inserted += 1;
        Ok(())
    }

    /// RFC 9204 §4.3.2, with the name of an entry, which may be evicted for the new one (§3.2.2).
    fn insert_with_name_of(&mut self, newer: usize, value: &[u8]) -> Result<(), EncoderStreamError> {
        let name = self.table.get(newer).ok_or(EncoderStreamError::Index)?;
        self.check_size(name.name.len(), value.len())?;
        let error = with_value(name, value).error;
        self.table.insert_with_name_of(newer, value, error);
        self.inserted += 1;
        Ok(())
    }

    /// RFC 9204 §4.3.4.
    fn duplicate(&mut self, newer: usize) -> Result<(), EncoderStreamError> {
        if !self.table.duplicate(newer) {
            return Err(EncoderStreamError::Index);
        }
        self.inserted += 1;
        Ok(())
    }

    /// RFC 9204 §3.2.2: an entry that is larger than the table is an error.
    fn check_size(&self, name: usize, value: usize) -> Result<(), EncoderStreamError> {
        let fits = name.saturating_add(value).saturating_add(ENTRY_OVERHEAD) <= self.table.capacity();
        if fits { Ok(()) } else { Err(EncoderStreamError::TooLarge) }
    }
}
