//! The options of `serow route`: routes of a running server that no settings file has.

use clap::{Args, Subcommand};
use serow_route_settings::{RouteAddress, RouteTarget};

use super::{AdminClientArguments, FleetArguments};

/// The options of `serow route`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct RouteArguments {
    #[command(subcommand)]
    pub(crate) command: RouteSubcommand,
}

/// The subcommands of `serow route`.
#[derive(Debug, Subcommand)]
pub(crate) enum RouteSubcommand {
    /// Add a route, or change where it leads, and wait until it is in effect.
    ///
    /// It is placed before the routes of the host that are more general, since the first route that matches counts. The
    /// routes of a host are in an added file of that name, which 'serow config get' prints.
    Add(RouteAddArguments),
    /// Remove a route, and wait until the server serves without it.
    Remove(RouteRemoveArguments),
    /// List the routes that 'serow route add' has made.
    List(RouteListArguments),
}

/// The options of `serow route add`.
#[derive(Debug, Args)]
pub(crate) struct RouteAddArguments {
    /// Host and path of the requests: shop.example, *.example, shop.example/api.
    ///
    /// A path stands for itself and everything below it; with a star, it is the pattern of a settings file: /img/*.png.
    #[arg(value_name = "HOST[/PATH]")]
    pub(crate) address: RouteAddress,

    /// Where the requests go: servers, as in 127.0.0.1:9000,http://10.0.0.5:80 or unix:/run/app.sock; files:/FOLDER; or
    /// redirect:URL.
    ///
    /// Servers have the parameters of a settings file: 127.0.0.1:9000,weight=2,127.0.0.1:9001,backup. They receive the
    /// whole path; a folder appears below the path of the route. {path} in a URL is the path of the request.
    pub(crate) target: RouteTarget,

    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The options of `serow route remove`.
#[derive(Debug, Args)]
pub(crate) struct RouteRemoveArguments {
    /// Host and path of the route, as 'serow route list' prints them.
    #[arg(value_name = "HOST[/PATH]")]
    pub(crate) address: RouteAddress,

    #[command(flatten)]
    pub(crate) fleet: FleetArguments,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}

/// The options of `serow route list`.
#[derive(Debug, Args)]
pub(crate) struct RouteListArguments {
    /// Print the routes as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}
