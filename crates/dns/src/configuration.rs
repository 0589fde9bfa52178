//! The resolver's configuration on this machine: resolv.conf(5) and hosts(5).

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6},
    time::Duration,
};

/// Which name servers to query, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Configuration {
    pub(crate) servers: Vec<SocketAddr>,
    /// Domains that are appended to unqualified names.
    pub(crate) search: Vec<String>,
    /// Names with at least this many dots are first tried without a search domain.
    pub(crate) dots: usize,
    /// How long one server is waited for.
    pub(crate) timeout: Duration,
    /// How often all servers are tried.
    pub(crate) attempts: u32,
    /// Whether each question begins with another server (`rotate`).
    pub(crate) rotates: bool,
    /// Whether questions go over TCP at once (`use-vc`).
    pub(crate) over_tcp: bool,
}

impl Configuration {
    /// Parses a resolv.conf. Unknown lines and options are skipped, as in the C library: `edns0` and `trust-ad`, for
    /// example, concern features that this client does not use. `interface` maps the name of a network interface to its
    /// index.
    pub(crate) fn parse(text: &str, interface: impl Fn(&str) -> Option<u32>) -> Self {
        let mut configuration = Self::default();
        configuration.servers.clear();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") => {
                    configuration.servers.extend(words.next().and_then(|word| name_server(word, &interface)));
                }
                // The last of both counts.
                Some("search" | "domain") => {
                    let is_some = |word: &&str| *word != ".";
                    configuration.search =
                        words.filter(is_some).map(|word| word.trim_end_matches('.').to_owned()).collect();
                }
                Some("options") => words.for_each(|word| configuration.set_option(word)),
                _ => {}
            }
        }
        configuration.servers.truncate(MAX_SERVERS);
        if configuration.servers.is_empty() {
            configuration.servers = Self::default().servers;
        }
        configuration
    }

    fn set_option(&mut self, word: &str) {
        match word {
            "rotate" => self.rotates = true,
            "use-vc" => self.over_tcp = true,
            _ => {}
        }
        let Some((name, Ok(value))) = word.split_once(':').map(|(name, value)| (name, value.parse::<u32>())) else {
            return;
        };
        // The bounds are those of the C library.
        match name {
            "ndots" => self.dots = value.min(15) as usize,
            "timeout" => self.timeout = Duration::from_secs(value.clamp(1, 30).into()),
            "attempts" => self.attempts = value.clamp(1, 5),
            _ => {}
        }
    }

    /// The fully qualified names to try, in order.
    pub(crate) fn candidates(&self, name: &str) -> Vec<String> {
        if let Some(whole) = name.strip_suffix('.') {
            return vec![whole.to_owned()];
        }
        let mut candidates: Vec<_> = self.search.iter().map(|domain| format!("{name}.{domain}")).collect();
        let is_whole = name.matches('.').count() >= self.dots;
        candidates.insert(if is_whole { 0 } else { candidates.len() }, name.to_owned());
        candidates
    }
}

/// The defaults of resolv.conf(5).
impl Default for Configuration {
    fn default() -> Self {
        let servers = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))];
        let (rotates, over_tcp) = (false, false);
        Self { servers, search: Vec::new(), dots: 1, timeout: Duration::from_secs(5), attempts: 2, rotates, over_tcp }
    }
}

/// The address of a name server; a link-local one (fe80::1%eth0) names its interface (RFC 4007 §11).
fn name_server(text: &str, interface: impl Fn(&str) -> Option<u32>) -> Option<SocketAddr> {
    let (address, zone) = text.split_once('%').unwrap_or((text, ""));
    Some(match address.parse().ok()? {
        IpAddr::V6(address) => {
            let scope = zone.parse().ok().or_else(|| interface(zone)).unwrap_or_default();
            SocketAddrV6::new(address, PORT, 0, scope).into()
        }
        address @ IpAddr::V4(_) => SocketAddr::new(address, PORT),
    })
}

