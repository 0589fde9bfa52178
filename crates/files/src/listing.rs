//! What is in a folder, as a page or as json.
//!
//! A folder is read and written out a few hundred entries at a time; between two such steps other tasks of the core have
//! their turn. Only sorting is done in one go, which is why the number of entries is limited
//! ([`FilesSettings::listing_limit`]).

mod entries;
mod html;
mod json;
mod order;
mod time;

use std::{
    io,
    os::fd::OwnedFd,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::Frame;
use serow_message::{Body, Known, Request, Response, StatusCode};

use self::{
    entries::{Entry, Reader},
    order::Order,
};
use crate::{coding::weighted, root::Root, settings::FilesSettings};

/// A folder to be listed.
pub(crate) struct Listed {
    pub(crate) root: Root,
    /// Where it lies below the root.
    pub(crate) path: Vec<u8>,
    pub(crate) folder: OwnedFd,
}

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

/// How a listing is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Html,
    Json,
}

impl Format {
    /// What `?format=` says, else what `Accept` prefers.
    fn of(request: &Request, query: &str) -> Self {
        match parameter(query, "format") {
            Some("json") => return Self::Json,
            Some("html") => return Self::Html,
            _ => {}
        }
        let quality = |wanted: &[u8]| {
            let members = request.headers.list(Known::Accept).map(weighted);
            members.filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, quality)| quality).max()
        };
        match (quality(b"application/json"), quality(b"text/html")) {
            (Some(json), html) if json > html.unwrap_or(0) => Self::Json,
            _ => Self::Html,
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Json => "application/json",
        }
    }
}

/// The value of a parameter in a query; the first, if it occurs more than once.
fn parameter<'query>(query: &'query str, name: &str) -> Option<&'query str> {
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let cases = [
            ("/", "", Format::Html),
            ("/", "text/html, application/json;q=0.9", Format::Html),
            ("/", "application/json", Format::Json),
            ("/", "application/json, */*", Format::Json),
            ("/", "application/json;q=0", Format::Html),
            ("/", "*/*", Format::Html),
            ("/?format=json", "text/html", Format::Json),
            ("/?sort=name&format=html", "application/json", Format::Html),
            ("/?format=pdf", "application/json", Format::Json),
        ];
        for (target, accept, format) in cases {
            let mut request = Request::get(target);
            if !accept.is_empty() {
                request.headers.append(Known::Accept, accept).unwrap();
            }
            assert_eq!(Format::of(&request, request.target.query().unwrap_or_default()), format, "{target} {accept}");
        }
    }
}
