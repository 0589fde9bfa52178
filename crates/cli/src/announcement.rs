//! The line that says where a server can be seen.

use std::io::{self, Write};

use serow::{Address, BoundServer};
use serow_config::printable::on_one_line;
use serow_settings::Encryption;

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

/// What is served and where it can be seen.
pub(crate) fn line(served: &str, server: &BoundServer, encryption: Option<&Encryption>) -> String {
    let places = server.urls().zip(server.addresses());
    let mut urls: Vec<_> = places.map(|(url, address)| format!("{url}{}", reach(address))).collect();
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

/// The clients that reach an address whose URL looks like one of this machine only.
fn reach(address: &Address) -> &'static str {
    match address {
        Address::Tcp(address) if address.ip().is_unspecified() && address.is_ipv4() => " (all IPv4 addresses)",
        Address::Tcp(address) if address.ip().is_unspecified() => " (all addresses)",
        Address::Tcp(_) | Address::Unix(_) | Address::Descriptor(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use serow::Server;

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
            let said = line("it", &server, None).replace(&address.port().to_string(), "PORT");
            assert_eq!(said, expected);
        }
    }
}
