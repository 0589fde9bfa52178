//! How values are escaped in the text around them.

/// The format of a text with variables, which decides how their values are escaped. The text itself stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As they are.
    #[default]
    Raw,
    /// A header field: without control characters, so that no value begins another line (RFC 9110 §5.5).
    Field,
    /// HTML or XML: without characters that would begin or end an element, an attribute or an entity.
    Html,
    /// Within the quotes of a string in JSON or JavaScript.
    Json,
}

impl Form {
    /// The form of a body with this media type.
    #[must_use]
    pub fn of_media_type(media_type: &str) -> Self {
        let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name {
            name if name.contains("html") || name.contains("xml") => Self::Html,
            name if name.contains("json") || name.contains("javascript") || name.contains("ecmascript") => Self::Json,
            _ => Self::Raw,
        }
    }

    /// Escapes what was appended from this place on.
    pub(crate) fn escape(self, start: usize, output: &mut Vec<u8>) {
        let must_be_escaped = |byte: &u8| match self {
            Self::Raw => false,
            Self::Field => matches!(byte, ..0x20 | 0x7f),
            Self::Html => matches!(byte, b'<' | b'>' | b'&' | b'"' | b'\'' | 0),
            // Also what would end a script, and what is a line's end to JavaScript alone (U+2028).
            Self::Json => matches!(byte, ..0x20 | b'"' | b'\\' | b'<' | b'>' | b'&' | b'\'' | 0x7f..),
        };
        if !output[start..].iter().any(must_be_escaped) {
            return;
        }
        let value = output.split_off(start);
        match self {
            Self::Raw => {}
            Self::Field => output.extend(value.iter().filter(|byte| !must_be_escaped(byte))),
            Self::Html => append_html(&value, output),
            Self::Json => append_json(&value, output),
        }
    }
}

fn append_html(value: &[u8], output: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'<' => output.extend_from_slice(b"&lt;"),
            b'>' => output.extend_from_slice(b"&gt;"),
            b'&' => output.extend_from_slice(b"&amp;"),
            b'"' => output.extend_from_slice(b"&quot;"),
            b'\'' => output.extend_from_slice(b"&#39;"),
            0 => {}
            byte => output.push(byte),
        }
    }
}

fn append_json(value: &[u8], output: &mut Vec<u8>) {
    let mut units = [0; 2];
    for character in String::from_utf8_lossy(value).chars() {
        match character {
            ' '..='~' if !matches!(character, '"' | '\\' | '<' | '>' | '&' | '\'') => output.push(character as u8),
            _ => {
                for unit in character.encode_utf16(&mut units) {
                    output.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
}
