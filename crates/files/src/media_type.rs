//! Media types by the ending of a file's name.

use std::collections::HashMap;

use serow_coding::CompressibleTypes;

/// The media type that a file is sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MediaType {
    /// The value of Content-Type.
    pub(crate) value: String,
    /// Whether compressing it usually pays.
    pub(crate) compressible: bool,
}

/// The table of media types, with what the settings put over it.
#[derive(Clone, Debug)]
pub(crate) struct MediaTypes {
    overrides: HashMap<Vec<u8>, String>,
    otherwise: String,
}

impl MediaTypes {
    /// `overrides` are endings (`md`) and types; `otherwise` is what a file with no known ending is sent as.
    pub(crate) fn new(overrides: &[(String, String)], otherwise: &str) -> Self {
        let overrides = overrides
            .iter()
            .map(|(ending, value)| (ending.trim_start_matches('.').to_ascii_lowercase().into_bytes(), value.clone()))
            .collect();
        Self { overrides, otherwise: otherwise.to_owned() }
    }

    /// The type of a file of this name or path.
    pub(crate) fn of(&self, path: &[u8]) -> MediaType {
        let ending = ending(path).to_ascii_lowercase();
        let value = match self.overrides.get(&ending) {
            Some(value) => value.as_str(),
            None => known(&ending).unwrap_or(&self.otherwise),
        };
        MediaType { value: with_charset(value), compressible: CompressibleTypes::default().contain(value.as_bytes()) }
    }
}

/// The text behind the last dot of the last name; empty if there is none.
fn ending(path: &[u8]) -> &[u8] {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    match name.iter().rposition(|&byte| byte == b'.') {
        Some(dot) if dot > 0 => &name[dot + 1..],
        _ => &[],
    }
}

fn known(ending: &[u8]) -> Option<&'static str> {
    let ending = std::str::from_utf8(ending).ok()?;
    TABLE.binary_search_by_key(&ending, |row| row.0).ok().map(|index| TABLE[index].1)
}

/// Text gets the charset everybody writes today; without it, browsers guess (WHATWG Encoding). A type that has
/// parameters already keeps them; and XML says itself what it is written in, which a charset here would overrule (RFC
/// 7303 §3.2).
fn with_charset(value: &str) -> String {
    let needs = value.starts_with("text/") && !value.contains(';') && value != "text/xml";
    if needs { format!("{value}; charset=utf-8") } else { value.to_owned() }
}

/// Endings in order, with the types registered at IANA where there is one, else what nginx's `mime.types` says.
const TABLE: [(&str, &str); 97] = [
    ("7z", "application/x-7z-compressed"),
    ("aac", "audio/aac"),
    ("apk", "application/vnd.android.package-archive"),
    ("apng", "image/apng"),
    ("atom", "application/atom+xml"),
    ("avi", "video/x-msvideo"),
    ("avif", "image/avif"),
    ("bin", "application/octet-stream"),
    ("bmp", "image/bmp"),
    ("br", "application/octet-stream"),
    ("bz2", "application/x-bzip2"),
    ("c", "text/plain"),
    ("cer", "application/pkix-cert"),
    ("conf", "text/plain"),
    ("cpp", "text/plain"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("deb", "application/vnd.debian.binary-package"),
    ("diff", "text/plain"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("eot", "application/vnd.ms-fontobject"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("geojson", "application/geo+json"),
    ("gif", "image/gif"),
    ("go", "text/plain"),
    ("gz", "application/gzip"),
    ("h", "text/plain"),
    ("heic", "image/heic"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("ics", "text/calendar"),
    ("ini", "text/plain"),
    ("iso", "application/x-iso9660-image"),
    ("jar", "application/java-archive"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/x-ndjson"),
    ("jsonld", "application/ld+json"),
    ("jxl", "image/jxl"),
    ("log", "text/plain"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("m4a", "audio/mp4"),
    ("m4v", "video/mp4"),
    ("map", "application/json"),
    ("md", "text/markdown"),
    ("mid", "audio/midi"),
    ("mjs", "text/javascript"),
    ("mkv", "video/matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpd", "application/dash+xml"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("ogv", "video/ogg"),
    ("opus", "audio/ogg"),
    ("otf", "font/otf"),
    ("patch", "text/plain"),
    ("pdf", "application/pdf"),
    ("pem", "application/x-pem-file"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("py", "text/plain"),
    ("rb", "text/plain"),
    ("rs", "text/plain"),
    ("rss", "application/rss+xml"),
    ("rtf", "application/rtf"),
    ("sh", "application/x-sh"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tgz", "application/gzip"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("ts", "video/mp2t"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("vtt", "text/vtt"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webmanifest", "application/manifest+json"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xhtml", "application/xhtml+xml"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "text/xml"),
    ("yaml", "application/yaml"),
    ("zip", "application/zip"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(TABLE.is_sorted_by(|one, other| one.0 < other.0));
    }

    #[test]
    fn types_by_name() {
        let overrides = [
            (".MD".to_owned(), "text/x-markdown".to_owned()),
            ("js".to_owned(), "text/plain; charset=ascii".to_owned()),
        ];
        let types = MediaTypes::new(&overrides, "application/octet-stream");
        let cases = [
            ("/index.html", "text/html; charset=utf-8", true),
            ("/A.HTML", "text/html; charset=utf-8", true),
            ("/x.tar.gz", "application/gzip", false),
            ("/x.xml", "text/xml", true),
            ("/x.svg", "image/svg+xml", true),
            ("/x.json", "application/json", true),
            ("/x.wasm", "application/wasm", true),
            ("/x.woff2", "font/woff2", false),
            ("/x.png", "image/png", false),
            ("/x.md", "text/x-markdown; charset=utf-8", true),
            ("/x.js", "text/plain; charset=ascii", true),
            ("/README", "application/octet-stream", false),
            ("/a.html/README", "application/octet-stream", false),
            ("/.html", "application/octet-stream", false),
            ("/x.", "application/octet-stream", false),
            ("/x.\u{e4}", "application/octet-stream", false),
        ];
        for (path, value, compressible) in cases {
            assert_eq!(types.of(path.as_bytes()), MediaType { value: value.to_owned(), compressible }, "{path}");
        }
    }
}
