//! The entries of a folder, as a page or as JSON.
//!
//! A folder is read and written out a few hundred entries at a time; between two such steps other tasks of the core
//! have their turn. Only sorting is done in one go, which is why the number of entries is limited
//! ([`FilesSettings::listing_limit`]).

mod entries;
mod format;
mod html;
mod json;
mod order;
mod query;
mod time;
mod upload;

use std::io;

use bytes::Bytes;
use serow_message::{Body, KnownHeader, Request, Response, StatusCode};

pub(crate) use self::entries::Listed;
use self::{
    entries::{Entry, Reader},
    format::Format,
    order::Order,
};
use crate::{
    pieces::{Pieces, body_of},
    settings::{self, FilesSettings},
};

/// Answers with the entries of a folder.
pub(crate) fn respond(listed: Listed, settings: &FilesSettings, request: &Request) -> Response {
    let query = request.target.query().unwrap_or_default();
    let format = Format::of(settings.listing, request, query);
    let title = request.target.path().to_owned();
    let reader = match Reader::new(listed, settings) {
        Ok(reader) => reader,
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into(),
    };
    let order = Order::of(query);
    let mut listing = Listing { state: State::Reading(reader), format, order, title, has_form: settings.upload_form };
    let body = match listing.small() {
        Ok(Some(whole)) => Body::from(whole),
        Ok(None) => body_of(listing),
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into(),
    };
    let mut response = Response::new(StatusCode::OK)
        .with(KnownHeader::ContentType, format.media_type())
        // The folder's time says nothing about the sizes and times of its entries.
        .with(KnownHeader::CacheControl, "no-cache")
        .body(body);
    if settings.upload_form && format == Format::Html {
        response = response.with("content-security-policy", upload::POLICY);
    }
    match settings.listing {
        settings::Listing::Negotiated => response.with(KnownHeader::Vary, "Accept"),
        _ => response,
    }
}

/// A listing on its way.
struct Listing {
    state: State,
    format: Format,
    order: Order,
    /// The path of the request, as it came: links are made from it.
    title: String,
    /// Whether the page has a form for uploads.
    has_form: bool,
}

enum State {
    Reading(Reader),
    Writing { entries: std::vec::IntoIter<Entry>, is_first: bool },
    Done,
}

impl Listing {
    /// The whole listing at once, if one step reads the folder.
    fn small(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut output = Vec::new();
        self.step(&mut output)?;
        if matches!(self.state, State::Reading(_)) {
            return Ok(None);
        }
        while !matches!(self.state, State::Done) {
            self.step(&mut output)?;
        }
        Ok(Some(output))
    }

    /// Reads or writes some entries.
    fn step(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.state {
            State::Reading(reader) => {
                if reader.read(ENTRIES_PER_STEP)? {
                    let (mut entries, is_cut) = reader.finish();
                    self.order.sort(&mut entries);
                    match self.format {
                        Format::Html => {
                            html::begin(output, &self.title, self.order, &entries, is_cut, self.has_form);
                        }
                        Format::Json => json::begin(output),
                    }
                    self.state = State::Writing { entries: entries.into_iter(), is_first: true };
                }
            }
            State::Writing { entries, is_first } => {
                for entry in entries.by_ref().take(ENTRIES_PER_STEP) {
                    match self.format {
                        Format::Html => html::row(output, &entry),
                        Format::Json => json::row(output, &entry, *is_first),
                    }
                    *is_first = false;
                }
                if entries.len() == 0 {
                    match self.format {
                        Format::Html => html::end(output, self.has_form),
                        Format::Json => json::end(output),
                    }
                    self.state = State::Done;
                }
            }
            State::Done => {}
        }
        Ok(())
    }
}

impl Pieces for Listing {
    fn next_piece(&mut self) -> Option<io::Result<Bytes>> {
        if matches!(self.state, State::Done) {
            return None;
        }
        let mut output = Vec::new();
        let step = self.step(&mut output);
        if step.is_err() {
            self.state = State::Done;
        }
        Some(step.map(|()| output.into()))
    }

    fn remaining(&self) -> Option<u64> {
        matches!(self.state, State::Done).then_some(0)
    }
}

/// How many entries are read or written at once: to ask for the size and time of each takes about a microsecond, so
/// half a millisecond in all.
const ENTRIES_PER_STEP: usize = 512;
