//! A token's claims about the client.

use core::fmt;
use std::sync::Arc;

use alloc::vec::Vec;

/// A verified token's claims about the client, in the request's extensions.
#[derive(Clone, Debug)]
pub struct Claims(pub Arc<dyn ClaimSource>);

/// The claims of a token.
pub trait ClaimSource: fmt::Debug + Send + Sync {
    /// Appends a claim as text; `false` if there is none. In the name, lower-case letters and digits stand for
    /// themselves, and _ for everything else, also between an object and its members.
    fn append(&self, name: &str, output: &mut Vec<u8>) -> bool;
}
