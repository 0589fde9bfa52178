//! A large file that is compressed while it is sent.

use std::io;

use bytes::Bytes;
use serow_coding::{Encoder, EncoderSettings, Permit};

use crate::{copied_range::CopiedRange, pieces::Pieces};

/// A file, compressed a piece at a time as the client takes it.
pub(crate) struct CompressedBody {
    file: CopiedRange,
    encoder: Option<Encoder>,
    /// Given back when the body is dropped.
    _permit: Permit,
}

impl CompressedBody {
    pub(crate) fn new(file: CopiedRange, settings: EncoderSettings, permit: Permit) -> io::Result<Self> {
        Ok(Self { file, encoder: Some(Encoder::new(settings)?), _permit: permit })
    }
}

impl Pieces for CompressedBody {
    /// Takes one piece of the file; gives what came out of the encoder, which may be nothing yet.
    fn next_piece(&mut self) -> Option<io::Result<Bytes>> {
        let encoder = self.encoder.as_mut()?;
        let mut output = Vec::new();
        let outcome = match self.file.next_piece() {
            Some(piece) => piece.and_then(|piece| encoder.write(&piece, &mut output)),
            None => self.encoder.take()?.finish(&mut output),
        };
        if outcome.is_err() {
            self.encoder = None;
        }
        Some(outcome.map(|()| output.into()))
    }

    /// The output's length is unknown while the encoder runs.
    fn remaining(&self) -> Option<u64> {
        self.encoder.is_none().then_some(0)
    }
}

/// A window of 512 KiB, as nginx's brotli module has it: memory per client that reads slowly, so an attacker's lever.
pub(crate) const WINDOW_BITS: u32 = 19;

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{Read, Write},
        sync::Arc,
        time::{Duration, SystemTime},
    };

    use serow_coding::{Coding, Levels, Permits};
    use serow_message::{FileRange, FileVersion};

    use super::*;

    fn decompressed(coding: Coding, body: &[u8]) -> Vec<u8> {
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
        let settings = EncoderSettings::new(coding, &Levels::default(), WINDOW_BITS);
        CompressedBody::new(CopiedRange::new(range, later), settings, Permits::new(1).take().unwrap()).unwrap()
    }

    #[test]
    fn compressed_files_decompress_to_the_original() {
        for coding in Coding::ALL {
            for length in [0, 1, 5000, 300_000] {
                let body = text(length);
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
}
