//! A line for people who watch a terminal: `GET /a.txt 200 1.2 kB 0.4 ms`.

use std::{io::Write, time::Duration};

use serow_message::{Served, StatusCode};

use super::escape;

/// Whether the status is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// By its class, with the sequences of ECMA-48 (`SGR`).
    On,
    /// Not.
    Off,
}

/// Appends the line of a request.
pub(super) fn write(served: &Served<'_>, colour: Colour, line: &mut Vec<u8>) {
    match served.request {
        Some(request) => {
            escape::word(request.method.as_str().as_bytes(), line);
            line.push(b' ');
            escape::word(request.target.as_str().as_bytes(), line);
        }
        None => line.extend_from_slice(b"invalid request"),
    }
    line.push(b' ');
    status(served.status, colour, line);
    line.push(b' ');
    size(served.body_bytes, line);
    line.push(b' ');
    duration(served.took, line);
    if !served.whole {
        line.extend_from_slice(b" (incomplete)");
    }
    line.push(b'\n');
}

fn status(status: StatusCode, colour: Colour, line: &mut Vec<u8>) {
    let sequence = match (colour, status.as_u16()) {
        (Colour::Off, _) => None,
        (Colour::On, 500..) => Some("31"),
        (Colour::On, 400..) => Some("33"),
        (Colour::On, 300..) => Some("36"),
        (Colour::On, _) => Some("32"),
    };
    // Writing to memory does not fail.
    let _ = match sequence {
        Some(sequence) => write!(line, "\x1b[{sequence}m{}\x1b[0m", status.as_str()),
        None => line.write_all(status.as_str().as_bytes()),
    };
}

/// Bytes in the largest unit of which there is one.
fn size(bytes: u64, line: &mut Vec<u8>) {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let _ = match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => write!(line, "{}.{} {name}", bytes / unit, bytes % unit / (unit / 10)),
        None => write!(line, "{bytes} B"),
    };
}

fn duration(took: Duration, line: &mut Vec<u8>) {
    let tenths = took.as_micros() / 100;
    let _ = match tenths {
        0..100 => write!(line, "{}.{} ms", tenths / 10, tenths % 10),
        100..10_000 => write!(line, "{} ms", tenths / 10),
        _ => write!(line, "{}.{} s", tenths / 10_000, tenths % 10_000 / 1_000),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::Example;

    fn line(served: &Served<'_>, colour: Colour) -> String {
        let mut line = Vec::new();
        write(served, colour, &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn requests_become_short_lines() {
        let mut example = Example::unix();
        example.target("/a?b=\"\u{e9}");
        let served = example.served();
        let escaped = "GET /a?b=\\x22\\xC3\\xA9";
        assert_eq!(line(&served, Colour::Off), format!("{escaped} 200 13 B 1.0 s\n"));
        let colours = [(204, 32), (308, 36), (404, 33), (502, 31)];
        for (status, colour) in colours {
            let served = Served { status: StatusCode::from_u16(status).unwrap(), ..served };
            let expected = format!("{escaped} \x1b[{colour}m{status}\x1b[0m 13 B 1.0 s\n");
            assert_eq!(line(&served, Colour::On), expected);
        }
        let cut = Served { request: None, whole: false, status: StatusCode::BAD_REQUEST, ..served };
        assert_eq!(line(&cut, Colour::Off), "invalid request 400 13 B 1.0 s (incomplete)\n");
    }

    #[test]
    fn sizes_and_durations_are_rounded_down() {
        let example = Example::unix();
        for (body_bytes, expected) in [
            (0, " 0 B "),
            (999, " 999 B "),
            (1_000, " 1.0 kB "),
            (1_990, " 1.9 kB "),
            (999_999, " 999.9 kB "),
            (5_250_000, " 5.2 MB "),
            (u64::MAX, " 18446744073.7 GB "),
        ] {
            let text = line(&Served { body_bytes, ..example.served() }, Colour::Off);
            assert!(text.contains(expected), "{text}");
        }
        for (micros, expected) in
            [(0, " 0.0 ms\n"), (490, " 0.4 ms\n"), (9_999, " 9.9 ms\n"), (10_000, " 10 ms\n"), (1_550_000, " 1.5 s\n")]
        {
            let took = Duration::from_micros(micros);
            let text = line(&Served { took, ..example.served() }, Colour::Off);
            assert!(text.ends_with(expected), "{text}");
        }
    }
}
