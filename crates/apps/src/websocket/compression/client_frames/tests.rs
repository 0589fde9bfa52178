use flate2::{Compress, Compression, FlushCompress};

use super::*;

const LIMIT: usize = 100_000;

fn frames() -> ClientFrames {
    ClientFrames::new(LIMIT)
}

/// Bytes that do not repeat.
fn noise(place: u32) -> u8 {
    (place.wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(2_246_822_519) >> 24) as u8
}

/// A masked frame.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        short @ 0..126 => frame.push(0x80 | short as u8),
        medium @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    let mask = [7, 1, 255, 9];
    frame.extend_from_slice(&mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// A message as a client compresses it.
fn compressed(content: &[u8]) -> Vec<u8> {
    let mut output = Vec::with_capacity(2 * content.len() + 1000);
    Compress::new(Compression::best(), false).compress_vec(content, &mut output, FlushCompress::Sync).unwrap();
    assert!(output.ends_with(&TAIL));
    output.truncate(output.len() - TAIL.len());
    output
}

/// Reads as the WebSocket behind this does: returns the opcode and content of each message or control frame.
fn read(rewritten: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (mut found, mut message, mut rest): (Vec<_>, Option<(u8, Vec<u8>)>, _) = (Vec::new(), None, rewritten);
    while !rest.is_empty() {
        let mut bytes = [0; MAX_HEADER];
        let known = rest.len().min(MAX_HEADER);
        bytes[..known].copy_from_slice(&rest[..known]);
        let header = header_length(&bytes, known).unwrap();
        let mask = mask(&rest[..header]).unwrap();
        let (first, length) = (rest[0], payload_length(&rest[..header]) as usize);
        let payload: Vec<_> =
            rest[header..header + length].iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        rest = &rest[header + length..];
        match first & OPCODE {
            CONTINUATION => message.as_mut().unwrap().1.extend(payload),
            8.. => {
                found.push((first, payload));
                continue;
            }
            opcode => assert!(message.replace((opcode | first & RESERVED, payload)).is_none()),
        }
        if first & FINAL != 0 {
            found.push(message.take().unwrap());
        }
    }
    assert!(message.is_none());
    found
}

/// Rewrites the input in pieces of this size.
fn rewritten(frames: &mut ClientFrames, input: &[u8], size: usize) -> Result<Vec<u8>, InflateError> {
    let mut output = Vec::new();
    for piece in input.chunks(size) {
        let mut rest = piece;
        while !rest.is_empty() || frames.has_more() {
            let mut some = Vec::new();
            let read = frames.rewrite(rest, &mut some)?;
            assert!(some.len() <= ENOUGH + PIECE + 2 * MAX_HEADER, "{}", some.len());
            rest = &rest[read..];
            output.extend(some);
        }
    }
    Ok(output)
}

#[test]
fn messages_are_decompressed_however_they_are_cut() {
    let long: Vec<u8> = (0..90_000).map(noise).collect();
    let zeros = vec![0; 90_000];
    let mut input = Vec::new();
    input.extend(frame(0xc1, &compressed(b"Hello")));
    input.extend(frame(0xc1, &compressed(b"Hello")));
    input.extend(frame(0x81, b"not compressed"));
    input.extend(frame(0xc2, &compressed(&zeros)));
    // In four frames, with others between them.
    let message = compressed(&long);
    input.extend(frame(0x42, &message[..1]));
    input.extend(frame(0x89, b"ping"));
    input.extend(frame(0x00, &[]));
    input.extend(frame(0x00, &message[1..5000]));
    input.extend(frame(0x8a, b""));
    input.extend(frame(0x80, &message[5000..]));
    input.extend(frame(0xc1, &compressed(b"")));
    // The last frame is empty.
    input.extend(frame(0x41, &compressed(b"Hello")));
    input.extend(frame(0x80, &[]));
    let expected = [
        (1, b"Hello".to_vec()),
        (1, b"Hello".to_vec()),
        (1, b"not compressed".to_vec()),
        (2, zeros),
        (0x89, b"ping".to_vec()),
        (0x8a, Vec::new()),
        (2, long),
        (1, Vec::new()),
        (1, b"Hello".to_vec()),
    ];
    for size in [1, 2, 7, 1000, 8192, input.len()] {
        let output = rewritten(&mut frames(), &input, size).unwrap();
        assert!(read(&output) == expected, "pieces of {size} bytes");
    }
}

#[test]
fn examples_of_the_rfc() {
    // RFC 7692 §7.2.3: one block, in two fragments, without compression, the last block, two blocks.
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let cases: [&[u8]; 5] = [
        &frame(0xc1, &hello),
        &[frame(0x41, &hello[..3]), frame(0x80, &hello[3..])].concat(),
        &frame(0xc1, &[0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00]),
        &frame(0xc1, &[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00]),
        &frame(0xc1, &[0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00]),
    ];
    for input in cases {
        let output = rewritten(&mut frames(), input, 3).unwrap();
        assert_eq!(read(&output), [(1, b"Hello".to_vec())], "{input:x?}");
    }
}

#[test]
fn messages_leave_no_memory_and_may_not_look_back() {
    let mut frames = frames();
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    rewritten(&mut frames, &frame(0xc1, &hello), 100).unwrap();
    assert!(frames.decompress.is_none());
    let second = frame(0xc1, &[0xf2, 0x00, 0x11, 0x00, 0x00]);
    assert_eq!(rewritten(&mut frames, &second, 100), Err(InflateError::Invalid));
}

#[test]
fn data_that_is_not_deflate_is_invalid() {
    for payload in [&[0xff; 10][..], &[0x06, 0x01], b"Hello, this is not compressed"] {
        assert_eq!(rewritten(&mut frames(), &frame(0xc1, payload), 5), Err(InflateError::Invalid), "{payload:x?}");
    }
}

#[test]
fn invalid_frames_pass_to_the_websocket_as_they_are() {
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    for (name, invalid) in [
        ("a compressed ping", frame(0xc9, b"x")),
        ("a compressed close", frame(0xc8, b"")),
        ("a compressed rest of nothing", frame(0xc0, &hello)),
        ("another reserved bit", frame(0xe1, &hello)),
        ("a compressed unknown opcode", frame(0xc3, &hello)),
        ("one that is not masked", vec![0xc1, 2, 3, 0]),
    ] {
        assert_eq!(rewritten(&mut frames(), &invalid, 1).unwrap(), invalid, "{name}");
    }
    for (name, invalid) in [
        ("a continuation that says it is compressed", frame(0xc0, &hello[3..])),
        ("a message within another", frame(0xc1, &hello)),
        ("a message within another, not compressed", frame(0x81, b"x")),
    ] {
        let input = [frame(0x41, &hello[..3]), invalid.clone()].concat();
        let output = rewritten(&mut frames(), &input, 100).unwrap();
        assert!(output.starts_with(&[0x01, 0x80]) && output.ends_with(&invalid), "{name}: {output:x?}");
    }
}

#[test]
fn output_is_bounded_and_comes_piece_by_piece() {
    let mut bomb = Compress::new(Compression::best(), false);
    let mut compressed = Vec::with_capacity(200_000);
    bomb.compress_vec(&vec![0; 90_000_000], &mut compressed, FlushCompress::Sync).unwrap();
    assert!(compressed.len() < LIMIT, "{}", compressed.len());
    let input = frame(0xc2, &compressed);
    let (mut frames, mut output) = (frames(), Vec::new());
    let read = frames.rewrite(&input, &mut output).unwrap();
    assert!(read < 200 && output.len() < 2 * ENOUGH, "{read} {}", output.len());
}

#[test]
fn compressed_messages_are_limited_even_without_content() {
    let mut frames = frames();
    assert_eq!(frames.rewrite(&frame(0xc2, &vec![0; LIMIT + 1])[..20], &mut Vec::new()), Err(InflateError::TooLong));
    // Empty blocks, in any number of frames.
    let blocks = [0x00, 0x00, 0x00, 0xff, 0xff].repeat(1000);
    let mut frames = self::frames();
    let mut outcome = rewritten(&mut frames, &frame(0x42, &blocks), 10_000);
    for _ in 0..LIMIT / blocks.len() {
        assert!(outcome.is_ok());
        outcome = rewritten(&mut frames, &frame(0x00, &blocks), 10_000);
    }
    assert_eq!(outcome, Err(InflateError::TooLong));
}

#[test]
fn damaged_input_ends_with_an_error_or_bounded_output() {
    let mut valid = Vec::new();
    valid.extend(frame(0xc1, &compressed(b"Hello, Hello, Hello")));
    valid.extend(frame(0x42, &compressed(&[7; 3000])));
    valid.extend(frame(0x89, b"ping"));
    valid.extend(frame(0x80, &[]));
    valid.extend(frame(0x82, &[1; 200]));
    let mut number = 0;
    let mut next = |limit: usize| {
        number += 1;
        usize::from(noise(number)) * 256 % limit + usize::from(noise(!number)) % limit
    };
    let mut failed = 0;
    for _ in 0..20_000 {
        let mut input = valid.clone();
        for _ in 0..=next(4) {
            let place = next(input.len()) % input.len();
            input[place] ^= 1 << (next(8) % 8);
        }
        let mut frames = frames();
        match rewritten(&mut frames, &input, 1 + next(64)) {
            // Compressed content may become a thousand times as long, and no longer.
            Ok(output) => assert!(output.len() < 2000 * input.len()),
            Err(_) => failed += 1,
        }
    }
    assert!((1000..19_000).contains(&failed), "{failed}");
}
