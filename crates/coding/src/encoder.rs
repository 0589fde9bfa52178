//! Compressing a body piece by piece.

use std::io;

use crate::{Coding, Levels, brotli::Brotli, gzip::Gzip, idle_encoders, zstd::Zstd};

/// The settings of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncoderSettings {
    coding: Coding,
    level: u32,
    window_bits: u32,
}

impl EncoderSettings {
    /// For this coding, at its level. `window_bits` is the logarithm of how many bytes brotli and Zstandard look back,
    /// 10 to 22: memory for each client that reads slowly, so an attacker's lever. Gzip looks back 32 KiB always.
    #[must_use]
    pub fn new(coding: Coding, levels: &Levels, window_bits: u32) -> Self {
        Self { coding, level: levels.of(coding), window_bits: window_bits.clamp(10, 22) }
    }

    /// The coding.
    #[must_use]
    pub fn coding(self) -> Coding {
        self.coding
    }
}

/// An encoder of one body. Output is appended to a buffer of the caller; while more input comes, most of it stays inside
/// until [`Encoder::flush`].
#[derive(Debug)]
pub struct Encoder {
    settings: EncoderSettings,
    state: CodingEncoder,
}

/// The encoder of a coding.
#[derive(Debug)]
pub(crate) enum CodingEncoder {
    Brotli(Brotli),
    Zstd(Zstd),
    Gzip(Gzip),
}

impl Encoder {
    /// An encoder; one that is idle, if there is one.
    ///
    /// # Errors
    ///
    /// Where there is no memory for it.
    pub fn new(settings: EncoderSettings) -> io::Result<Self> {
        if let Some(state) = idle_encoders::take(settings) {
            return Ok(Self { settings, state });
        }
        let EncoderSettings { coding, level, window_bits } = settings;
        let state = match coding {
            Coding::Brotli => CodingEncoder::Brotli(Brotli::new(level, window_bits)),
            Coding::Zstd => CodingEncoder::Zstd(Zstd::new(level, window_bits)?),
            Coding::Gzip => CodingEncoder::Gzip(Gzip::new(level)),
        };
        Ok(Self { settings, state })
    }

    /// Compresses a piece. It takes as long as the piece is large: callers with an event loop give some kilobytes at a
    /// time.
    ///
    /// # Errors
    ///
    /// Where there is no memory.
    pub fn write(&mut self, piece: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.state {
            CodingEncoder::Brotli(encoder) => encoder.write(piece, output),
            CodingEncoder::Zstd(encoder) => encoder.write(piece, output),
            CodingEncoder::Gzip(encoder) => encoder.write(piece, output),
        }
    }

    /// Puts out all that was written, so that a client can decode it now. Costs a few bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub fn flush(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.state {
            CodingEncoder::Brotli(encoder) => encoder.flush(output),
            CodingEncoder::Zstd(encoder) => encoder.flush(output),
            CodingEncoder::Gzip(encoder) => encoder.flush(output),
        }
    }

    /// Ends the body.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub fn finish(self, output: &mut Vec<u8>) -> io::Result<()> {
        let Self { settings, state } = self;
        match state {
            // It cannot begin again.
            CodingEncoder::Brotli(encoder) => encoder.finish(output)?,
            CodingEncoder::Zstd(mut encoder) => {
                encoder.finish(output)?;
                encoder.reset()?;
                idle_encoders::keep(settings, CodingEncoder::Zstd(encoder));
            }
            CodingEncoder::Gzip(mut encoder) => {
                encoder.finish(output)?;
                encoder.reset();
                idle_encoders::keep(settings, CodingEncoder::Gzip(encoder));
            }
        }
        Ok(())
    }
}

/// Compresses a body that is in memory.
///
/// # Errors
///
/// Where there is no memory.
pub fn compressed(settings: EncoderSettings, body: &[u8]) -> io::Result<Vec<u8>> {
    // Text shrinks to a third and less.
    let mut output = Vec::with_capacity(body.len() / 3 + ROOM);
    let mut encoder = Encoder::new(settings)?;
    encoder.write(body, &mut output)?;
    encoder.finish(&mut output)?;
    Ok(output)
}

