//! A parser of dictionaries of structured fields (RFC 9651) without allocation: an error anywhere makes the whole
//! dictionary invalid, so it checks every type, but passes on only the types that a priority can have.

/// The value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// RFC 9651 §3.3.1.
    Integer(i64),
    /// RFC 9651 §3.3.6.
    Boolean(bool),
    /// Anything else.
    Other,
}

/// The text is not a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Calls `member` with the key and value of each member, in order; before an error, with those in front of it.
pub(super) fn read(text: &[u8], mut member: impl FnMut(&[u8], Value)) -> Result<(), Malformed> {
    let mut reader = Reader { rest: text };
    reader.skip(b" ");
    while !reader.rest.is_empty() {
        let key = reader.key()?;
        let value = reader.member_value()?;
        member(key, value);
        reader.skip(b" \t");
        if reader.rest.is_empty() {
            break;
        }
        reader.expect(b',')?;
        reader.skip(b" \t");
        if reader.rest.is_empty() {
            return Err(Malformed);
        }
    }
    Ok(())
}

/// The rest of the text.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<u8, Malformed> {
        let (&first, rest) = self.rest.split_first().ok_or(Malformed)?;
        self.rest = rest;
        Ok(first)
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Whether this is next; then it is taken.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.take(byte) { Ok(()) } else { Err(Malformed) }
    }

    fn skip(&mut self, these: &[u8]) {
        self.take_while(|byte| these.contains(&byte));
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self.rest.iter().position(|&byte| !accept(byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// RFC 9651 §4.2.3.3.
    fn key(&mut self) -> Result<&'a [u8], Malformed> {
        match self.peek() {
            Some(b'a'..=b'z' | b'*') => {
                Ok(self.take_while(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*')))
            }
            _ => Err(Malformed),
        }
    }

    /// Reads the rest of a member, behind its key, and returns its value (RFC 9651 §4.2.2).
    fn member_value(&mut self) -> Result<Value, Malformed> {
        let value = match self.take(b'=') {
            false => Value::Boolean(true),
            true if self.take(b'(') => self.inner_list()?,
            true => self.bare_item()?,
        };
        self.parameters()?;
        Ok(value)
    }

    /// RFC 9651 §4.2.1.2, behind the parenthesis.
    fn inner_list(&mut self) -> Result<Value, Malformed> {
        loop {
            self.skip(b" ");
            if self.take(b')') {
                return Ok(Value::Other);
            }
            self.bare_item()?;
            self.parameters()?;
            if !matches!(self.peek(), Some(b' ' | b')')) {
                return Err(Malformed);
            }
        }
    }

    /// RFC 9651 §4.2.3.2.
    fn parameters(&mut self) -> Result<(), Malformed> {
        while self.take(b';') {
            self.skip(b" ");
            self.key()?;
            if self.take(b'=') {
                self.bare_item()?;
            }
        }
        Ok(())
    }

    /// RFC 9651 §4.2.3.1.
    fn bare_item(&mut self) -> Result<Value, Malformed> {
        match self.peek().ok_or(Malformed)? {
            b'-' | b'0'..=b'9' => return self.number(),
            b'a'..=b'z' | b'A'..=b'Z' | b'*' => {
                self.take_while(|byte| crate::is_token_byte(byte) || matches!(byte, b':' | b'/'));
            }
            first => {
                self.rest = &self.rest[1..];
                match first {
                    b'?' => return self.boolean(),
                    b'"' => self.string()?,
                    b':' => self.byte_sequence()?,
                    b'@' => self.date()?,
                    b'%' => self.display_string()?,
                    _ => return Err(Malformed),
                }
            }
        }
        Ok(Value::Other)
    }

    /// An integer of up to 15 digits, or a decimal of up to 12 before and 3 behind the point (RFC 9651 §4.2.4).
    fn number(&mut self) -> Result<Value, Malformed> {
        let negative = self.take(b'-');
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        if self.take(b'.') {
            let fraction = self.take_while(|byte| byte.is_ascii_digit());
            let good = (1..=12).contains(&digits.len()) && (1..=3).contains(&fraction.len());
            return if good { Ok(Value::Other) } else { Err(Malformed) };
        }
        if !(1..=15).contains(&digits.len()) {
            return Err(Malformed);
        }
        let magnitude = digits.iter().fold(0, |number, &digit| number * 10 + i64::from(digit - b'0'));
        Ok(Value::Integer(if negative { -magnitude } else { magnitude }))
    }

    /// RFC 9651 §4.2.8, behind its mark.
    fn boolean(&mut self) -> Result<Value, Malformed> {
        match self.next()? {
            b'0' => Ok(Value::Boolean(false)),
            b'1' => Ok(Value::Boolean(true)),
            _ => Err(Malformed),
        }
    }

    /// RFC 9651 §4.2.5, behind the first quote.
    fn string(&mut self) -> Result<(), Malformed> {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' if matches!(self.next()?, b'"' | b'\\') => {}
                b'\\' => return Err(Malformed),
                b' '..=b'~' => {}
                _ => return Err(Malformed),
            }
        }
    }

    /// RFC 9651 §4.2.7, behind the first colon. Padding may be missing, and what a last character has too many bits of
    /// is passed over; both are allowed there.
    fn byte_sequence(&mut self) -> Result<(), Malformed> {
        let data = self.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
        let padding = self.take_while(|byte| byte == b'=');
        self.expect(b':')?;
        let good = match data.len() % 4 {
            0 => padding.is_empty(),
            1 => false,
            remainder => padding.len() <= 4 - remainder,
        };
        if good { Ok(()) } else { Err(Malformed) }
    }

    /// RFC 9651 §4.2.9, behind its mark.
    fn date(&mut self) -> Result<(), Malformed> {
        match self.number()? {
            Value::Integer(_) => Ok(()),
            _ => Err(Malformed),
        }
    }

    /// RFC 9651 §4.2.10, behind the percent sign: what it stands for must be UTF-8.
    fn display_string(&mut self) -> Result<(), Malformed> {
        self.expect(b'"')?;
        // A character that is not complete yet.
        let mut character = [0; 4];
        let mut length = 0;
        loop {
            let byte = match self.next()? {
                b'"' if length == 0 => return Ok(()),
                b'%' => self.hexadecimal()? << 4 | self.hexadecimal()?,
                byte @ (b' ' | b'!' | b'#'..=b'~') => byte,
                _ => return Err(Malformed),
            };
            character[length] = byte;
            length += 1;
            match core::str::from_utf8(&character[..length]) {
                Ok(_) => length = 0,
                // One that may become right has three bytes at most.
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(Malformed),
            }
        }
    }

    /// RFC 9651 §4.2.10 allows lower case only.
    fn hexadecimal(&mut self) -> Result<u8, Malformed> {
        match self.next()? {
            digit @ b'0'..=b'9' => Ok(digit - b'0'),
            letter @ b'a'..=b'f' => Ok(letter - b'a' + 10),
            _ => Err(Malformed),
        }
    }
}
