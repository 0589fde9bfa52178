//! How a folder is served.

use serow_coding::{Coding, CompressibleTypes, Levels};

use crate::{freshness::FreshnessRule, request_path::Hidden, rewrite::Rewrite, root::Symlinks, withheld::Sensitive};

/// How a folder is served; the default suits a web site.
///
/// ```
/// use serow_files::{Files, FilesSettings, Listing};
///
/// let settings = FilesSettings { listing: Listing::Negotiated, ..FilesSettings::default() };
/// let files = Files::with_settings(".", settings)?;
/// # Ok::<(), serow_files::FilesError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FilesSettings {
    /// Names tried, in order, where a folder is asked for. Default: `index.html`.
    pub index: Vec<String>,
    /// Endings tried, in order, where a path names no file: with `.html`, `/about` is `about.html`, also beside a folder
    /// of this name. Default: none.
    pub extensions: Vec<String>,
    /// Whether a folder without an index shows what is in it, and as what. Default: it does not, since a web site
    /// should not show what nothing links to.
    pub listing: Listing,
    /// How many entries a listing shows at most; default 10,000. A folder with a hundred thousand would take a tenth of
    /// a second to sort, in which nobody else is answered.
    pub listing_limit: usize,
    /// Media types over those of the table: an ending (`md`) and the value of Content-Type.
    pub media_types: Vec<(String, String)>,
    /// The media type of a file without a known ending; default `application/octet-stream`.
    pub default_media_type: String,
    /// `Cache-Control` and `Expires` by path; the first rule that fits counts. Default: none.
    pub freshness: Vec<FreshnessRule>,
    /// In which codings files lie beside their originals: `site.css.br`, `.zst` and `.gz` are sent in place of
    /// `site.css` to clients that take them; the first of the list where a client likes several alike. Such a file must
    /// be at least as new as its original, so that a forgotten one is never served. Default: all, the smallest results
    /// first; each that a file has not costs a system call when the file is looked at, once a second at most.
    pub precompressed: Vec<Coding>,
    /// Compression while sending; `None` turns it off.
    pub compression: Option<Compression>,
    /// Paths served from another place; the first rule that fits is applied, once.
    pub rewrite: Vec<Rewrite>,
    /// A file sent with 200 where a page would be missing (404): the start page of a single-page application. Only for
    /// clients that ask for a page: `Accept` names html, or anything at all and the path has no dot in its last name.
    pub fallback: Option<String>,
    /// A file sent with 404 where something is missing.
    pub not_found: Option<String>,
    /// Whether the page of a listing has a form for uploads, which a handler around this one has to receive: PUT of new
    /// files, with the field `Serow-Upload`.
    pub upload_form: bool,
    /// Names that begin with a dot.
    pub hidden: Hidden,
    /// Source code and keys.
    pub sensitive: Sensitive,
    /// Symbolic links.
    pub symlinks: Symlinks,
    /// Whether large files that have rested are handed to the kernel to send (`sendfile`), which copies nothing.
    /// Default: yes. A file that was seen to be rewritten in place is copied from then on: pages on their way can
    /// change until the network card has them. Turn it off where not even the first such rewrite may show.
    pub zero_copy: bool,
    /// Limits of the cache in memory, for each core.
    pub cache: CacheLimits,
    /// How the log names the place of the folder in the settings, as in `site example.com, route 1`. Default: not at all.
    pub place: String,
}

impl Default for FilesSettings {
    fn default() -> Self {
        Self {
            index: vec!["index.html".to_owned()],
            extensions: Vec::new(),
            listing: Listing::default(),
            listing_limit: 10_000,
            media_types: Vec::new(),
            default_media_type: "application/octet-stream".to_owned(),
            freshness: Vec::new(),
            precompressed: Coding::ALL.to_vec(),
            compression: Some(Compression::default()),
            rewrite: Vec::new(),
            fallback: None,
            not_found: None,
            upload_form: false,
            hidden: Hidden::default(),
            sensitive: Sensitive::default(),
            symlinks: Symlinks::default(),
            zero_copy: true,
            cache: CacheLimits::default(),
            place: String::new(),
        }
    }
}

/// Whether a folder without an index shows what is in it, and as what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// It answers 404.
    #[default]
    Off,
    /// As `?format=html` or `?format=json` says; else as `Accept` prefers, html without a word.
    Negotiated,
    /// As a page, whatever the client says.
    Html,
    /// As json, whatever the client says.
    Json,
}

/// Compression while sending: which files, and how.
///
/// Files that fit the cache are compressed once; larger ones as they are sent, a piece at a time, so that other
/// requests get their turn between two pieces.
#[derive(Clone, Debug)]
pub struct Compression {
    /// The codings that may be used; the first where a client likes several alike. Default: Zstandard, which costs a
    /// third of brotli's time for about its size; then brotli; then gzip.
    pub codings: Vec<Coding>,
    /// Their levels.
    pub levels: Levels,
    /// The media types of the files.
    pub types: CompressibleTypes,
    /// The smallest file that is compressed, in bytes; default 1,024: with its head, less fits one packet anyhow.
    pub smallest: u64,
    /// The largest one, in bytes; default 64 MiB, about a second of one core. A client that requests larger files
    /// repeatedly would occupy the server; compress those beforehand.
    pub largest: u64,
    /// How many larger files a core compresses at once; default 64. Each keeps one to three megabytes while its client
    /// reads, however slowly; beyond this number files are sent as they are.
    pub concurrent: usize,
}

impl Default for Compression {
    fn default() -> Self {
        let codings = vec![Coding::Zstd, Coding::Brotli, Coding::Gzip];
        let (levels, types) = (Levels::default(), CompressibleTypes::default());
        Self { codings, levels, types, smallest: 1024, largest: 64 << 20, concurrent: 64 }
    }
}

/// Limits of the cache of one core. The entry that was used least recently is evicted first.
#[derive(Clone, Debug)]
pub struct CacheLimits {
    /// Paths, found or missing; default 4,096. A client that asks for ever new paths fills no more than this.
    pub entries: usize,
    /// Open files; default 128. They count against the process's limit (`ulimit -n`), which connections share.
    pub open_files: usize,
    /// Bytes of bodies and paths; default 32 MiB.
    pub bytes: usize,
    /// The age at which an entry is checked against the file system again, in milliseconds; default 900: the documented
    /// maximum is a second, and the rest allows for the lag of the clock and of the root, which is opened every 50 ms. At
    /// 0, each request sees what was written before it.
    pub fresh_for: u64,
    /// The largest body kept in memory, in bytes; default 64 KiB: copying that much costs about what setting up a
    /// `sendfile` of it does, and a socket's send buffer takes it in one call.
    pub body: u64,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { entries: 4096, open_files: 128, bytes: 32 << 20, fresh_for: 900, body: 64 << 10 }
    }
}
