//! Blocks of Lua, as in `content_by_lua_block { … }`: their braces count only outside of strings and comments of Lua.

/// The number of bytes up to and with the brace that closes the block whose opening brace stands before the text.
pub(super) fn block_length(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (1, 0);
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'"' | b'\'' => string_length(&text[at..], *byte)?,
            b'-' if text[at..].starts_with(b"--") => comment_length(&text[at..])?,
            b'[' => match long_bracket_length(&text[at..]) {
                Bracket::Closed(length) => length,
                Bracket::None => 1,
                Bracket::Open => return None,
            },
            b'{' => {
                depth += 1;
                1
            }
            b'}' => {
                depth -= 1;
                1
            }
            _ => 1,
        };
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn string_length(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            byte if *byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn comment_length(text: &[u8]) -> Option<usize> {
    match long_bracket_length(&text[2..]) {
        Bracket::Closed(length) => Some(2 + length),
        Bracket::Open => None,
        Bracket::None => Some(text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1)),
    }
}

/// A text in long brackets: `[[…]]`, `[==[…]==]`.
enum Bracket {
    /// There is none here.
    None,
    /// It is not closed.
    Open,
    /// Its length with its brackets.
    Closed(usize),
}

fn long_bracket_length(text: &[u8]) -> Bracket {
    let Some(level) = text.get(1..).map(|rest| rest.iter().take_while(|byte| **byte == b'=').count()) else {
        return Bracket::None;
    };
    if text.first() != Some(&b'[') || text.get(1 + level) != Some(&b'[') {
        return Bracket::None;
    }
    let mut closing = vec![b'='; level + 2];
    closing[0] = b']';
    closing[level + 1] = b']';
    let body = 2 + level;
    match text[body..].windows(closing.len()).position(|window| window == closing) {
        Some(position) => Bracket::Closed(body + position + closing.len()),
        None => Bracket::Open,
    }
}
