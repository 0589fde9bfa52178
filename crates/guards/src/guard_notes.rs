//! The guards that a request has met, for the request for its error page.

use std::sync::{Arc, Mutex, PoisonError};

use serow_gateway::ReservedFields;
use serow_message::Headers;

/// The guards that a request has met; in its extensions, where the error pages of its site are made by routes.
#[derive(Clone, Debug, Default)]
pub struct GuardNotes(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    /// The limits that have counted it, by their addresses.
    limits: Vec<usize>,
    /// Fields that clients must not send.
    reserved: Vec<ReservedFields>,
}

impl GuardNotes {
    /// Whether this limit has not counted the request yet; from now on, it has.
    pub(crate) fn is_first<T>(&self, limit: &T) -> bool {
        let address = std::ptr::from_ref(limit).addr();
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !noted.limits.contains(&address);
        if is_first {
            noted.limits.push(address);
        }
        is_first
    }

    /// Notes fields that a guard keeps for itself.
    pub(crate) fn reserve(&self, fields: &ReservedFields) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).reserved.push(fields.clone());
    }

    /// Removes them.
    pub fn hide_reserved(&self, headers: &mut Headers) {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.reserved.iter().for_each(|fields| fields.remove_from(headers));
    }
}
