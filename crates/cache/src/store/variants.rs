//! The responses that are stored for one URI.

use std::{ops::Deref, slice, sync::Arc};

use crate::stored::Stored;

/// Stored responses for one URI, the newest first. Nearly all URIs have one, which needs no list.
#[derive(Clone, Debug)]
pub(super) enum Variants {
    One(Arc<Stored>),
    Other(Box<[Arc<Stored>]>),
}

impl Deref for Variants {
    type Target = [Arc<Stored>];

    fn deref(&self) -> &Self::Target {
        match self {
            Self::One(stored) => slice::from_ref(stored),
            Self::Other(variants) => variants,
        }
    }
}

impl Default for Variants {
    fn default() -> Self {
        Self::Other(Box::default())
    }
}

impl From<Vec<Arc<Stored>>> for Variants {
    fn from(mut variants: Vec<Arc<Stored>>) -> Self {
        match variants.pop() {
            Some(stored) if variants.is_empty() => Self::One(stored),
            last => Self::Other(variants.into_iter().chain(last).collect()),
        }
    }
}

impl FromIterator<Arc<Stored>> for Variants {
    fn from_iter<T: IntoIterator<Item = Arc<Stored>>>(variants: T) -> Self {
        variants.into_iter().collect::<Vec<_>>().into()
    }
}
