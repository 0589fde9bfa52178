//! `serow proxy`: hands requests to other servers until it is told to stop.

use serow_net::process::forbid_tracing;
use serow_proxy::{Proxy, Upkeep, Upstream};

use crate::{
    command_error::CommandError,
    error_log,
    serving::{Served, Serving},
    settings::ProxySettings,
};

/// Proxies until TERM or INT.
pub(crate) fn serve(settings: ProxySettings) -> Result<(), CommandError> {
    let ProxySettings { upstream, forwarding, server } = settings;
    error_log::begin(server.level);
    forbid_tracing().map_err(CommandError::system)?;
    let served = upstream.servers.iter().map(|server| server.address.to_string()).collect::<Vec<_>>().join(", ");
    let upstream = Upstream::new(upstream);
    let _upkeep = Upkeep::start(vec![upstream.clone()]).map_err(CommandError::system)?;
    let proxy = Proxy::new(upstream.clone(), forwarding);
    Serving::bind(server)?.serve(proxy, Served { name: &served, upstreams: vec![upstream], ..Served::default() })
}
