//! Which media types are compressed.

use serow_message::Pattern;

/// Media types whose content is compressed. By default those of text, and of formats that are text inside or not packed:
/// what the lists of nginx and Caddy have in common. Pictures, sound, film, archives and woff2 are packed already.
#[derive(Clone, Debug, Default)]
pub struct CompressibleTypes {
    /// These in place of the default; in lower case.
    only: Option<Vec<Pattern>>,
}

impl CompressibleTypes {
    /// These media types only, without parameters; a `*` stands for any text, as in `text/*`.
    #[must_use]
    pub fn only<T: AsRef<str>>(types: impl IntoIterator<Item = T>) -> Self {
        let patterns = types.into_iter().map(|name| Pattern::new(&name.as_ref().to_ascii_lowercase()));
        Self { only: Some(patterns.collect()) }
    }

    /// Whether content of this type is compressed; `content_type` is the value of the header field, with parameters or
    /// without. gRPC never is: it compresses its messages itself, and its clients know no content codings.
    #[must_use]
    pub fn contain(&self, content_type: &[u8]) -> bool {
        let mut room = [0; MAX_NAME];
        let Some(name) = name_in(content_type, &mut room) else { return false };
        if name.starts_with(b"application/grpc") {
            return false;
        }
        match &self.only {
            Some(patterns) => patterns.iter().any(|pattern| pattern.matches(name)),
            None => is_compressible(name),
        }
    }
}

/// The name of a media type in lower case, without parameters; nothing where it is too long to be one.
fn name_in<'room>(content_type: &[u8], room: &'room mut [u8; MAX_NAME]) -> Option<&'room [u8]> {
    let name = content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let room = room.get_mut(..name.len())?;
    room.copy_from_slice(name);
    room.make_ascii_lowercase();
    Some(room)
}

fn is_compressible(name: &[u8]) -> bool {
    name.starts_with(b"text/") || name.ends_with(b"+json") || name.ends_with(b"+xml") || OTHERS.contains(&name)
}

/// RFC 6838 §4.2: type and subtype have 127 characters each at most.
const MAX_NAME: usize = 255;

/// The types that are compressed besides text and formats that are written in JSON or XML.
const OTHERS: [&[u8]; 26] = [
    b"application/ecmascript",
    b"application/javascript",
    b"application/json",
    b"application/json-seq",
    b"application/jsonl",
    b"application/rtf",
    b"application/sql",
    b"application/toml",
    b"application/vnd.ms-fontobject",
    b"application/wasm",
    b"application/x-font-opentype",
    b"application/x-font-truetype",
    b"application/x-font-ttf",
    b"application/x-javascript",
    b"application/x-ndjson",
    b"application/x-protobuf",
    b"application/x-sh",
    b"application/x-tar",
    b"application/xml",
    b"application/yaml",
    b"font/opentype",
    b"font/otf",
    b"font/ttf",
    b"image/bmp",
    b"image/vnd.microsoft.icon",
    b"image/x-icon",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_what_is_not_packed_is_compressed_by_default() {
        let types = CompressibleTypes::default();
        for (name, expected) in [
            ("text/html", true),
            ("text/html; charset=utf-8", true),
            ("TEXT/HTML;charset=utf-8", true),
            ("text/event-stream", true),
            ("application/json", true),
            ("application/problem+json", true),
            ("image/svg+xml", true),
            ("application/wasm", true),
            ("application/javascript", true),
            ("image/png", false),
            ("font/woff2", false),
            ("application/octet-stream", false),
            ("application/zip", false),
            ("application/grpc", false),
            ("application/grpc+json", false),
            ("application/grpc-web-text", false),
            ("", false),
        ] {
            assert_eq!(types.contain(name.as_bytes()), expected, "{name}");
        }
        assert!(!types.contain(&[b"text/".as_slice(), &[b'a'; 300]].concat()));
    }

    #[test]
    fn own_types_replace_the_default() {
        let types = CompressibleTypes::only(["Text/*", "application/pdf"]);
        for (name, expected) in
            [("text/css", true), ("application/PDF", true), ("application/json", false), ("application/pdfx", false)]
        {
            assert_eq!(types.contain(name.as_bytes()), expected, "{name}");
        }
        let all = CompressibleTypes::only(["*"]);
        assert!(all.contain(b"image/png") && !all.contain(b"application/grpc+proto"));
        assert!(!CompressibleTypes::only(<[&str; 0]>::default()).contain(b"text/css"));
    }
}
