//! The response where nothing was found: the fallback of a single-page application, the owner's page, or a line of
//! text.

use serow_message::{KnownHeader, Request, Response, StatusCode, weight::weighted};

use crate::{cache::Answer, examined, lookup::Lookup, representation::put, resource::Form, send::send, site::Site};

/// The response to a request whose path does not lead to anything.
pub(crate) fn not_found(site: &Site, lookup: &mut Lookup, request: &Request) -> Response {
    let mut response = fallback_or_page(site, lookup, request);
    if site.fallback.is_some() {
        put(&mut response.headers, KnownHeader::Vary, "Accept");
    }
    response
}

fn fallback_or_page(site: &Site, lookup: &mut Lookup, request: &Request) -> Response {
    if let Some(page) = &site.fallback
        && wants_page(request)
        && let Some(place) = lookup.find_page(site, page)
        && let Ok(file) = lookup.select(site, place, request)
    {
        return send(site, lookup, file, request);
    }
    examined::log(site, request);
    if let Some(page) = &site.not_found
        && let Some(place) = lookup.find_page(site, page)
        && let Answer::Found(resource) = lookup.cache.answer(place)
    {
        let page = resource.representation(Form::Identity).respond_whole(site.clock.time_of_day, None);
        let mut response = Response { body: page.body, ..Response::new(StatusCode::NOT_FOUND) };
        if let Some(media_type) = page.headers.get(KnownHeader::ContentType) {
            put(&mut response.headers, KnownHeader::ContentType, media_type);
        }
        return response;
    }
    StatusCode::NOT_FOUND.into()
}

/// Whether the client expects a page: it names html, or accepts anything and the path does not look like a file's. So a
/// browser's missing script (`*/*`, `/app.js`) does not get the fallback, and `curl /some/route` does.
fn wants_page(request: &Request) -> bool {
    let names = |wanted: &[u8]| {
        request
            .headers
            .list(KnownHeader::Accept)
            .map(weighted)
            .any(|(name, quality)| quality > 0 && name.eq_ignore_ascii_case(wanted))
    };
    if names(b"text/html") || names(b"application/xhtml+xml") {
        return true;
    }
    let takes_anything = !request.headers.contains(KnownHeader::Accept) || names(b"*/*") || names(b"text/*");
    let last_name = request.target.path().rsplit('/').next().unwrap_or_default();
    takes_anything && !last_name.contains('.')
}
