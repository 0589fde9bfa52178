//! The target of a request before something rewrote it.

use crate::{Request, Target};

/// The target that the client sent, in the extensions of a request whose own one was rewritten: for variables, and for
/// programs that build links of it.
///
/// ```
/// use serow_message::{ClientTarget, Request};
///
/// let mut request = Request::get("/index.php?page=1");
/// assert_eq!(ClientTarget::of(&request).as_str(), "/index.php?page=1");
/// request.extensions.insert(ClientTarget(Request::get("/shop").target));
/// assert_eq!(ClientTarget::of(&request).as_str(), "/shop");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTarget(pub Target);

impl ClientTarget {
    /// The target that the client sent with a request.
    #[must_use]
    pub fn of(request: &Request) -> &Target {
        request.extensions.get::<Self>().map_or(&request.target, |asked| &asked.0)
    }

    /// Gives a request another target; that of the client is kept.
    pub fn rewrite(request: &mut Request, target: Target) {
        let asked = std::mem::replace(&mut request.target, target);
        if request.extensions.get::<Self>().is_none() {
            request.extensions.insert(Self(asked));
        }
    }
}
