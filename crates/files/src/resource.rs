//! A file with all its forms: uncompressed, compressed beforehand, and compressed by this server.

use std::{sync::Arc, time::SystemTime};

use bytes::Bytes;
use serow_coding::{Accepted, Coding, EncoderSettings, Levels, compressed};
use serow_message::{FileVersion, Headers, KnownHeader, Method, Request};

use crate::{
    compression::WINDOW_BITS,
    freshness::freshness_of,
    media_type::{MediaType, MediaTypes},
    representation::{Content, Description, Encoding, Representation, validators_of},
    root::{OpenFile, Opened, Root},
    settings::FilesSettings,
    stable_read::{ReadError, Rest, read_whole},
    validator::{MAX_HASHED, Validators},
};

/// A file and its forms.
#[derive(Debug)]
pub(crate) struct Resource {
    /// Where it was found, below the root.
    path: Vec<u8>,
    identity: Representation,
    /// Compressed beforehand: files beside it.
    precompressed: Vec<(Coding, Representation)>,
    /// Compressed here; nothing where it did not pay.
    compressed: Vec<(Coding, Option<Representation>)>,
    /// Whether it is to be compressed here.
    compresses: bool,
    description: Description,
    unsure: bool,
    /// Somebody writes into this very file, rather than put a new one in its place.
    rewritten: bool,
}

/// The settings, the folder and the clock that a resource is made with.
#[derive(Clone, Copy)]
pub(crate) struct Making<'a> {
    pub(crate) settings: &'a FilesSettings,
    pub(crate) media_types: &'a MediaTypes,
    pub(crate) root: &'a Root,
    pub(crate) time_of_day: fn() -> SystemTime,
}

/// Which form of a resource a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Identity,
    Precompressed(usize),
    Compressed(usize),
    /// To be compressed first: [`Resource::compress`].
    ToCompress(Coding),
}

impl Resource {
    /// Takes in an open file; `asked` is the decoded path of the request, `path` where the file lies, `earlier` what
    /// was found there before.
    pub(crate) fn new(
        making: Making<'_>,
        asked: &[u8],
        path: Vec<u8>,
        opened: OpenFile,
        earlier: Option<&Self>,
    ) -> Result<Self, ReadError> {
        let settings = making.settings;
        let media_type = making.media_types.of(&path);
        let (content, version) = content_of(making, opened)?;
        let now = (making.time_of_day)();
        let precompressed_files = precompressed_files(making, &path, &media_type, version.modified);
        let compresses = settings.compression.as_ref().is_some_and(|rule| {
            !rule.codings.is_empty()
                && (rule.smallest..=rule.largest).contains(&version.length)
                && rule.types.contain(media_type.value.as_bytes())
        });
        let description = describe(making, asked, &path, media_type, compresses || !precompressed_files.is_empty());
        let validators = validators_of(&version, now, || bytes_of(making, &content));
        let mut unsure = Rest::of_all(&version, now) == Rest::Fresh;
        let rewritten = earlier.is_some_and(|earlier| earlier.was_rewritten_into(&version));
        let mut precompressed = Vec::new();
        for (coding, opened) in precompressed_files {
            let Ok((content, version)) = content_of(making, opened) else { continue };
            let tag = validators_of(&version, now, || bytes_of(making, &content)).tag.compressed_beforehand(coding);
            let validators = Validators { tag, modified: validators.modified };
            unsure |= Rest::of_all(&version, now) == Rest::Fresh;
            let form = Representation::new(content, version, validators, Encoding::Beforehand(coding), &description);
            precompressed.push((coding, form));
        }
        let mut resource = Self {
            path,
            identity: Representation::new(content, version, validators, Encoding::Identity, &description),
            precompressed,
            compressed: Vec::new(),
            compresses,
            description,
            unsure,
            rewritten,
        };
        resource.settle(making.settings.zero_copy, now);
        Ok(resource)
    }

