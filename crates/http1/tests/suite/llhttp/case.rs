//! The format of llhttp's cases: markdown with an input, and the log of the callbacks that llhttp makes of it.

/// One case.
pub(crate) struct Case {
    /// File and heading.
    pub(crate) name: String,
    /// `request`, `response`, `url`, or one of these with a mode behind it.
    pub(crate) kind: String,
    pub(crate) skips_body: bool,
    pub(crate) input: Vec<u8>,
    pub(crate) log: Vec<Entry>,
}

/// A line of the log.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) offset: usize,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// Bytes of a part, and how many.
    Span(String, usize),
    Error(u32),
    /// The text behind `headers complete`.
    HeadersComplete(String),
    Finish,
    Other(String),
}

impl Case {
    /// A part that the log quotes stands where it says: proof that the input was read as llhttp reads it.
    fn check(&self, line: &str) {
        let Some((_, quoted)) = line.split_once("]=\"") else { return };
        let quoted = quoted.trim_end_matches('"');
        let What::Span(_, length) = entry(line).what else { return };
        let start = entry(line).offset;
        let found = self
            .input
            .get(start..start + length)
            .unwrap_or_else(|| panic!("{}: {line}: {}", self.name, self.input.escape_ascii()));
        let found = String::from_utf8_lossy(found);
        let plain = !quoted.contains('\\') && quoted.is_ascii();
        assert!(!plain || found.trim_end_matches('"') == quoted, "{}: {found:?} at {line}", self.name);
    }
}

/// The cases of a file.
pub(crate) fn parse(file: &str, text: &str) -> Vec<Case> {
    let (mut cases, mut heading, mut meta) = (Vec::<Case>::new(), String::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            heading = line.trim_start_matches('#').trim().to_owned();
            meta.clear();
        } else if line.starts_with("<!-- meta=") {
            line.clone_into(&mut meta);
        } else if let Some(fence) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            match fence {
                "log" => {
                    let case = cases.last_mut().expect("an input comes first");
                    case.log = block.iter().map(|line| entry(line)).collect();
                    block.iter().for_each(|line| case.check(line));
                }
                "http" | "url" => {
                    let same = cases.iter().filter(|case| case.name.starts_with(&format!("{file}: {heading}"))).count();
                    let number = if same == 0 { String::new() } else { format!(" #{}", same + 1) };
                    cases.push(Case {
                        name: format!("{file}: {heading}{number}"),
                        kind: if fence == "url" { "url".into() } else { kind(&meta) },
                        skips_body: meta.contains("skipBody"),
                        input: input(&block, fence),
                        log: Vec::new(),
                    });
                }
                other => panic!("{file}: a block of {other}"),
            }
        }
    }
    cases
}

/// The `"type": "…"` of the meta line.
fn kind(meta: &str) -> String {
    let rest = meta.split("\"type\"").nth(1).unwrap_or_default();
    rest.split('"').nth(1).unwrap_or_default().into()
}

/// A line ends in CR LF, unless in a backslash; `\r`, `\n`, `\t`, `\f` and `\x7f` stand for these bytes.
fn input(block: &[&str], fence: &str) -> Vec<u8> {
    let mut text = String::new();
    for (number, line) in block.iter().enumerate() {
        let last = number + 1 == block.len();
        match line.strip_suffix('\\') {
            Some(line) if !last => text.push_str(line),
            _ if last || fence == "url" => text.push_str(line),
            _ => {
                text.push_str(line);
                text.push_str("\r\n");
            }
        }
    }
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let (byte, behind) = match (first, behind) {
            (b'\\', [b'r', behind @ ..]) => (b'\r', behind),
            (b'\\', [b'n', behind @ ..]) => (b'\n', behind),
            (b'\\', [b't', behind @ ..]) => (b'\t', behind),
            (b'\\', [b'f', behind @ ..]) => (b'\x0c', behind),
            (b'\\', [b'x', high, low, behind @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).expect("digits are text");
                (u8::from_str_radix(digits, 16).expect("two digits"), behind)
            }
            _ => (*first, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    bytes
}

fn entry(line: &str) -> Entry {
    let (offset, rest) = line.strip_prefix("off=").and_then(|line| line.split_once(' ')).expect("off=N first");
    let number = |text: &str, name: &str| -> Option<u32> {
        text.split(' ').find_map(|word| word.strip_prefix(name)).and_then(|number| number.parse().ok())
    };
    let what = if let Some(length) = number(rest, "len=").filter(|_| rest.contains("span[")) {
        let part = rest.split(['[', ']']).nth(1).expect("a name in brackets");
        What::Span(part.into(), length as usize)
    } else if rest.starts_with("error ") {
        What::Error(number(rest, "code=").expect("a code"))
    } else if let Some(rest) = rest.strip_prefix("headers complete ") {
        What::HeadersComplete(rest.into())
    } else if rest.starts_with("finish=") {
        What::Finish
    } else {
        What::Other(rest.into())
    };
    Entry { offset: offset.parse().unwrap_or_default(), what }
}
