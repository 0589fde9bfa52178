//! What is answered where nothing is: the fallback of a single-page application, the owner's page, or a line of text.

use serow_message::{Known, Request, Response, StatusCode, weight::weighted};

use crate::{
    cache::Answer,
    lookup::Lookup,
    representation::put,
    resource::Form,
    send::{form_at, send},
    site::Site,
};

/// Answers what is missing.
pub(crate) fn missing(site: &Site, lookup: &mut Lookup, request: &Request) -> Response {
    let mut response = missing_page(site, lookup, request);
    if site.fallback.is_some() {
        put(&mut response.headers, Known::Vary, "Accept");
    }
    response
}

fn missing_page(site: &Site, lookup: &mut Lookup, request: &Request) -> Response {
    if let Some(page) = &site.fallback
        && wants_page(request)
        && let Some(place) = lookup.find_page(site, page)
    {
        let form = form_at(site, lookup, place, request);
        return send(site, lookup, place, form, request);
    }
    if let Some(page) = &site.not_found
        && let Some(place) = lookup.find_page(site, page)
        && let Answer::Found(resource) = lookup.cache.answer(place)
    {
        let page = resource.representation(Form::Identity).respond_whole(site.clock.time_of_day, None);
        let mut response = Response { body: page.body, ..Response::new(StatusCode::NOT_FOUND) };
        if let Some(media_type) = page.headers.get(Known::ContentType) {
            put(&mut response.headers, Known::ContentType, media_type);
        }
        return response;
    }
    StatusCode::NOT_FOUND.into()
}

/// Whether a client that misses something wants a page: it names html, or takes anything and asks for what does not look
/// like a file. So a browser's missing script (`*/*`, `/app.js`) is no page, and `curl /some/route` is.
fn wants_page(request: &Request) -> bool {
    let names = |wanted: &[u8]| {
        request
            .headers
            .list(Known::Accept)
            .map(weighted)
            .any(|(name, quality)| quality > 0 && name.eq_ignore_ascii_case(wanted))
    };
    if names(b"text/html") || names(b"application/xhtml+xml") {
        return true;
    }
    let takes_anything = !request.headers.contains(Known::Accept) || names(b"*/*") || names(b"text/*");
    let last_name = request.target.path().rsplit('/').next().unwrap_or_default();
    takes_anything && !last_name.contains('.')
}
