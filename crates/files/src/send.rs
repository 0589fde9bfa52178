//! A file that was found, sent in the form that the request prefers.

use serow_message::{Request, Response, StatusCode};

use crate::{cache::Answer, lookup::Lookup, representation::Content, resource::Form, site::Site};

/// Which form a request gets of the file at a place, compressed by now if need be.
#[inline]
pub(crate) fn form_at(site: &Site, lookup: &mut Lookup, place: usize, request: &Request) -> Form {
    let Answer::Found(resource) = lookup.cache.answer(place) else {
        return Form::Identity;
    };
    let codings = site.settings.compression.as_ref().map_or(&[][..], |rule| &rule.codings);
    let form = resource.form_for(request, codings);
    if let Form::ToCompress(coding) = form {
        let form = resource.compress(coding);
        lookup.cache.note(place, None);
        return form;
    }
    form
}

/// Whether what a form's head would promise still is what its body would give.
#[inline]
pub(crate) fn is_current(lookup: &mut Lookup, place: usize, form: Form) -> bool {
    match lookup.cache.answer(place) {
        Answer::Found(resource) => resource.representation(form).is_current(),
        Answer::Missing => false,
    }
}

/// Answers with a form of the file at a place; with the file as it is, where all encoders are taken.
#[inline]
pub(crate) fn send(site: &Site, lookup: &mut Lookup, place: usize, form: Form, request: &Request) -> Response {
    let Answer::Found(resource) = lookup.cache.answer(place) else {
        return StatusCode::NOT_FOUND.into();
    };
    let mut representation = resource.representation(form);
    let mut permit = None;
    if matches!(representation.content, Content::Compressed { .. }) {
        permit = lookup.permits.take();
        if permit.is_none() {
            representation = resource.representation(Form::Identity);
        }
    }
    representation.respond(request, site.clock.time_of_day, permit)
}
