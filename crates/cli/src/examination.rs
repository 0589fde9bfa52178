//! `serow check --request`: what would become of a request.

use std::io::{self, Write};

use serow::{Address, Body, Headers, Method, Request, RequestHead, Scheme};
use serow_assembly::Configuration;
use serow_config::printable::on_one_line;
use serow_message::{KnownHeader, Target, Version};
use serow_site::{Finding, connection_to};

use crate::command_error::CommandError;

/// Prints it, a line for each part of the server.
pub(crate) fn print(configuration: &Configuration, request: &str, fields: &[String]) -> Result<(), CommandError> {
    let asked = Asked::parse(request).map_err(CommandError::Usage)?;
    let request = asked.request(configuration, fields).map_err(CommandError::Usage)?;
    let shown = format!("{} {}", request.method, request.target.path());
    let shown = format!("{shown} for the host {}\n", request.host().unwrap_or("that is none"));
    let findings = configuration.site.examine(request);
    let lines = findings.iter().map(|Finding { subject, text }| format!("{subject:8} {}\n", on_one_line(text)));
    let lines: String = lines.collect();
    write!(io::stdout(), "{}\n{lines}", on_one_line(shown.trim_end())).map_err(CommandError::output)
}

/// A request, as it is written: `GET /path`, `GET https://host/path`, or one of these without the method.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    method: &'a str,
    scheme: Scheme,
    /// With its port, if it has one.
    authority: Option<&'a str>,
    target: &'a str,
}

impl<'a> Asked<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let wrong = || format!("--request {text:?}: write it as in 'GET /static/a.css' or 'GET https://example.com/'");
        let text = text.trim();
        let (method, url) = text.split_once(' ').unwrap_or(("GET", text));
        let url = url.trim();
        if url.starts_with('/') {
            return Ok(Self { method, scheme: Scheme::Http, authority: None, target: url });
        }
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let scheme = match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(wrong()),
        };
        let (authority, target) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let target = if target.is_empty() { "/" } else { target };
        if authority.is_empty() {
            return Err(wrong());
        }
        Ok(Self { method, scheme, authority: Some(authority), target })
    }

    /// The port of the authority, or of the scheme.
    fn port(&self) -> Option<u16> {
        let authority = self.authority?;
        let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        Some(port.unwrap_or(if self.scheme == Scheme::Https { 443 } else { 80 }))
    }

    /// The request, as a client on this machine would send it.
    fn request(&self, configuration: &Configuration, fields: &[String]) -> Result<Request, String> {
        let target = Target::parse(self.target.as_bytes().to_vec().into(), false)
            .map_err(|_| format!("--request: {:?} is not a path: encode what cannot be in one", self.target))?;
        let method = Method::from_bytes(self.method.as_bytes())
            .map_err(|_| format!("--request: {:?} is not a method: write GET or another one", self.method))?;
        let mut headers = Headers::new();
        for field in fields {
            let wrong = || format!("--header {field:?}: write it as in 'Cookie: beta=1'");
            let (name, value) = field.split_once(':').ok_or_else(wrong)?;
            headers.append(name.trim(), value.trim()).map_err(|_| wrong())?;
        }
        let addresses = configuration.server.listeners.iter().filter_map(|listener| match listener.address {
            Address::Tcp(address) => Some(address),
            Address::Unix(_) | Address::Descriptor(_) => None,
        });
        let addresses: Vec<_> = addresses.collect();
        let reached = addresses.iter().find(|address| Some(address.port()) == self.port()).or(addresses.first());
        if !headers.contains(KnownHeader::Host) {
            let (hosts, _) = configuration.site.hosts_in_place_of("localhost", reached.copied()).unwrap_or_default();
            let host = self.authority.or(hosts.first().copied()).unwrap_or("localhost").trim_start_matches("*.");
            headers.append(KnownHeader::Host, host).map_err(|_| format!("--request: {host:?} is not a host"))?;
        }
        let head = RequestHead { method, target, headers, version: Version::HTTP_11 };
        let local = reached.copied().unwrap_or(([127, 0, 0, 1], 80).into());
        Ok(Request::new(head, Body::empty(), connection_to(local, self.scheme)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_with_and_without_method_and_host() {
        let asked = |method, scheme, authority, target| Ok(Asked { method, scheme, authority, target });
        for (text, expected) in [
            ("GET /a?b=c", asked("GET", Scheme::Http, None, "/a?b=c")),
            ("/a", asked("GET", Scheme::Http, None, "/a")),
            ("POST https://a.example", asked("POST", Scheme::Https, Some("a.example"), "/")),
            ("GET http://[::1]:8080/x", asked("GET", Scheme::Http, Some("[::1]:8080"), "/x")),
        ] {
            assert_eq!(Asked::parse(text), expected, "{text}");
        }
        for text in ["", "GET", "GET a.example/", "GET ftp://a.example/", "GET https:///a"] {
            assert!(Asked::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_port_is_that_of_the_authority_or_of_the_scheme() {
        for (text, expected) in [
            ("/a", None),
            ("https://a.example/", Some(443)),
            ("http://a.example/", Some(80)),
            ("http://a.example:8080/", Some(8080)),
            ("http://[::1]/", Some(80)),
        ] {
            assert_eq!(Asked::parse(text).unwrap().port(), expected, "{text}");
        }
    }
}