    /// Whether this was the same file before somebody wrote into it, now or earlier.
    fn was_rewritten_into(&self, version: &FileVersion) -> bool {
        let before = &self.identity.version;
        before.identity == version.identity && (self.rewritten || before.modified != version.modified)
    }

    /// Whether the file found now at the path of the request is the one taken in, and the files beside it as well. If
    /// so, the header fields are renewed.
    pub(crate) fn renew(&mut self, making: Making<'_>, asked: &[u8], path: &[u8], opened: &OpenFile) -> bool {
        if self.unsure || self.path != path || self.identity.version != opened.version {
            return false;
        }
        let media_type = making.media_types.of(path);
        let found = precompressed_files(making, path, &media_type, opened.version.modified);
        let are_the_same = found.len() == self.precompressed.len()
            && found
                .iter()
                .zip(&self.precompressed)
                .all(|((coding, file), (known, form))| coding == known && file.version == form.version);
        if !are_the_same {
            return false;
        }
        let now = (making.time_of_day)();
        self.description = describe(making, asked, path, media_type, self.description.varies);
        self.settle(making.settings.zero_copy, now);
        self.identity.describe(&self.description);
        for (_, form) in &mut self.precompressed {
            form.describe(&self.description);
        }
        for form in self.compressed.iter_mut().filter_map(|(_, form)| form.as_mut()) {
            form.describe(&self.description);
        }
        true
    }

    /// Large files may be sent without copying once they have rested, unless they are of those that are rewritten in
    /// place: the pages that a socket holds would change with the file.
    fn settle(&mut self, allowed: bool, now: SystemTime) {
        for form in std::iter::once(&mut self.identity).chain(self.precompressed.iter_mut().map(|pair| &mut pair.1)) {
            if let Content::File { zero_copy, .. } = &mut form.content {
                *zero_copy = allowed && !self.rewritten && Rest::of_content(&form.version, now) == Rest::Rested;
            }
        }
    }

    /// Which form this request gets; compressed here in one of `codings`.
    #[inline]
    pub(crate) fn form_for(&self, request: &Request, codings: &[Coding]) -> Form {
        if self.description.varies && request.headers.contains(KnownHeader::AcceptEncoding) {
            self.negotiated(&request.headers, request.method == Method::GET, codings)
        } else {
            Form::Identity
        }
    }

    fn negotiated(&self, headers: &Headers, is_get: bool, codings: &[Coding]) -> Form {
        let accepted = Accepted::of(headers);
        if let Some(best) = accepted.best(self.precompressed.iter().map(|(coding, _)| *coding)) {
            return self
                .precompressed
                .iter()
                .position(|(coding, _)| *coding == best)
                .map_or(Form::Identity, Form::Precompressed);
        }
        // A range of something compressed on the way would need all that stands before it.
        if !self.compresses || is_get && headers.contains(KnownHeader::Range) {
            return Form::Identity;
        }
        match accepted.best(codings.iter().copied()) {
            None => Form::Identity,
            Some(best) => match self.compressed.iter().position(|(coding, _)| *coding == best) {
                Some(place) if self.compressed[place].1.is_none() => Form::Identity,
                Some(place) => Form::Compressed(place),
                None => Form::ToCompress(best),
            },
        }
    }

    /// The form; identity for what there is none of.
    pub(crate) fn representation(&self, form: Form) -> &Representation {
        match form {
            Form::Precompressed(place) => self.precompressed.get(place).map(|pair| &pair.1),
            Form::Compressed(place) => self.compressed.get(place).and_then(|pair| pair.1.as_ref()),
            Form::Identity | Form::ToCompress(_) => None,
        }
        .unwrap_or(&self.identity)
    }

