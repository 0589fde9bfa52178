//! The line that says where a server can be seen.

use std::io::{self, Write};

use serow::{Address, BoundServer};
use serow_assembly::Encryption;
use serow_config::printable::on_one_line;
use serow_site::Sites;

/// Says what is served and where it can be seen. On standard error: standard output is for the access log.
pub(crate) fn announce(line: &str) {
    // It serves as well where nobody reads this.
    let _ = write_line(&on_one_line(line));
}

/// Writes a line to standard error, by one call: the lines of other processes stand before it or behind it.
pub(crate) fn write_line(line: &str) -> io::Result<()> {
    io::stderr().write_all(format!("{line}\n").as_bytes())
}

/// Says what a worker of an application has written, with the worker's number; without one it is of the process that
/// workers are forked from.
pub(crate) fn of_worker(application: &str, worker: usize, line: &str) {
    let line = line.replace('\t', "    ");
    match worker {
        0 => announce(&format!("{application}: {line}")),
        worker => announce(&format!("{application} {worker}: {line}")),
    }
}

/// The first line of a server: the name of what it serves, and its URLs.
pub(crate) fn line(served: &str, server: &BoundServer, sites: &Sites, encryption: Option<&Encryption>) -> String {
    let places = server.urls().zip(server.addresses());
    let mut urls: Vec<_> =
        places.map(|(url, address)| format!("{}{}", with_hosts(&url, sites, address), reach(address))).collect();
    // Several sockets of one address that belong to one thread.
    urls.dedup();
    let mut line = format!("Serving {served} at {}", urls.join(" and "));
    if let Some(certificate) = encryption.and_then(|encryption| encryption.development.as_ref()) {
        let place = match &certificate.file {
            Some(file) => format!("in {}", file.display()),
            None => "for this run only".to_owned(),
        };
        line.push_str(&format!(" (certificate for development {place}, SHA-256 {})", certificate.fingerprint));
    }
    line
}

/// The URLs that lead to sites, where the host in this one does not.
fn with_hosts(url: &str, sites: &Sites, address: &Address) -> String {
    let listener = match address {
        Address::Tcp(address) => Some(*address),
        Address::Unix(_) | Address::Descriptor(_) => None,
    };
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // The port is behind the last colon that is not in an address of IPv6.
    let port = authority.rfind(':').filter(|colon| !authority[*colon..].contains(']'));
    let (host, port) = authority.split_at(port.unwrap_or(authority.len()));
    // Without sites, those of containers come later.
    let hosts = sites.hosts_in_place_of(host, listener).filter(|(_, count)| *count > 0);
    let Some((hosts, count)) = hosts else { return url.to_owned() };
    let named = hosts.iter().take(MAX_HOSTS).map(|host| format!("{scheme}://{host}{port}{path}"));
    let named = named.collect::<Vec<_>>().join(" and ");
    match count.checked_sub(MAX_HOSTS) {
        None | Some(0) => named,
        Some(more) => format!("{named} and {more} more"),
    }
}

/// The clients that reach an address whose URL looks like one of this machine only.
fn reach(address: &Address) -> &'static str {
    match address {
        Address::Tcp(address) if address.ip().is_unspecified() && address.is_ipv4() => " (all IPv4 addresses)",
        Address::Tcp(address) if address.ip().is_unspecified() => " (all addresses)",
        Address::Tcp(_) | Address::Unix(_) | Address::Descriptor(_) => "",
    }
}

/// Hosts of sites that the line has room for.
const MAX_HOSTS: usize = 3;

#[cfg(test)]
mod tests {
    use serow::Server;
    use serow_router::{Action, FixedResponse, Route, Router, Site};
    use serow_site::{SitePolicies, SiteScripts};

    use super::*;

    #[test]
    fn an_address_that_means_all_is_announced_as_such() {
        for (listen, expected) in [
            ("127.0.0.1:0", "Serving it at http://127.0.0.1:PORT/"),
            ("0.0.0.0:0", "Serving it at http://127.0.0.1:PORT/ (all IPv4 addresses)"),
            (":0", "Serving it at http://localhost:PORT/ (all addresses)"),
        ] {
            let server = Server::new().listen(listen).workers(1).ignore_signals().bind().unwrap();
            let Some(Address::Tcp(address)) = server.addresses().next() else { panic!("no port") };
            let said = line("it", &server, &sites(&[&[]]), None).replace(&address.port().to_string(), "PORT");
            assert_eq!(said, expected);
        }
    }
    /// Sites with these hosts.
    fn sites(hosts: &[&[&str]]) -> Sites {
        let of_hosts = |hosts: &&[&str]| {
            let route = Route::new("/*".parse().unwrap(), Action::Respond(FixedResponse::new(200).unwrap()));
            let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
            Site { hosts, ..Site::new(vec![route]) }
        };
        let router = Router::new(hosts.iter().map(of_hosts).collect()).unwrap();
        Sites::Routed { router, policies: SitePolicies::default(), scripts: SiteScripts::default() }
    }

    #[test]
    fn the_urls_that_are_announced_lead_to_sites() {
        let address = Address::Tcp("[::]:8080".parse().unwrap());
        for (hosts, url, expected) in [
            (&[&["example.com"][..], &[]][..], "http://localhost:8080/", "http://localhost:8080/"),
            (&[&["localhost"], &["a.example"]], "http://localhost:8080/", "http://localhost:8080/"),
            (&[&["example.com", "www.example.com"]], "http://localhost:8080/", "http://example.com:8080/"),
            (&[&["a.example"], &["b.example"]], "https://[::1]/", "https://a.example/ and https://b.example/"),
            (&[&["127.0.0.1"]], "http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
            (
                &[&["a"], &["b"], &["c"], &["d"], &["e"]],
                "http://127.0.0.1:8080/",
                "http://a:8080/ and http://b:8080/ and http://c:8080/ and 2 more",
            ),
        ] {
            assert_eq!(with_hosts(url, &sites(hosts), &address), expected, "{hosts:?}");
        }
    }
}
