//! Python's marshal format (Python/marshal.c), written as `marshal.loads` reads it fastest, in every version since 3.4.

/// Writes values one after the other; a collection is its start, followed by its elements.
#[derive(Debug)]
pub(super) struct Marshal<'a>(pub(super) &'a mut Vec<u8>);

impl Marshal<'_> {
    /// Begins a dict: keys and values follow in turn, then [`Self::end_dict`].
    pub(super) fn dict(&mut self) {
        self.0.push(b'{');
    }

    /// Ends a dict.
    pub(super) fn end_dict(&mut self) {
        self.0.push(b'0');
    }

    /// Begins a tuple with this many values.
    pub(super) fn tuple(&mut self, length: usize) {
        match u8::try_from(length) {
            Ok(length) => self.0.extend_from_slice(&[b')', length]),
            Err(_) => self.sized(b'(', length),
        }
    }

    /// Begins a list with this many values.
    pub(super) fn list(&mut self, length: usize) {
        self.sized(b'[', length);
    }

    /// An interned str, which Python finds in dicts by its address. Only for our own constants: texts of clients would
    /// stay in memory forever (since Python 3.12).
    pub(super) fn name(&mut self, name: &[u8]) {
        match u8::try_from(name.len()) {
            Ok(length) if name.is_ascii() => {
                self.0.extend_from_slice(&[b'Z', length]);
                self.0.extend_from_slice(name);
            }
            _ => self.latin1(name),
        }
    }

    /// A str.
    pub(super) fn utf8(&mut self, text: &str) {
        if text.is_ascii() {
            self.ascii(text.as_bytes());
        } else {
            self.sized(b'u', text.len());
            self.0.extend_from_slice(text.as_bytes());
        }
    }

    /// A str with a character for each byte, as WSGI has them (PEP 3333, "A Note on String Types").
    pub(super) fn latin1(&mut self, bytes: &[u8]) {
        if bytes.is_ascii() {
            return self.ascii(bytes);
        }
        let beyond = bytes.iter().filter(|byte| !byte.is_ascii()).count();
        self.sized(b'u', bytes.len() + beyond);
        for byte in bytes {
            self.0.extend_from_slice(char::from(*byte).encode_utf8(&mut [0; 2]).as_bytes());
        }
    }

    fn ascii(&mut self, text: &[u8]) {
        match u8::try_from(text.len()) {
            Ok(length) => self.0.extend_from_slice(&[b'z', length]),
            Err(_) => self.sized(b'a', text.len()),
        }
        self.0.extend_from_slice(text);
    }

    /// A bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.sized(b's', bytes.len());
        self.0.extend_from_slice(bytes);
    }

    /// An int.
    pub(super) fn int(&mut self, number: u64) {
        if let Ok(number) = i32::try_from(number) {
            self.0.push(b'i');
            self.0.extend_from_slice(&number.to_le_bytes());
            return;
        }
        let digits = (64 - number.leading_zeros()).div_ceil(DIGIT);
        self.sized(b'l', digits as usize);
        for place in 0..digits {
            let digit = (number >> (place * DIGIT)) as u16 & ((1 << DIGIT) - 1);
            self.0.extend_from_slice(&digit.to_le_bytes());
        }
    }

    /// True or False.
    #[cfg(test)]
    pub(super) fn bool(&mut self, value: bool) {
        self.0.push(if value { b'T' } else { b'F' });
    }

    /// None.
    pub(super) fn none(&mut self) {
        self.0.push(b'N');
    }

    /// A type and a length. All values are shorter than a packet.
    fn sized(&mut self, kind: u8, length: usize) {
        self.0.push(kind);
        self.0.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
}

/// Bits of a long int's digit.
const DIGIT: u32 = 15;

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };

    use super::Marshal;

    /// The repr of the value that Python's own `marshal.loads` reads.
    fn loaded(bytes: &[u8]) -> String {
        let code = "import marshal, sys; print(ascii(marshal.loads(sys.stdin.buffer.read())))";
        let mut command = Command::new("/usr/bin/python3");
        let mut python =
            command.args(["-c", code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts");
        python.stdin.take().expect("a pipe").write_all(bytes).expect("it reads");
        let output = python.wait_with_output().expect("it ends");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    #[test]
    fn python_reads_marshalled_values() {
        serow_requirements::requires!("program:/usr/bin/python3");
        let long = "x".repeat(300);
        let mut bytes = Vec::new();
        let mut marshal = Marshal(&mut bytes);
        marshal.dict();
        marshal.name(b"name");
        marshal.utf8("text");
        marshal.name(b"Schl\xfcssel");
        marshal.utf8("grün 🌱");
        marshal.utf8(&long);
        marshal.name(long.as_bytes());
        marshal.utf8("latin1");
        marshal.latin1(b"gr\xc3\xbcn\0\xff");
        marshal.utf8("ascii");
        marshal.latin1(b"a\0b");
        marshal.utf8("values");
        marshal.list(6);
        marshal.bool(true);
        marshal.bool(false);
        marshal.none();
        marshal.bytes(b"\0\xff");
        marshal.tuple(0);
        marshal.tuple(300);
        (0..300).for_each(|_| marshal.none());
        marshal.utf8("ints");
        let ints = [0, 1, 255, 65_535, i32::MAX as u64, i32::MAX as u64 + 1, u64::from(u32::MAX), 1 << 45, u64::MAX];
        marshal.tuple(ints.len());
        ints.into_iter().for_each(|int| marshal.int(int));
        marshal.end_dict();
        bytes.extend_from_slice(b"what stands behind it is not looked at");
        let nones = vec!["None"; 300].join(", ");
        let expected = format!(
            r"{{'name': 'text', 'Schl\xfcssel': 'gr\xfcn \U0001f331', '{long}': '{long}', 'latin1': 'gr\xc3\xbcn\x00\xff', 'ascii': 'a\x00b', 'values': [True, False, None, b'\x00\xff', (), ({nones})], 'ints': {}}}",
            format!("{ints:?}").replace('[', "(").replace(']', ")")
        );
        assert_eq!(loaded(&bytes), expected);
    }
}
