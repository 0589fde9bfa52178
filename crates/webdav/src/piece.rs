//! A part of a body, until it is written.

use std::{
    fs::File,
    io::{self, IoSlice, Write},
    mem,
};

use bytes::Bytes;

/// A part of a body, as it was received: what arrived in large chunks is not copied.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    chunks: Vec<Bytes>,
    /// Small chunks behind the others, together: each would keep the buffer that it was received in.
    tail: Vec<u8>,
    length: usize,
}

impl Piece {
    /// Adds what was received.
    pub(crate) fn add(&mut self, chunk: Bytes) {
        self.length += chunk.len();
        if chunk.len() < COPIED {
            self.tail.extend_from_slice(&chunk);
        } else {
            self.flush_tail();
            self.chunks.push(chunk);
        }
    }

    /// Bytes in it.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Writes all of it at the position of a file.
    ///
    /// # Errors
    ///
    /// The file system's.
    pub(crate) fn write(mut self, mut file: &File) -> io::Result<()> {
        self.flush_tail();
        let mut slices: Vec<_> = self.chunks.iter().map(|chunk| IoSlice::new(chunk)).collect();
        let mut slices = slices.as_mut_slice();
        while !slices.is_empty() {
            match file.write_vectored(slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut slices, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn flush_tail(&mut self) {
        if !self.tail.is_empty() {
            self.chunks.push(mem::take(&mut self.tail).into());
        }
    }
}

/// Half of what a connection receives at once: at most half of the memory is wasted.
const COPIED: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn chunks_of_all_sizes_are_written_in_their_order() {
        let mut file = tempfile::tempfile().unwrap();
        let mut expected = Vec::new();
        for sizes in [&[][..], &[1], &[9000], &[1, 2, 9000, 8192, 3, 8191, 20_000, 4], &[9000; 3000]] {
            let mut piece = Piece::default();
            for (number, size) in sizes.iter().enumerate() {
                let chunk = vec![number as u8; *size];
                expected.extend_from_slice(&chunk);
                piece.add(chunk.into());
            }
            assert_eq!(piece.length(), sizes.iter().sum::<usize>());
            piece.write(&file).unwrap();
        }
        let mut content = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut content).unwrap();
        assert!(content == expected);
    }
}