/// How much room there is at least when an encoder runs.
pub(crate) const ROOM: usize = 1024;

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn settings(coding: Coding) -> EncoderSettings {
        EncoderSettings::new(coding, &Levels::default(), 18)
    }

    fn decompressed(coding: Coding, body: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        match coding {
            Coding::Brotli => drop(::brotli::Decompressor::new(body, 4096).read_to_end(&mut output).unwrap()),
            Coding::Zstd => output = ::zstd::stream::decode_all(body).unwrap(),
            Coding::Gzip => drop(flate2::read::MultiGzDecoder::new(body).read_to_end(&mut output).unwrap()),
        }
        output
    }

    /// Text that does not repeat, so that much comes out.
    fn text(length: usize) -> Vec<u8> {
        let mut number = 1_u32;
        let bytes = std::iter::repeat_with(|| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"0123456789abcdef"[(number >> 28) as usize]
        });
        bytes.take(length).collect()
    }

    #[test]
    fn compressed_bodies_decompress_to_the_original() {
        for coding in Coding::ALL {
            for length in [0, 1, 5000, 70_000, 300_000] {
                // Twice, since the second time the encoder is one that was used before.
                for _ in 0..2 {
                    let body = text(length);
                    let small = compressed(settings(coding), &body).unwrap();
                    assert_eq!(decompressed(coding, &small), body, "{coding:?} {length}");
                    assert!(length < 5000 || small.len() < length * 2 / 3, "{coding:?} {length} {}", small.len());
                }
            }
        }
    }

    #[test]
    fn every_level_compresses() {
        for coding in Coding::ALL {
            for level in 0..30 {
                let levels = Levels { brotli: level, zstd: level, gzip: level };
                let small = compressed(EncoderSettings::new(coding, &levels, 18), &text(5000)).unwrap();
                assert_eq!(decompressed(coding, &small), text(5000), "{coding:?} {level}");
            }
        }
    }

    /// The part that a client can decode of a body that has not ended.
    fn decoded_so_far(coding: Coding, body: &[u8]) -> Vec<u8> {
        let mut output = vec![0; 1 << 20];
        let mut length = 0;
        let mut reader: Box<dyn Read + '_> = match coding {
            Coding::Brotli => Box::new(::brotli::Decompressor::new(body, 4096)),
            Coding::Zstd => Box::new(::zstd::stream::read::Decoder::new(body).unwrap()),
            Coding::Gzip => Box::new(flate2::read::GzDecoder::new(body)),
        };
        while let Ok(read @ 1..) = reader.read(&mut output[length..]) {
            length += read;
        }
        output.truncate(length);
        output
    }

    #[test]
    fn a_flush_puts_out_all_that_was_written() {
        for coding in Coding::ALL {
            for size in [1, 10, 1000, 100_000] {
                let (body, mut output) = (text(size * 5), Vec::new());
                let mut encoder = Encoder::new(settings(coding)).unwrap();
                for (number, piece) in body.chunks(size).enumerate() {
                    encoder.write(piece, &mut output).unwrap();
                    encoder.flush(&mut output).unwrap();
                    let expected = &body[..(number + 1) * size];
                    assert_eq!(decoded_so_far(coding, &output), expected, "{coding:?} {size} {number}");
                }
                encoder.finish(&mut output).unwrap();
                assert_eq!(decompressed(coding, &output), body, "{coding:?} {size}");
            }
        }
    }

    #[test]
    fn an_encoder_that_was_dropped_leaves_nothing_to_the_next() {
        for coding in Coding::ALL {
            let mut output = Vec::new();
            let mut encoder = Encoder::new(settings(coding)).unwrap();
            encoder.write(&text(100_000), &mut output).unwrap();
            drop(encoder);
            let small = compressed(settings(coding), b"another").unwrap();
            assert_eq!(decompressed(coding, &small), b"another", "{coding:?}");
        }
    }
}
