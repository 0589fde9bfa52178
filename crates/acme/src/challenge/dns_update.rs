//! dns-01 by updates of the zone (RFC 2136), signed with a key (TSIG, RFC 8945).

use std::{fmt, net::SocketAddr, time::Duration};

use serow_dns::{LookupError, Resolver, UpdateClient, UpdateError, has_text, message::RecordChange, tsig::TsigKey};
use serow_net::time;
use tokio::time::{Instant, sleep, sleep_until};

use crate::failure::Failure;

/// A name server that accepts signed updates.
#[derive(Clone, Debug)]
pub struct DnsUpdate {
    /// Its name or address.
    pub host: String,
    /// Its port, over TCP and UDP.
    pub port: u16,
    /// The key that it shares with this server.
    pub key: TsigKey,
    /// How long all name servers of the zone may take to publish a record; two minutes.
    pub propagation: Duration,
    /// How long to wait after all have published it; not at all.
    pub wait: Duration,
    /// The port of the zone's name servers; 53. The one with the address of `host` has its port.
    pub name_server_port: u16,
}

/// A name server of the zone.
struct NameServer {
    name: String,
    address: SocketAddr,
}

/// A name server's answer about a record.
enum Publication {
    Published,
    Missing,
    Failed(LookupError),
    /// It does not answer.
    Silent,
}

impl DnsUpdate {
    /// This name server, whose changes the zone's servers publish within two minutes.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16, key: TsigKey) -> Self {
        let (propagation, wait) = (Duration::from_secs(120), Duration::ZERO);
        Self { host: host.into(), port, key, propagation, wait, name_server_port: DNS_PORT }
    }

    /// Adds the record. It is not yet published when this is done.
    pub(super) async fn present(&self, record: &str, value: &str) -> Result<(), Failure> {
        self.change(record, value, RecordChange::Add { ttl: TTL }).await
    }

    /// Removes this value of the record only: another certificate may be validated with another value.
    pub(super) async fn clean_up(&self, record: &str, value: &str) -> Result<(), Failure> {
        self.change(record, value, RecordChange::Remove).await
    }

    async fn change(&self, record: &str, value: &str, change: RecordChange) -> Result<(), Failure> {
        let client = self.client().await?;
        let failed = |error| self.failure(record, &error);
        let name = client.canonical_name(record).await.map_err(failed)?;
        let zone = client.zone(&name).await.map_err(failed)?;
        tracing::debug!(%zone, %name, ?change, "DNS update");
        client.update(&zone, &name, value, change, time::wall).await.map_err(failed)
    }

    /// Waits until all name servers of the zone that answer have the record, until the deadline at most.
    pub(super) async fn await_publication(&self, record: &str, value: &str, deadline: Instant) -> Result<(), Failure> {
        let client = self.client().await?;
        let failed = |error| self.failure(record, &error);
        let name = client.canonical_name(record).await.map_err(failed)?;
        let zone = client.zone(&name).await.map_err(failed)?;
        let mut waiting = self.name_servers(&client, &zone).await.map_err(failed)?;
        let mut has_answered = false;
        let mut interval = FIRST_INTERVAL;
        loop {
            let (mut missing, mut silent) = (Vec::new(), Vec::new());
            for server in waiting {
                match server.publication(&name, value).await {
                    Publication::Published => has_answered = true,
                    Publication::Silent => silent.push(server),
                    Publication::Missing => missing.push((server, None)),
                    Publication::Failed(error) => missing.push((server, Some(error))),
                }
            }
            let Some((server, error)) = missing.first() else {
                for server in &silent {
                    tracing::warn!("{server} does not answer: it is not known whether it has {record}");
                }
                if !has_answered {
                    tracing::warn!("no name server of {zone} answers here: the authority may not find {record} yet");
                }
                return Ok(());
            };
            if Instant::now() >= deadline {
                return Err(self.unpublished(record, server, error.as_ref()));
            }
            sleep_until(deadline.min(Instant::now() + interval)).await;
            interval = MAX_INTERVAL.min(interval * 2);
            waiting = missing.into_iter().map(|(server, _)| server).chain(silent).collect();
        }
    }

    /// Waits as long as the settings say in addition.
    pub(super) async fn settle(&self) {
        sleep(self.wait).await;
    }

    async fn client(&self) -> Result<UpdateClient, Failure> {
        let address = match self.host.parse() {
            Ok(address) => address,
            Err(_) => {
                let unknown = |reason| Failure::local(format!("the name server {}: {reason}", self.host));
                let found = Resolver::default().addresses(&self.host).await;
                let found = found.map_err(|error| unknown(error.to_string()))?;
                *found.items.first().ok_or_else(|| unknown(LookupError::NoRecords.to_string()))?
            }
        };
        Ok(UpdateClient { server: (address, self.port).into(), key: self.key.clone() })
    }

    /// The servers of the zone, once for each address.
    async fn name_servers(&self, client: &UpdateClient, zone: &str) -> Result<Vec<NameServer>, UpdateError> {
        let mut servers = Vec::new();
        for name in client.name_servers(zone).await? {
            let addresses = client.addresses(&name).await.unwrap_or_else(|error| {
                tracing::warn!("the name server {name} of {zone} has no known address: {error}");
                Vec::new()
            });
            for address in addresses {
                let is_own = address == client.server.ip();
                let port = if is_own { client.server.port() } else { self.name_server_port };
                servers.push(NameServer { name: name.clone(), address: (address, port).into() });
            }
        }
        Ok(servers)
    }

    fn failure(&self, record: &str, error: &UpdateError) -> Failure {
        Failure::local(format!("the name server {}:{} was to change {record}: {error}", self.host, self.port))
    }

    fn unpublished(&self, record: &str, server: &NameServer, error: Option<&LookupError>) -> Failure {
        let answer = error.map_or_else(|| "does not have it".to_owned(), |error| format!("fails: {error}"));
        Failure::local(format!(
            "{record} was added at {}:{}, but {server} {answer} after {:?}: look at the transfers of the zone to it",
            self.host, self.port, self.propagation
        ))
    }
}