    /// Compresses what is in memory, or prepares to compress what is not; says which form that is.
    pub(crate) fn compress(&mut self, coding: Coding, levels: &Levels) -> Form {
        let settings = EncoderSettings::new(coding, levels, WINDOW_BITS);
        let content = match &self.identity.content {
            Content::Memory(body) => match compressed(settings, body) {
                Ok(smaller) if smaller.len() < body.len() => Some(Content::Memory(smaller.into())),
                _ => None,
            },
            Content::File { file, .. } | Content::Compressed { file, .. } => {
                Some(Content::Compressed { file: Arc::clone(file), settings })
            }
        };
        let form = content.map(|content| {
            let tag = self.identity.validators.tag.compressed(coding.name());
            let validators = Validators { tag, ..self.identity.validators.clone() };
            Representation::new(content, self.identity.version, validators, Encoding::Here(coding), &self.description)
        });
        let is_smaller = form.is_some();
        self.compressed.push((coding, form));
        if is_smaller { Form::Compressed(self.compressed.len() - 1) } else { Form::Identity }
    }

    /// Whether it was written so lately that its times cannot tell whether it was written again.
    pub(crate) fn is_unsure(&self) -> bool {
        self.unsure
    }

    /// Bytes kept in memory.
    pub(crate) fn weight(&self) -> usize {
        self.forms().map(Representation::weight).sum()
    }

    /// Files kept open.
    pub(crate) fn open_files(&self) -> usize {
        // Forms compressed here share the file of the original.
        let beside = self.precompressed.iter().map(|(_, form)| form);
        std::iter::once(&self.identity).chain(beside).filter(|form| !matches!(form.content, Content::Memory(_))).count()
    }

    fn forms(&self) -> impl Iterator<Item = &Representation> {
        let beside = self.precompressed.iter().map(|(_, form)| form);
        let made = self.compressed.iter().filter_map(|(_, form)| form.as_ref());
        std::iter::once(&self.identity).chain(beside).chain(made)
    }
}

/// A small file is read, a large one kept open; [`Resource::settle`] says how that is sent.
fn content_of(making: Making<'_>, opened: OpenFile) -> Result<(Content, FileVersion), ReadError> {
    let limit = making.settings.cache.body;
    if opened.version.length <= limit {
        match read_whole(&opened.file, limit, making.time_of_day) {
            Ok(whole) => return Ok((Content::Memory(whole.body), whole.version)),
            Err(ReadError::TooLarge) => {}
            Err(other) => return Err(other),
        }
    }
    let version = FileVersion::of(&opened.file.metadata()?);
    Ok((Content::File { file: Arc::new(opened.file), zero_copy: false }, version))
}

/// All bytes of a small file, for its tag.
fn bytes_of(making: Making<'_>, content: &Content) -> Option<Bytes> {
    match content {
        Content::Memory(body) => Some(body.clone()),
        Content::File { file, .. } | Content::Compressed { file, .. } => {
            read_whole(file, MAX_HASHED, making.time_of_day).ok().map(|whole| whole.body)
        }
    }
}

/// The files beside a file that hold it compressed, none older than it.
fn precompressed_files(
    making: Making<'_>,
    path: &[u8],
    media_type: &MediaType,
    modified: i128,
) -> Vec<(Coding, OpenFile)> {
    if !media_type.compressible {
        return Vec::new();
    }
    let beside = |coding: Coding| match making.root.open_below(&[path, coding.suffix().as_bytes()].concat()) {
        Ok(Opened::File(file)) if whole_seconds(file.version.modified) >= whole_seconds(modified) => {
            Some((coding, file))
        }
        Ok(_) | Err(_) => None,
    };
    making.settings.precompressed.iter().copied().filter_map(beside).collect()
}

/// Compared by whole seconds, since archives and some copies keep no more.
fn whole_seconds(nanoseconds: i128) -> i128 {
    nanoseconds.div_euclid(1_000_000_000)
}

fn describe(making: Making<'_>, asked: &[u8], path: &[u8], media_type: MediaType, varies: bool) -> Description {
    let freshness = freshness_of(&making.settings.freshness, &[asked, &[b"/", path].concat()]);
    let fields = freshness.map(|freshness| freshness.fields((making.time_of_day)()));
    let (cache_control, expires) = fields.map_or((None, None), |(control, expires)| (Some(control), expires));
    Description { media_type: media_type.value, cache_control, expires, varies }
}
