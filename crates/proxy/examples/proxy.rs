//! `proxy ADDR UPSTREAM...`: answers requests at the address with what the servers answer, in turns.

use std::{env, error::Error};

use serow::Server;
use serow_proxy::{ForwardingSettings, Proxy, ServerSettings, Upstream, UpstreamSettings};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().ok_or("usage: proxy ADDR UPSTREAM...")?;
    let servers = arguments.map(|text| text.parse().map(ServerSettings::new)).collect::<Result<_, _>>()?;
    let upstream = Upstream::new(UpstreamSettings::new("upstream", servers));
    Server::new().listen(address).workers(1).run(Proxy::new(upstream, ForwardingSettings::default()))?;
    Ok(())
}
