//! Room for new entries: expired ones are removed, and the others moved together.

use serow_net::OutsideError;

use super::{
    layout::{EntryHead, Header, MAX_BYTES, SLACK, empty_buckets},
    table::{Fault, Table},
};

impl Table {
    /// Makes room for an entry of this size at the end, during a change.
    pub(super) fn make_room(&self, header: &mut Header, size: usize, now: f64) -> Result<(), Fault> {
        let is_full = header.live + size > MAX_BYTES;
        let was_swept = now >= header.swept && now - header.swept < SWEEP_PAUSE;
        let helps = header.next_expiry <= now && !was_swept;
        if (is_full && helps) || header.dead > header.live + SLACK {
            self.compact(header, now)?;
        }
        match () {
            () if header.live + size > MAX_BYTES => Err(Fault::Full),
            // An entry takes less than its size. With these numbers, there is room; they may be wrong.
            () if header.end + size > self.memory.length() => Err(Fault::Invalid),
            () => Ok(()),
        }
    }

    /// Moves all entries that are alive to the front, during a change.
    fn compact(&self, header: &mut Header, now: f64) -> Result<(), Fault> {
        empty_buckets(&self.memory)?;
        let mut compacted = Header { swept: now, ..Header::new(header.keys) };
        let (mut place, mut buffer) = (compacted.end, [0; 4096]);
        while place < header.end {
            let mut head = EntryHead::read(&self.memory, place, header.end)?;
            place += head.slot;
            if !head.is_alive(now) {
                continue;
            }
            self.move_down(head.offset, compacted.end, head.slot, &mut buffer)?;
            head.offset = compacted.end;
            self.link(&mut head)?;
            head.write(&self.memory)?;
            compacted.end += head.slot;
            compacted.live = compacted.live.saturating_add(head.size());
            compacted.next_expiry = compacted.next_expiry.min(head.expires);
        }
        if compacted.live > MAX_BYTES {
            return Err(Fault::Invalid);
        }
        *header = compacted;
        Ok(())
    }

    /// Copies bytes to a place before them, which they may overlap.
    fn move_down(
        &self,
        mut from: usize,
        mut to: usize,
        mut length: usize,
        buffer: &mut [u8],
    ) -> Result<(), OutsideError> {
        while from != to && length > 0 {
            let piece_length = length.min(buffer.len());
            let piece = &mut buffer[..piece_length];
            self.memory.read(from, piece)?;
            self.memory.write(to, piece)?;
            (from, to, length) = (from + piece_length, to + piece_length, length - piece_length);
        }
        Ok(())
    }
}

/// Seconds between two removals of expired entries: one takes milliseconds where there are many.
const SWEEP_PAUSE: f64 = 0.1;
