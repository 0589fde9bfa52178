//! `serow check`: whether a settings file is valid; `serow schema`: what can be in one.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::Path,
};

use rustix::process::geteuid;
use serow::{Address, Versions};
use serow_access_log::Destination;
use serow_assembly::{Account, Configuration, ServedFolder, ServerSettings, open_to_changes};
use serow_config::{
    listeners::{ListenerSettings, Purpose},
    printable::on_one_line,
};
use serow_net::process::become_user;

use crate::{
    application_host::application_host, arguments::CheckArguments, command_error::CommandError, examination,
    script_test,
};

/// Reads a settings file as `serow run` does, and says what it is, and what runs its applications.
pub(crate) fn run(arguments: &CheckArguments) -> Result<(), CommandError> {
    if !arguments.script_test.is_empty() {
        return script_test::run(&arguments.script_test);
    }
    let path = &arguments.settings.file;
    let configuration = serow_assembly::read(path, &application_host()).map_err(CommandError::from)?;
    if let Some(request) = &arguments.request {
        return examination::print(&configuration, request, &arguments.header);
    }
    let mut lines = vec![format!("{} is valid: {}", path.display(), summary(&configuration))];
    let mut explanation = String::new();
    if arguments.explain {
        lines.extend(configuration.server.listeners.iter().map(purpose));
        lines.extend(dns_records(&configuration.server));
        explanation = format!("\n{}\n", serow_config::explain(path).map_err(CommandError::from)?.trim());
    }
    lines.extend(warnings(&configuration).map(|warning| format!("warning: {warning}")));
    lines.extend(without_tls(&configuration).map(|note| format!("note: {note}")));
    lines.extend(hosts_only(&configuration).map(|note| format!("note: {note}")));
    lines.extend(configuration.notes.iter().map(|note| format!("note: {note}")));
    for application in &configuration.applications {
        let name = application.name();
        let interpreter = application.interpreter().map_err(|why| CommandError::report(format!("{name}: {why}")))?;
        lines.push(format!("{name}: {interpreter}"));
    }
    check_access(&configuration)?;
    // Behind that sign, all that is said is a settings file again.
    let sign = if arguments.explain { "# " } else { "" };
    let lines: String = lines.iter().map(|line| format!("{sign}{}\n", on_one_line(line))).collect();
    write!(io::stdout(), "{lines}{explanation}").map_err(CommandError::output)
}

/// Possible errors, such as those that only the clock or the network can confirm.
fn warnings(configuration: &Configuration) -> impl Iterator<Item = String> {
    let server = &configuration.server;
    let dates = server.encryption.iter().flat_map(|encryption| &encryption.date_problems).map(ToString::to_string);
    let names = server.acme.iter().flat_map(|acme| acme.warnings(&server.listeners));
    let folders = open_to_changes(&configuration.folders, &server.listeners);
    let docker = configuration.docker.iter().filter_map(|docker| docker.address.problem());
    dates.chain(names).chain(folders).chain(docker).chain(missing_folders(configuration))
}

/// That a listener on the port of HTTPS speaks cleartext.
fn without_tls(configuration: &Configuration) -> Option<String> {
    let is_plain = |listener: &&ListenerSettings| {
        listener.purpose == Purpose::Plain
            && matches!(&listener.address, Address::Tcp(address) if address.port() == 443)
    };
    let listener = configuration.server.listeners.iter().find(is_plain)?;
    Some(format!(
        "{} is without TLS, which browsers use on port 443: write tls = \"CERTIFICATE,KEY\", or for certificates by ACME \
         [acme] with names = [\"example.com\"]",
        listener.address
    ))
}

/// That access logs cannot be written, since their folders are missing. No error: systemd creates that of `LogsDirectory=`
/// when the server starts.
fn missing_folders(configuration: &Configuration) -> impl Iterator<Item = String> {
    let files = configuration.logs.destinations().into_iter().filter_map(|destination| match destination {
        Destination::File(file) => Some(file),
        _ => None,
    });
    // The folder of a bare name is the current one.
    let is_missing = |folder: &Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing = files.filter(move |file| file.parent().is_some_and(is_missing));
    missing.map(|file| {
        format!(
            "`access-log` {}: its folder does not exist: create it before the server starts, or name another file",
            file.display()
        )
    })
}

