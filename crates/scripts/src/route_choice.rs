//! Routes that scripts choose by their names.

use std::sync::Arc;

/// The name of the route that a script has chosen for a request; in the extensions of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenRoute(pub Arc<str>);

/// Whether a script can choose the route of its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteChoice {
    /// The route is selected after the script.
    Open,
    /// The script stands in a route, or there are no routes.
    #[default]
    Made,
}
