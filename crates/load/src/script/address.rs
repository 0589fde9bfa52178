//! Addresses as scripts see them: `wrk.lookup`, `wrk.connect`, and what they bring and take.

use std::{
    fs,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use mlua::{AnyUserData, Lua, MetaMethod, Table, UserData, UserDataMethods, Value};

use super::{ScriptError, kind};

/// An address in the hands of a script.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Address(pub(super) SocketAddr);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, address, ()| Ok(address.0.to_string()));
        methods.add_meta_method(MetaMethod::Eq, |_, address, other: AnyUserData| {
            Ok(other.borrow::<Self>().is_ok_and(|other| *other == *address))
        });
    }
}

impl Address {
    /// The address that a script gave.
    pub(super) fn of(value: &Value) -> Result<Self, ScriptError> {
        let address = value.as_userdata().and_then(|value| value.borrow::<Self>().ok().map(|address| *address));
        address.ok_or_else(|| {
            ScriptError::new(format_args!("an address of wrk.lookup is needed, not a {} value", kind(value)))
        })
    }
}

/// Puts `lookup` and `connect` into the table `wrk`.
pub(super) fn provide(lua: &Lua, wrk: &Table) -> mlua::Result<()> {
    let lookup = lua.create_function(|lua, (host, service): (Option<String>, Option<String>)| {
        let addresses = lookup(host.as_deref().unwrap_or("localhost"), service.as_deref())?;
        lua.create_sequence_from(addresses.into_iter().map(Address))
    })?;
    wrk.set("lookup", lookup)?;
    let connect = lua.create_function(|_, address: Value| {
        let Address(address) = Address::of(&address)?;
        Ok(TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok())
    })?;
    wrk.set("connect", connect)
}

/// All addresses of a host, with the port of a service.
fn lookup(host: &str, service: Option<&str>) -> Result<Vec<SocketAddr>, ScriptError> {
    let Some(port) = service.map_or(Some(0), port) else {
        let service = service.unwrap_or_default();
        return Err(ScriptError::new(format_args!("unknown service {service:?}: give the number of a port instead")));
    };
    match (host, port).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) => Err(ScriptError::new(format_args!("cannot resolve {host:?}: {error}"))),
    }
}

/// The port of a service: a number, or a name as in `/etc/services`.
fn port(service: &str) -> Option<u16> {
    let known = || match service {
        "http" => Some(80),
        "https" => Some(443),
        _ => listed(&fs::read_to_string("/etc/services").ok()?, service),
    };
    service.parse().ok().or_else(known)
}

/// The TCP port of a service in a list as services(5) describes it: `name port/protocol aliases… # comment`.
fn listed(services: &str, wanted: &str) -> Option<u16> {
    services.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let (name, port) = (words.next()?, words.next()?.strip_suffix("/tcp")?);
        if name == wanted || words.any(|alias| alias == wanted) { port.parse().ok() } else { None }
    })
}

/// For `wrk.connect`; what does not answer within this is of no use to a load generator.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_by_number_and_name() {
        for (service, expected) in [("8080", Some(8080)), ("http", Some(80)), ("https", Some(443)), ("-1", None)] {
            assert_eq!(port(service), expected, "{service}");
        }
        let services = "# a list\nother 7/udp\nother 8/tcp sink null # comment\n";
        for (service, expected) in [("other", Some(8)), ("null", Some(8)), ("comment", None), ("7", None)] {
            assert_eq!(listed(services, service), expected, "{service}");
        }
    }
}
