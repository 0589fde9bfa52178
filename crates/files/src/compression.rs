//! Compressing: a small file at once, a large one piece by piece while it is sent.

use std::{
    io::{self, Write},
    sync::Arc,
};

use bytes::Bytes;
use flate2::write::GzEncoder;

use crate::{coding::Coding, copied_range::CopiedRange, pieces::Pieces};

/// Compresses a body that is in memory.
pub(crate) fn compressed(coding: Coding, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(coding)?;
    encoder.write(body)?;
    encoder.finish()
}

/// A file, compressed a piece at a time as the client takes it.
pub(crate) struct CompressedBody {
    file: CopiedRange,
    encoder: Option<Encoder>,
    /// Given back when the body is dropped.
    _permit: Permit,
}

impl CompressedBody {
    pub(crate) fn new(file: CopiedRange, coding: Coding, permit: Permit) -> io::Result<Self> {
        Ok(Self { file, encoder: Some(Encoder::new(coding)?), _permit: permit })
    }
}

impl Pieces for CompressedBody {
    /// Takes one piece of the file; gives what came out of the encoder, which may be nothing yet.
    fn next_piece(&mut self) -> Option<io::Result<Bytes>> {
        let encoder = self.encoder.as_mut()?;
        let output = match self.file.next_piece() {
            Some(piece) => piece.and_then(|piece| encoder.write(&piece)).map(|()| encoder.take_output()),
            None => self.encoder.take()?.finish(),
        };
        if output.is_err() {
            self.encoder = None;
        }
        Some(output.map(Bytes::from))
    }

    /// Nobody knows how much an encoder gives.
    fn remaining(&self) -> Option<u64> {
        self.encoder.is_none().then_some(0)
    }
}

/// How many bodies are being compressed on one core, and how many may be.
#[derive(Debug)]
pub(crate) struct Permits {
    given: Arc<()>,
    most: usize,
}

/// The right to keep one encoder.
pub(crate) struct Permit(#[allow(dead_code, reason = "it is counted by being held")] Arc<()>);

impl Permits {
    pub(crate) fn new(most: usize) -> Self {
        Self { given: Arc::new(()), most }
    }

    /// Another permit, unless all are given.
    pub(crate) fn take(&self) -> Option<Permit> {
        (Arc::strong_count(&self.given) <= self.most).then(|| Permit(Arc::clone(&self.given)))
    }
}

/// An encoder that writes into memory.
enum Encoder {
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl Encoder {
    fn new(coding: Coding) -> io::Result<Self> {
        Ok(match coding {
            Coding::Brotli => Self::Brotli(Box::new(brotli::CompressorWriter::new(
                Vec::new(),
                OUTPUT_BUFFER,
                BROTLI_QUALITY,
                WINDOW_BITS,
            ))),
            Coding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.window_log(WINDOW_BITS)?;
                Self::Zstd(encoder)
            }
            Coding::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL))),
        })
    }

    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Brotli(encoder) => encoder.write_all(piece),
            Self::Zstd(encoder) => encoder.write_all(piece),
            Self::Gzip(encoder) => encoder.write_all(piece),
        }
    }

    fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(match self {
            Self::Brotli(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
            Self::Gzip(encoder) => encoder.get_mut(),
        })
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Brotli(encoder) => Ok(encoder.into_inner()),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Gzip(encoder) => encoder.finish(),
        }
    }
}

/// The highest quality of brotli that compresses faster than common lines carry; what Cloudflare chose for content made
/// on the fly.
const BROTLI_QUALITY: u32 = 4;

/// Zstandard's own default.
const ZSTD_LEVEL: i32 = zstd::DEFAULT_COMPRESSION_LEVEL;

/// zlib's own default.
const GZIP_LEVEL: u32 = 6;

/// A window of 512 KiB, as nginx's brotli module has it: memory per client that reads slowly, so an attacker's lever.
const WINDOW_BITS: u32 = 19;

/// What brotli's own programs use.
const OUTPUT_BUFFER: usize = 4096;

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::Read,
        time::{Duration, SystemTime},
    };

    use serow_message::{FileRange, FileVersion};

    use super::*;

    pub(crate) fn decompressed(coding: Coding, body: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        match coding {
            Coding::Brotli => drop(brotli::Decompressor::new(body, 4096).read_to_end(&mut output).unwrap()),
            Coding::Zstd => output = zstd::stream::decode_all(body).unwrap(),
            Coding::Gzip => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut output).unwrap()),
        }
        output
    }

    fn text(length: usize) -> Vec<u8> {
        b"The serow lives in Japan's mountains. ".iter().copied().cycle().take(length).collect()
    }

    fn streamed(file: &File, coding: Coding) -> CompressedBody {
        let metadata = file.metadata().unwrap();
        let range = FileRange {
            file: Arc::new(file.try_clone().unwrap()),
            offset: 0,
            length: metadata.len(),
            version: Some(FileVersion::of(&metadata)),
        };
        let later = || SystemTime::now() + Duration::from_secs(1);
        CompressedBody::new(CopiedRange::new(range, later), coding, Permits::new(1).take().unwrap()).unwrap()
    }

    #[test]
    fn what_is_compressed_comes_back() {
        for coding in Coding::ALL {
            for length in [0, 1, 5000, 300_000] {
                let body = text(length);
                let small = compressed(coding, &body).unwrap();
                assert_eq!(decompressed(coding, &small), body, "{coding:?} {length}");
                assert!(length < 5000 || small.len() < length / 2);

                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&body).unwrap();
                let mut stream = streamed(&file, coding);
                let mut output = Vec::new();
                while let Some(piece) = stream.next_piece() {
                    output.extend_from_slice(&piece.unwrap());
                }
                assert_eq!(decompressed(coding, &output), body, "{coding:?} {length}");
            }
        }
    }

    #[test]
    fn permits_come_back() {
        let permits = Permits::new(2);
        let one = permits.take();
        let two = permits.take();
        assert!(one.is_some() && two.is_some() && permits.take().is_none());
        drop(one);
        assert!(permits.take().is_some());
    }
}