/// The number of a network interface of this machine.
pub(crate) fn interface_number(name: &str) -> Option<u32> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    fs::read_to_string(format!("/sys/class/net/{name}/ifindex")).ok()?.trim_end().parse().ok()
}

/// The addresses of a name in the text of a file `hosts`. `localhost` is this machine, whatever is written (RFC 6761
/// §6.3).
pub(crate) fn hosts(text: &str, name: &str) -> Vec<IpAddr> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let mut addresses = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        let address = words.next().and_then(|word| word.parse::<IpAddr>().ok());
        if let Some(address) = address
            && words.any(|word| word.eq_ignore_ascii_case(name))
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    if addresses.is_empty() && name.eq_ignore_ascii_case("localhost") {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    addresses
}

const PORT: u16 = 53;

/// As many as the C library asks (MAXNS).
const MAX_SERVERS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolv_conf_is_parsed() {
        let read = |text: &str| Configuration::parse(text, |name| (name == "eth0").then_some(7));
        assert_eq!(read(""), Configuration::default());
        assert_eq!(
            read(
                "# nameserver 10.0.0.1\n;\nnameserver nonsense\noptions edns0 trust-ad single-request ndots:x no-reload"
            ),
            Configuration::default()
        );
        let text = "domain lost.example\nnameserver 10.0.0.1\nnameserver fe80::1%eth0\nnameserver 10.0.0.2 # third\n\
                    nameserver 10.0.0.3\nsearch a.example b.example. .\noptions ndots:5 timeout:1 attempts:9 edns0 use-vc rotate";
        let found = read(text);
        let servers = ["10.0.0.1:53", "[fe80::1%7]:53", "10.0.0.2:53"].map(|server| server.parse().unwrap());
        assert_eq!(found.servers, servers);
        assert_eq!(found.search, ["a.example", "b.example"]);
        assert_eq!((found.dots, found.timeout, found.attempts), (5, Duration::from_secs(1), 5));
        assert!(found.rotates && found.over_tcp);
        let found = read("nameserver fe80::2%3\nnameserver fe80::3%lost\nnameserver 2001:db8::1");
        let servers = ["[fe80::2%3]:53", "[fe80::3]:53", "[2001:db8::1]:53"].map(|server| server.parse().unwrap());
        assert_eq!(found.servers, servers);
        assert!(interface_number("lo").is_some() && interface_number("../lo").is_none());
    }

    #[test]
    fn names_that_are_not_whole_are_made_so() {
        let search = || vec!["x.example".to_owned(), "y.example".to_owned()];
        let cases: [(&str, usize, Vec<String>, &[&str]); 6] = [
            ("app", 1, vec![], &["app"]),
            ("app", 1, search(), &["app.x.example", "app.y.example", "app"]),
            ("app.b", 1, search(), &["app.b", "app.b.x.example", "app.b.y.example"]),
            ("app.b", 2, search(), &["app.b.x.example", "app.b.y.example", "app.b"]),
            ("app", 0, search(), &["app", "app.x.example", "app.y.example"]),
            ("app.", 1, search(), &["app"]),
        ];
        for (name, dots, search, expected) in cases {
            let configuration = Configuration { search, dots, ..Configuration::default() };
            assert_eq!(configuration.candidates(name), expected, "{name}, {dots}");
        }
    }

    #[test]
    fn hosts_are_found() {
        let text = "127.0.0.1 localhost\n10.0.0.1 app.example App # the app\n10.0.0.2\tapp\n10.0.0.1 app\n# 10.0.0.3 app\n\
                    nonsense app\n::1 six";
        let cases: [(&str, &[&str]); 6] = [
            ("app", &["10.0.0.1", "10.0.0.2"]),
            ("APP.example.", &["10.0.0.1"]),
            ("six", &["::1"]),
            ("localhost", &["127.0.0.1"]),
            ("the", &[]),
            ("nobody", &[]),
        ];
        for (name, expected) in cases {
            let found: Vec<_> = hosts(text, name).iter().map(IpAddr::to_string).collect();
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(hosts("", "localhost").len(), 2);
    }
}