impl NameServer {
    async fn publication(&self, name: &str, value: &str) -> Publication {
        match has_text(self.address, name, value).await {
            Ok(true) => Publication::Published,
            Ok(false) => Publication::Missing,
            Err(LookupError::NoResponse) => Publication::Silent,
            Err(error) => Publication::Failed(error),
        }
    }
}

impl fmt::Display for NameServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the name server {} ({})", self.name, self.address.ip())
    }
}

/// RFC 1035 §4.2.
const DNS_PORT: u16 = 53;

/// Seconds that resolvers may keep the record, which is removed after the validation; as in certbot and lego.
const TTL: u32 = 60;

/// Servers that are notified of changes (RFC 1996) have them within a second, or after BIND's notify-delay of 5 s.
const FIRST_INTERVAL: Duration = Duration::from_millis(200);
const MAX_INTERVAL: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::{
        fs,
        net::{Ipv4Addr, UdpSocket},
        thread,
    };

    use serow_name_server::{NameServer as Bind, Zone};
    use serow_requirements::requires;

    use super::*;

    /// A server of one zone.
    fn start(records: &str) -> Bind {
        let policy = "grant serow subdomain example.com TXT;";
        Bind::start(&[Zone { name: "example.com", records, policy }])
    }

    /// Lets a server answer queries over UDP at another address too; returns the port. named does not listen on addresses
    /// that no interface has.
    fn relay(address: [u8; 4], server: SocketAddr) -> u16 {
        let socket = UdpSocket::bind((Ipv4Addr::from(address), 0)).unwrap();
        let port = socket.local_addr().unwrap().port();
        thread::spawn(move || {
            let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let mut packet = [0; 512];
            while let Ok((length, client)) = socket.recv_from(&mut packet) {
                back.send_to(&packet[..length], server).unwrap();
                let length = back.recv(&mut packet).unwrap();
                socket.send_to(&packet[..length], client).unwrap();
            }
        });
        port
    }

    fn update(server: &Bind) -> DnsUpdate {
        let key = fs::read_to_string(server.key_file()).unwrap().parse().unwrap();
        let address = server.address;
        DnsUpdate::new(address.ip().to_string(), address.port(), key)
    }

    fn in_time() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test]
    async fn values_of_one_name_come_and_go_independently() {
        requires!("program:named", "program:dig");
        let server = start("_acme-challenge.www CNAME www.validation");
        let update = update(&server);
        for (record, name) in [
            ("_acme-challenge.example.com.", "_acme-challenge.example.com"),
            ("_acme-challenge.www.example.com.", "www.validation.example.com"),
        ] {
            let (first, second) = tokio::join!(update.present(record, "a"), update.present(record, "b"));
            first.unwrap();
            second.unwrap();
            update.await_publication(record, "a", in_time()).await.unwrap();
            assert_eq!(server.texts(name), ["a", "b"], "{name}");
            update.clean_up(record, "a").await.unwrap();
            assert_eq!(server.texts(name), ["b"], "{name}");
            update.clean_up(record, "b").await.unwrap();
            assert!(server.texts(name).is_empty(), "{name}");
        }
    }

    #[tokio::test]
    async fn publication_is_awaited_at_all_servers_that_answer() {
        requires!("program:named");
        let record = "_acme-challenge.example.com.";
        let second = start("");
        let name_server_port = relay([127, 0, 0, 2], second.address);
        // There is no name server at 127.0.0.3.
        let records = "@ NS second\nsecond A 127.0.0.2\n@ NS third\nthird A 127.0.0.3\n";
        let server = start(records);
        let first_of_two = DnsUpdate { name_server_port, ..update(&server) };
        first_of_two.present(record, "a").await.unwrap();
        let failure = first_of_two.await_publication(record, "a", Instant::now()).await.unwrap_err();
        let expected = "but the name server second.example.com (127.0.0.2) does not have it";
        assert!(failure.text.contains(expected), "{failure}");
        // The second one gets it while it is waited for.
        let later = async {
            sleep(FIRST_INTERVAL / 2).await;
            update(&second).present(record, "a").await
        };
        let (published, added) = tokio::join!(first_of_two.await_publication(record, "a", in_time()), later);
        added.unwrap();
        published.unwrap();
    }

    #[tokio::test]
    async fn failures_name_the_server_and_the_remedy() {
        requires!("program:named");
        let server = start("");
        let good = update(&server);
        let key = fs::read_to_string(server.other_key("a", "serow", "hmac-sha256")).unwrap().parse().unwrap();
        let wrong_key = DnsUpdate { key, ..good.clone() };
        let address = server.address;
        for (update, record, expected) in [
            (
                &good,
                "_acme-challenge.example.org.",
                format!("{address} was to change _acme-challenge.example.org.: it"),
            ),
            (&wrong_key, "_acme-challenge.example.com.", "(BADSIG): compare the key files of both".to_owned()),
        ] {
            let failure = update.present(record, "a").await.unwrap_err();
            assert!(failure.text.contains(&expected), "{expected}: {failure}");
        }
    }
}
