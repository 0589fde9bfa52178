//! The fields of messages that are sent, in the order in which they are encoded.

use serow_message::{
    Headers, KnownHeader,
    content::{NO_TRAILERS, decimal},
    hop_by_hop,
};

use crate::QueuedHead;

impl QueuedHead {
    /// Shows the fields of the response, all but `:status`, to an encoder: name, the same where it is well known, and
    /// value. `date` is added where the response has none of its own.
    #[inline]
    pub fn show_fields(&self, date: &[u8], mut show: impl FnMut(&[u8], Option<KnownHeader>, &[u8])) {
        if !date.is_empty() && !self.headers.contains(KnownHeader::Date) {
            show(b"date", Some(KnownHeader::Date), date);
        }
        show_headers(&self.headers, &[KnownHeader::ContentLength], &mut show);
        if let Some(length) = self.content_length {
            show_length(length, show);
        }
    }

    /// Shows the fields of a response that no handler made, all but `:status`: its content has this length.
    #[cold]
    pub fn show_refusal(date: &[u8], length: usize, mut show: impl FnMut(&[u8], Option<KnownHeader>, &[u8])) {
        if !date.is_empty() {
            show(b"date", Some(KnownHeader::Date), date);
        }
        if length > 0 {
            show(b"content-type", Some(KnownHeader::ContentType), b"text/plain; charset=utf-8");
        }
        show_length(length as u64, show);
    }
}

/// Shows fields to an encoder, without those named in `except` and those of a connection (RFC 9113 §8.2.2, RFC 9114
/// §4.2).
#[inline]
pub fn show_headers(
    headers: &Headers,
    except: &[KnownHeader],
    mut show: impl FnMut(&[u8], Option<KnownHeader>, &[u8]),
) {
    let mut show_all = |headers: &Headers| {
        for (name, known, value) in headers.iter_known() {
            if !known.is_some_and(|known| except.contains(&known)) {
                show(name, known, value);
            }
        }
    };
    if headers.contains_any(&hop_by_hop::NAMES) {
        let mut without = headers.clone();
        hop_by_hop::remove(&mut without);
        return show_all(&without);
    }
    show_all(headers);
}

/// Whether any of these fields may be sent behind a body (RFC 9110 §6.5.1).
#[must_use]
pub fn has_trailers(trailers: &Headers) -> bool {
    trailers.iter_known().any(|(_, known, _)| !known.is_some_and(|known| NO_TRAILERS.contains(&known)))
}

/// Shows `content-length`.
#[inline]
pub fn show_length(length: u64, mut show: impl FnMut(&[u8], Option<KnownHeader>, &[u8])) {
    let mut digits = [0; 20];
    show(b"content-length", Some(KnownHeader::ContentLength), decimal(length, &mut digits));
}
