//! The root, and the file as a whole.

use std::path::Path;

use serow_document::{Place, Problem, Problems};
use serow_message::{KnownHeader, is_token_byte};

use super::{acme, admin, sites, tls, upstream};
use crate::{
    SettingError,
    listeners::{listeners, refuse_duplicates},
    options::{AcmeOptions, GeneralOptions, ListeningOptions},
    paths,
    site_addresses::SiteAddresses,
    tables::{
        root::{AccountTable, RootTable},
        sites::{SiteTable, SiteTlsChoice},
    },
    values::{AccountName, AdminSocket, CertificateNames},
};

/// The tables of a settings file after they were checked.
#[derive(Debug)]
pub struct CheckedTables {
    /// The root. Its paths are relative to the working directory, and it has the addresses and certificates of sites.
    pub root: RootTable,
    /// Which sites are reached at which addresses.
    pub addresses: SiteAddresses,
}

/// Checks the tables of a settings file in this folder, and adds to the root what sites say for it.
#[must_use]
pub fn check(mut table: RootTable, folder: &Path, problems: &Problems) -> CheckedTables {
    complete_root(&mut table, folder, problems);
    let addresses = SiteAddresses::new(&mut table.general.listening, &table.sites, problems);
    let AccountTable { user, group } = &table.account;
    if let Err(found) = general(&table.general).and_then(|()| account(user.as_ref(), group.as_ref())) {
        problems.add(found.problem(&Place::default()));
    }
    for table in &table.upstreams {
        if let Err(found) = upstream(&table.settings.servers, &table.arguments) {
            problems.add(found.problem(&table.place));
        }
    }
    sites::check(&table.sites, problems);
    CheckedTables { root: table, addresses }
}

fn general(options: &GeneralOptions) -> Result<(), SettingError> {
    let has_acme = !options.acme.names.is_empty() || options.acme.on_demand.is_some();
    acme(&options.acme)?;
    tls(&options.tls, has_acme)?;
    admin(&options.admin)?;
    client_field(&options.listening)?;
    // Without an address, the system may have sockets for the server.
    if options.listening.listen.is_empty() {
        return Ok(());
    }
    let (listeners, _) = listeners(&options.listening, &options.tls, has_acme || !options.tls.tls.is_empty(), &[])?;
    refuse_duplicates(&listeners, options.admin.admin.as_ref().and_then(AdminSocket::address))
}

/// Refuses a field that cannot have the address of the client, and one that nobody is trusted to send.
fn client_field(options: &ListeningOptions) -> Result<(), SettingError> {
    let Some(name) = &options.trust_header else { return Ok(()) };
    let refuse = |text: &str| Err(SettingError::new("trust-header", format!("`trust-header`{text}")));
    // Other fields that the server knows mean something else.
    let known = KnownHeader::recognise(name.as_bytes());
    let is_possible = known.is_none_or(|known| known == KnownHeader::XForwardedFor);
    if name.is_empty() || !name.bytes().all(is_token_byte) || !is_possible {
        return refuse(&format!(": {name:?} does not name a client: write a field such as \"CF-Connecting-IP\""));
    }
    if options.trust.is_empty() {
        return refuse(
            " needs `trust`, with the networks of the proxies that send the field: clients may send it as well",
        );
    }
    Ok(())
}

/// Refuses a group without a user.
///
/// # Errors
///
/// The remedy.
pub fn account(user: Option<&AccountName>, group: Option<&AccountName>) -> Result<(), SettingError> {
    if group.is_some() && user.is_none() {
        let text = "`group` needs `user`: name the user whose group it is to be";
        return Err(SettingError::new("group", text));
    }
    Ok(())
}

/// Adds to the root what sites say for it, makes its paths relative to the folder of the file, and checks it as a whole.
fn complete_root(table: &mut RootTable, folder: &Path, problems: &Problems) {
    let RootTable { general, metrics, docker, sites, .. } = table;
    paths::resolve(general, folder);
    sites.iter().for_each(|site| add_names(&mut general.acme, site, problems));
    // Containers are sites as soon as there are some.
    if sites.is_empty() && docker.is_none() {
        problems.add(Problem::of_file(NOTHING_SERVED));
    }
    // They are of no use where nobody can read them.
    if metrics.route_metrics && general.admin.admin == Some(AdminSocket::Off) {
        let text = "`route-metrics` needs the admin socket, where metrics are read: remove admin = \"off\"";
        problems.add(Problem::of_key(Place::default().key("route-metrics"), text));
    }
}

/// Has a certificate ordered for each host of a site that wants one.
fn add_names(acme: &mut AcmeOptions, site: &SiteTable, problems: &Problems) {
    if site.settings.tls != Some(SiteTlsChoice::Acme) {
        return;
    }
    let hosts = site.settings.hosts.as_deref().unwrap_or_default();
    if hosts.is_empty() {
        let text = "\"acme\" needs `hosts`: name those that need a certificate";
        problems.add(Problem::of_value(site.place.key("tls"), text));
    }
    for (number, host) in hosts.iter().enumerate().filter(|(_, host)| *host != "*") {
        match host.parse::<CertificateNames>() {
            // Another list may have it already.
            Ok(names) if acme.names.iter().flat_map(|names| &names.0).any(|name| names.0.contains(name)) => {}
            Ok(names) => acme.names.push(names),
            Err(error) => {
                let place = site.place.key("hosts").element(number);
                problems.add(Problem::of_value(place, format!("`tls` is \"acme\": {error}")));
            }
        }
    }
}

const NOTHING_SERVED: &str =
    r#"there is no site, so nothing is served: write one, as in [[site]] and below it files = { root = "public" }"#;
