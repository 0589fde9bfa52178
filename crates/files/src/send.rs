//! The response with a file that the lookup selected.

use serow_message::{Request, Response, StatusCode};

use crate::{
    cache::Answer,
    lookup::{Lookup, SelectedFile},
    representation::Content,
    resource::Form,
    site::Site,
};

/// The response with the selected form of a file, or with the uncompressed file while all encoders are busy.
#[inline]
pub(crate) fn send(site: &Site, lookup: &mut Lookup, file: SelectedFile, request: &Request) -> Response {
    let Answer::Found(resource) = lookup.cache.answer(file.place) else {
        return StatusCode::NOT_FOUND.into();
    };
    let mut representation = resource.representation(file.form);
    let mut permit = None;
    if matches!(representation.content, Content::Compressed { .. }) {
        permit = lookup.permits.take();
        if permit.is_none() {
            representation = resource.representation(Form::Identity);
        }
    }
    representation.respond(request, site.clock.time_of_day, permit)
}
