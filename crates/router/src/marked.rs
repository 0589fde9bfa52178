//! A route that notes which requests it takes, for the access log.

use serow_message::{Request, RouteNote};

use crate::{
    path_pattern::PathPattern, rewriting::Captured, routed_path::RoutedPath, routes::RouteStep, site::RouteMark,
};

/// A step of which a note is made.
#[derive(Debug)]
pub(crate) struct Marked {
    pub(crate) step: RouteStep,
    number: u32,
    /// Where the captures come from that are noted.
    captured: Captured,
}

impl Marked {
    pub(crate) fn new(mark: RouteMark, step: RouteStep, captured: Captured) -> Self {
        let captured = if mark.has_captures { captured } else { Captured::Nothing };
        Self { step, number: mark.number, captured }
    }

    /// Notes that the route takes a request with this path, if anybody asks for it.
    pub(crate) fn note(&self, path: &RoutedPath<'_>, pattern: &PathPattern, request: &Request) {
        let Some(note) = request.extensions.get::<RouteNote>() else { return };
        note.set(self.number);
        if !matches!(self.captured, Captured::Nothing) {
            note.set_captures(&self.captured.captures(path.as_bytes(), pattern));
        }
    }
}
