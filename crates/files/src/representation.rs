//! One form of a file, ready to send: with its header fields, and its body in memory or in an open file.

use std::{fs::File, sync::Arc, time::SystemTime};

use bytes::Bytes;
use serow_coding::{Coding, EncoderSettings, Permit};
use serow_message::{
    Body, FieldName, FileRange, FileVersion, Headers, KnownHeader, Method, Request, Response, StatusCode,
};

use crate::{
    compression::CompressedBody,
    copied_range::CopiedRange,
    multipart::{Multipart, content_range},
    pieces::body_of,
    precondition::{CONDITIONS, Outcome, allows_range, evaluate},
    ranges::{Ranges, requested},
    stable_read::{Rest, is_unchanged},
    validator::{EntityTag, Validators, VersionSource, modification_date},
};

/// A file as it is, or compressed.
#[derive(Debug)]
pub(crate) struct Representation {
    pub(crate) version: FileVersion,
    pub(crate) validators: Validators,
    pub(crate) content: Content,
    encoding: Encoding,
    /// The fields of a 200, shared by all responses.
    head: Headers,
    /// The fields of a 304.
    head_of_not_modified: Headers,
}

/// Where the bytes are.
#[derive(Debug)]
pub(crate) enum Content {
    /// In memory.
    Memory(Bytes),
    /// In an open file. `zero_copy`: the file has rested, so the kernel may send it from its own pages.
    File { file: Arc<File>, zero_copy: bool },
    /// In an open file, to be compressed on the way.
    Compressed { file: Arc<File>, settings: EncoderSettings },
}

/// Whether and where it was compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// The file as it is.
    Identity,
    /// By its owner, beforehand.
    Beforehand(Coding),
    /// By this server. Parts of it are not sent: each would have to be compressed from the start.
    Here(Coding),
}

/// The values of the header fields beside the validators.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) media_type: String,
    pub(crate) cache_control: Option<String>,
    pub(crate) expires: Option<String>,
    /// Whether another client may get another form.
    pub(crate) varies: bool,
}

impl Representation {
    pub(crate) fn new(
        content: Content,
        version: FileVersion,
        validators: Validators,
        encoding: Encoding,
        description: &Description,
    ) -> Self {
        let (head, head_of_not_modified) = (Headers::new(), Headers::new());
        let mut representation = Self { version, validators, content, encoding, head, head_of_not_modified };
        representation.describe(description);
        representation
    }

    /// Makes the header fields again.
    pub(crate) fn describe(&mut self, description: &Description) {
        let mut head = Headers::new();
        put(&mut head, KnownHeader::ContentType, &description.media_type);
        if let Encoding::Beforehand(coding) | Encoding::Here(coding) = self.encoding {
            put(&mut head, KnownHeader::ContentEncoding, coding.name());
        }
        if let Some(modified) = self.validators.modified {
            put(&mut head, KnownHeader::LastModified, httpdate::fmt_http_date(modified));
        }
        put(&mut head, KnownHeader::Etag, self.validators.tag.to_string());
        if self.has_ranges() {
            put(&mut head, KnownHeader::AcceptRanges, "bytes");
        }
        if let Some(value) = &description.cache_control {
            put(&mut head, KnownHeader::CacheControl, value);
        }
        if let Some(value) = &description.expires {
            put(&mut head, KnownHeader::Expires, value);
        }
        if description.varies {
            put(&mut head, KnownHeader::Vary, "Accept-Encoding");
        }
        let mut not_modified = Headers::new();
        // RFC 9110 §15.4.5: the fields that a 304 repeats.
        for name in [
            KnownHeader::LastModified,
            KnownHeader::Etag,
            KnownHeader::CacheControl,
            KnownHeader::Expires,
            KnownHeader::Vary,
        ] {
            if let Some(value) = head.get(name) {
                put(&mut not_modified, name, value);
            }
        }
        self.head = head;
        self.head_of_not_modified = not_modified;
    }

    /// Whether what the head promises still is what the body would give. Costs nothing for what is in memory, which is
    /// one version for sure; a file that was rewritten in place would only be noticed while it is sent, too late for
    /// anything but a cut connection.
    pub(crate) fn is_current(&self) -> bool {
        match &self.content {
            Content::Memory(_) => true,
            Content::File { file, .. } | Content::Compressed { file, .. } => is_unchanged(file, &self.version),
        }
    }

    /// Answers a GET or HEAD; `permit` is needed for content that is compressed on the way. The server leaves out the
    /// body of a HEAD.
    pub(crate) fn respond(
        &self,
        request: &Request,
        time_of_day: fn() -> SystemTime,
        permit: Option<Permit>,
    ) -> Response {
        let headers = &request.headers;
        if headers.contains_any(&CONDITIONS) {
            match evaluate(headers, &self.validators) {
                Outcome::Proceed => {}
                Outcome::NotModified => {
                    return with_head(StatusCode::NOT_MODIFIED, self.head_of_not_modified.clone());
                }
                Outcome::Failed => return StatusCode::PRECONDITION_FAILED.into(),
            }
        }
        // RFC 9110 §14.2: only GET has ranges.
        if headers.contains(KnownHeader::Range)
            && request.method == Method::GET
            && self.has_ranges()
            && allows_range(headers, &self.validators, time_of_day())
            && let Some(response) = self.respond_in_part(headers, time_of_day)
        {
            return response;
        }
        self.respond_whole(time_of_day, permit)
    }

