//! Several ranges in one response: `multipart/byteranges` (RFC 9110 §14.6).

use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    io,
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;
use serow_message::FileRange;

use crate::{copied_range::CopiedRange, pieces::Pieces};

/// The ranges of one representation, and the lines between them.
pub(crate) struct Multipart {
    boundary: String,
    ranges: Vec<Range<u64>>,
    media_type: String,
    whole: u64,
}

impl Multipart {
    /// Parts of a representation of `whole` bytes.
    pub(crate) fn new(ranges: Vec<Range<u64>>, media_type: &str, whole: u64) -> Self {
        // No file can foresee it, so none can hold it: keyed hashes with keys from the system.
        let boundary = format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1));
        Self { boundary, ranges, media_type: media_type.to_owned(), whole }
    }

    /// The value of Content-Type.
    pub(crate) fn content_type(&self) -> String {
        format!("multipart/byteranges; boundary={}", self.boundary)
    }

    /// The body, of a representation in memory.
    pub(crate) fn of_memory(&self, content: &[u8]) -> Bytes {
        let mut body = Vec::new();
        for range in &self.ranges {
            body.extend_from_slice(self.part_head(range).as_bytes());
            body.extend_from_slice(&content[range.start as usize..range.end as usize]);
        }
        body.extend_from_slice(self.end().as_bytes());
        body.into()
    }

    /// The body, of a representation in a file, piece by piece.
    pub(crate) fn of_file(&self, file: &FileRange, copy: impl Fn(FileRange) -> CopiedRange) -> MultipartBody {
        let mut pieces = VecDeque::new();
        for range in &self.ranges {
            pieces.push_back(Piece::Lines(self.part_head(range).into()));
            pieces.push_back(Piece::Content(copy(FileRange {
                file: Arc::clone(&file.file),
                offset: range.start,
                length: range.end - range.start,
                version: file.version,
            })));
        }
        pieces.push_back(Piece::Lines(self.end().into()));
        MultipartBody { pieces }
    }

    fn part_head(&self, range: &Range<u64>) -> String {
        format!(
            "\r\n--{}\r\nContent-Type: {}\r\nContent-Range: {}\r\n\r\n",
            self.boundary,
            self.media_type,
            content_range(range, self.whole)
        )
    }

    fn end(&self) -> String {
        format!("\r\n--{}--\r\n", self.boundary)
    }
}

/// The value of Content-Range for a range that is sent (RFC 9110 §14.4).
pub(crate) fn content_range(range: &Range<u64>, whole: u64) -> String {
    format!("bytes {}-{}/{whole}", range.start, range.end - 1)
}

/// Parts of a file, one after the other.
pub(crate) struct MultipartBody {
    pieces: VecDeque<Piece>,
}

enum Piece {
    Lines(Bytes),
    Content(CopiedRange),
}

impl Pieces for MultipartBody {
    fn next_piece(&mut self) -> Option<io::Result<Bytes>> {
        while let Some(piece) = self.pieces.front_mut() {
            let next = match piece {
                Piece::Lines(lines) if lines.is_empty() => None,
                Piece::Lines(lines) => Some(Ok(std::mem::take(lines))),
                Piece::Content(content) => content.next_piece(),
            };
            match next {
                None => drop(self.pieces.pop_front()),
                Some(Err(error)) => {
                    self.pieces.clear();
                    return Some(Err(error));
                }
                some => return some,
            }
        }
        None
    }

    fn remaining(&self) -> Option<u64> {
        let remaining = |piece: &Piece| match piece {
            Piece::Lines(lines) => Some(lines.len() as u64),
            Piece::Content(content) => content.remaining(),
        };
        self.pieces.iter().map(remaining).sum()
    }
}
