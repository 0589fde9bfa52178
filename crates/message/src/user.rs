//! The user who sends a request.

use std::sync::Arc;

/// The name of the user who sends a request, in the request's extensions: the server has checked who it is.
///
/// ```
/// use serow_message::{Request, User};
///
/// let mut request = Request::get("/");
/// request.extensions.insert(User("alice".into()));
/// assert_eq!(request.extensions.get::<User>().map(|user| &*user.0), Some("alice"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User(pub Arc<str>);
