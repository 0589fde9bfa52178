//! Durations, sizes and rates, each as its directives read them.

/// Milliseconds of a duration of `proxy_read_timeout` and the like: `60`, `500ms`, `1h30m`.
#[must_use]
pub fn milliseconds(text: &str) -> Option<u64> {
    duration(
        text,
        &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)],
        1000,
    )
}

/// Seconds of a duration of `expires` and `proxy_cache_valid`, which has months and years.
#[must_use]
pub fn seconds(text: &str) -> Option<u64> {
    const UNITS: &[(&str, u64)] =
        &[("y", 31_536_000), ("M", 2_592_000), ("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
    duration(text, UNITS, 1)
}

fn duration(text: &str, units: &[(&str, u64)], plain: u64) -> Option<u64> {
    let mut total = 0_u64;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].trim_start();
        let end = unit.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(unit.len());
        let factor = match &unit[..end] {
            "" => plain,
            name => units.iter().find(|(unit, _)| *unit == name)?.1,
        };
        total = total.checked_add(number.checked_mul(factor)?)?;
        rest = unit[end..].trim_start();
    }
    Some(total)
}

/// A duration as Serow's settings have it, in its largest whole unit.
#[must_use]
pub fn written_duration(milliseconds: u64) -> String {
    match milliseconds {
        0 => "0s".to_owned(),
        value if value % 86_400_000 == 0 => format!("{}d", value / 86_400_000),
        value if value % 3_600_000 == 0 => format!("{}h", value / 3_600_000),
        value if value % 60_000 == 0 => format!("{}m", value / 60_000),
        value if value % 1000 == 0 => format!("{}s", value / 1000),
        value => format!("{value}ms"),
    }
}

/// Bytes of a size: `500`, `64k`, `10m`, `1g`.
#[must_use]
pub fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match &text[digits..] {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// A size as Serow's settings have it.
#[must_use]
pub fn written_size(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        value if value % (1 << 30) == 0 => format!("{}G", value >> 30),
        value if value % (1 << 20) == 0 => format!("{}M", value >> 20),
        value if value % (1 << 10) == 0 => format!("{}k", value >> 10),
        value => value.to_string(),
    }
}