/// That the address of the server alone leads to no site.
fn hosts_only(configuration: &Configuration) -> Option<String> {
    let listeners = &configuration.server.listeners;
    // With TLS, clients ask for the names in certificates; and the sites of containers are not there yet.
    if configuration.sites == 0 || listeners.iter().any(|listener| listener.purpose == Purpose::Encrypted) {
        return None;
    }
    let (hosts, _) = listeners.iter().find_map(|listener| match &listener.address {
        Address::Tcp(address) => configuration.site.hosts_in_place_of("localhost", Some(*address)),
        Address::Unix(_) | Address::Descriptor(_) => None,
    })?;
    let host = hosts.first().copied().unwrap_or("example.com");
    Some(format!(
        "each site has hosts, so requests for others, such as localhost or an address, get 421: to try the server, write \
         curl -H 'Host: {host}' …, or leave `hosts` out in one site"
    ))
}

/// Whether the server's user may read what is served. Where this is root, this process becomes that user, as a
/// generation does; any other user can check its own access only.
fn check_access(configuration: &Configuration) -> Result<(), CommandError> {
    if let Some(Account { user, groups }) = &configuration.account {
        let is_other = geteuid().as_raw() != *user;
        if is_other && become_user(*user, groups).is_err() {
            return Ok(());
        }
    }
    let unreadable = configuration.folders.iter().filter_map(ServedFolder::unreadable);
    let lines: Vec<_> = unreadable.map(|unreadable| on_one_line(&unreadable.to_string())).collect();
    if lines.is_empty() { Ok(()) } else { Err(CommandError::report(lines.join("\n"))) }
}

/// The purpose of a listener.
fn purpose(listener: &ListenerSettings) -> String {
    let purpose = match listener.purpose {
        Purpose::Encrypted => "with TLS",
        Purpose::Plain => "without TLS",
        Purpose::Redirect => "redirects to TLS",
    };
    format!("{} {purpose}", listener.address)
}

/// The records by which clients use HTTP/3 from the first connection on (RFC 9460 §9). `NAME` stands for the name of a
/// site.
fn dns_records(server: &ServerSettings) -> Vec<String> {
    let parameters = match server.versions {
        Versions::Both => "alpn=\"h3,h2\"",
        Versions::Http1 => "alpn=h3",
        Versions::Http2 => "alpn=\"h3,h2\" no-default-alpn",
    };
    let addresses = server.listeners.iter().filter_map(ListenerSettings::quic_address).filter(|_| server.http3);
    // A port of several addresses has one record.
    let ports: BTreeSet<_> = addresses.map(|address| address.port()).collect();
    let record = |port| match port {
        443 => format!("DNS record for HTTP/3: NAME. HTTPS 1 . {parameters}"),
        // RFC 9460 §9.1.
        other => format!("DNS record for HTTP/3: _{other}._https.NAME. HTTPS 1 NAME. {parameters}"),
    };
    ports.into_iter().map(record).collect()
}

/// `serow schema`: prints the JSON schema of settings files.
pub(crate) fn print_schema() -> Result<(), CommandError> {
    writeln!(io::stdout(), "{:#}", serow_config::schema()).map_err(CommandError::output)
}

/// `serow reference`: prints docs/settings.md.
pub(crate) fn print_reference() -> Result<(), CommandError> {
    io::stdout().write_all(serow_config::reference().as_bytes()).map_err(CommandError::output)
}

/// `2 listeners, 1 upstream, 1 application, 1 site, 3 routes`
fn summary(configuration: &Configuration) -> String {
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let Configuration { server, upstreams, applications, sites, routes, .. } = configuration;
    let parts = [
        (server.listeners.len(), "listener"),
        (upstreams.len(), "upstream"),
        (applications.len(), "application"),
        (*sites, "site"),
        (*routes, "route"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun));
    parts.collect::<Vec<_>>().join(", ")
}
