//! `serow proxy`: hands requests to other servers until it is told to stop.

use serow_net::process::forbid_tracing;
use serow_proxy::{BackgroundTasks, Proxy, Upstream};

use crate::{
    error_log,
    failure::Failure,
    serving::{Served, Serving},
    settings::ProxySettings,
};

/// Proxies until TERM or INT.
pub(crate) fn serve(settings: ProxySettings) -> Result<(), Failure> {
    let ProxySettings { upstream, forwarding, server } = settings;
    error_log::begin(server.level);
    forbid_tracing().map_err(Failure::System)?;
    let served = upstream.servers.iter().map(|server| server.address.to_string()).collect::<Vec<_>>().join(", ");
    let upstream = Upstream::new(upstream);
    let _background_tasks = BackgroundTasks::start(vec![upstream.clone()]).map_err(Failure::System)?;
    let proxy = Proxy::new(upstream.clone(), forwarding);
    Serving::bind(server)?.serve(proxy, Served { name: &served, upstreams: vec![upstream], ..Served::default() })
}