    /// A 200 whatever the conditions, for instance the body of a 404 page.
    pub(crate) fn respond_whole(&self, time_of_day: fn() -> SystemTime, permit: Option<Permit>) -> Response {
        let body = match &self.content {
            Content::Memory(body) => body.clone().into(),
            Content::File { zero_copy, .. } => {
                let range = self.range(0, self.version.length);
                if *zero_copy { Body::file(range) } else { body_of(CopiedRange::new(range, time_of_day)) }
            }
            Content::Compressed { settings, .. } => {
                let copied = CopiedRange::new(self.range(0, self.version.length), time_of_day);
                match permit.map(|permit| CompressedBody::new(copied, *settings, permit)) {
                    Some(Ok(body)) => body_of(body),
                    _ => return StatusCode::SERVICE_UNAVAILABLE.into(),
                }
            }
        };
        Response { body, ..with_head(StatusCode::OK, self.head.clone()) }
    }

    /// A 206 or 416; nothing if the Range header is to be ignored.
    fn respond_in_part(&self, headers: &Headers, time_of_day: fn() -> SystemTime) -> Option<Response> {
        let mut values = headers.get_all(KnownHeader::Range);
        let value = values.next()?;
        if values.next().is_some() {
            return None;
        }
        let whole = self.length();
        let ranges = match requested(value, whole) {
            Ranges::Ignore => return None,
            Ranges::Refuse => {
                // RFC 9110 §15.5.17.
                let refusal = Response::from(StatusCode::RANGE_NOT_SATISFIABLE);
                return Some(refusal.with(KnownHeader::ContentRange, format!("bytes */{whole}")));
            }
            Ranges::Satisfy(ranges) => ranges,
        };
        let mut head = self.head.clone();
        let body = match <[_; 1]>::try_from(ranges) {
            Ok([range]) => {
                put(&mut head, KnownHeader::ContentRange, content_range(&range, whole));
                match &self.content {
                    Content::Memory(body) => body.slice(range.start as usize..range.end as usize).into(),
                    Content::File { zero_copy: true, .. } => {
                        Body::file(self.range(range.start, range.end - range.start))
                    }
                    _ => body_of(CopiedRange::new(self.range(range.start, range.end - range.start), time_of_day)),
                }
            }
            // Content-Encoding would be taken for that of the whole body, boundaries included.
            Err(_) if self.encoding != Encoding::Identity => return None,
            Err(ranges) => {
                let media_type = head.get_str(KnownHeader::ContentType).unwrap_or_default();
                let multipart = Multipart::new(ranges, media_type, whole);
                replace(&mut head, KnownHeader::ContentType, multipart.content_type());
                match &self.content {
                    Content::Memory(body) => multipart.of_memory(body).into(),
                    _ => {
                        body_of(multipart.of_file(&self.range(0, whole), |range| CopiedRange::new(range, time_of_day)))
                    }
                }
            }
        };
        Some(Response { body, ..with_head(StatusCode::PARTIAL_CONTENT, head) })
    }

    /// A client that resumes a download compressed on the fly could get bytes of the uncompressed file.
    fn has_ranges(&self) -> bool {
        !matches!(self.encoding, Encoding::Here(_))
    }

    fn length(&self) -> u64 {
        match &self.content {
            Content::Memory(body) => body.len() as u64,
            _ => self.version.length,
        }
    }

    /// A part of the file; an empty one of a file that is in memory, which never asks.
    fn range(&self, offset: u64, length: u64) -> FileRange {
        match &self.content {
            Content::File { file, .. } | Content::Compressed { file, .. } => {
                FileRange { file: Arc::clone(file), offset, length, version: Some(self.version) }
            }
            Content::Memory(_) => unreachable!("content in memory is sent from memory"),
        }
    }

    /// Bytes kept in memory for it.
    pub(crate) fn weight(&self) -> usize {
        match &self.content {
            Content::Memory(body) => body.len(),
            _ => 0,
        }
    }
}

/// The validators of a file of this version. `content` reads it, where that decides: see [`VersionSource`].
pub(crate) fn validators_of(
    version: &FileVersion,
    now: SystemTime,
    content: impl FnOnce() -> Option<Bytes>,
) -> Validators {
    let rested = Rest::of_all(version, now) > Rest::Fresh;
    let tag = match VersionSource::of(version) {
        VersionSource::Times => EntityTag::of_times(version, rested),
        VersionSource::LastChange => EntityTag::of_last_change(version, rested),
        VersionSource::Content => match content() {
            Some(content) => EntityTag::of_content(&content, rested),
            // It cannot be read, or somebody writes into it: the next look will tell.
            None => EntityTag::of_last_change(version, false),
        },
    };
    // RFC 9110 §8.8.2.1: never later than the response itself.
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let modified = version.modified.min(i128::try_from(now).unwrap_or(i128::MAX));
    Validators { tag, modified: modification_date(modified) }
}

fn with_head(status: StatusCode, headers: Headers) -> Response {
    Response { headers, ..Response::new(status) }
}

/// Appends a field whose value this crate made, or whose text was checked with the settings.
pub(crate) fn put(headers: &mut Headers, name: impl FieldName, value: impl AsRef<[u8]>) {
    let appended = headers.append(name, value);
    debug_assert!(appended.is_ok(), "{appended:?}");
}

fn replace(headers: &mut Headers, name: KnownHeader, value: impl AsRef<[u8]>) {
    headers.remove(name);
    put(headers, name, value);
}
