//! What is in a folder, as a page or as json.
//!
//! A folder is read and written out a few hundred entries at a time; between two such steps other tasks of the core have
//! their turn. Only sorting is done in one go, which is why the number of entries is limited
//! ([`FilesSettings::listing_limit`]).

mod entries;
mod format;
mod html;
mod json;
mod order;
mod query;
mod time;

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::Frame;
use serow_message::{Body, Known, Request, Response, StatusCode};

pub(crate) use self::entries::Listed;
use self::{
    entries::{Entry, Reader},
    format::Format,
    order::Order,
};
use crate::settings::FilesSettings;

/// Answers with what is in a folder.
pub(crate) fn respond(listed: Listed, settings: &FilesSettings, request: &Request) -> Response {
    let query = request.target.query().unwrap_or_default();
    let format = Format::of(request, query);
    let title = request.target.path().to_owned();
    let reader = match Reader::new(listed, settings.hidden, settings.listing_limit) {
        Ok(reader) => reader,
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into(),
    };
    let mut listing = Listing { state: State::Reading(reader), format, order: Order::of(query), title };
    let body = match listing.small() {
        Ok(Some(whole)) => Body::from(whole),
        Ok(None) => Body::stream(listing),
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into(),
    };
    Response::new(StatusCode::OK)
        .with(Known::ContentType, format.media_type())
        // The folder's time says nothing about the sizes and times of what is in it.
        .with(Known::CacheControl, "no-cache")
        .with(Known::Vary, "Accept")
        .body(body)
}

/// A listing on its way.
struct Listing {
    state: State,
    format: Format,
    order: Order,
    /// The path of the request, as it came: links are made from it.
    title: String,
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
                        Format::Html => html::begin(output, &self.title, self.order, &entries, is_cut),
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
                        Format::Html => html::end(output),
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

impl http_body::Body for Listing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let listing = self.get_mut();
        if listing.is_end_stream() {
            return Poll::Ready(None);
        }
        let mut output = Vec::new();
        if let Err(error) = listing.step(&mut output) {
            listing.state = State::Done;
            return Poll::Ready(Some(Err(error)));
        }
        // While the folder is read these are pieces of nothing, after each of which the server lets others have their turn.
        Poll::Ready(Some(Ok(Frame::data(output.into()))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Done)
    }
}

/// How many entries are read or written at once: to ask for the size and time of each takes about a microsecond, so half
/// a millisecond in all.
const ENTRIES_PER_STEP: usize = 512;
