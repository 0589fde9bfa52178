//! The meaning of upstreams, and the proxies that hand requests to them.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serow_config::{
    SettingError,
    options::{
        CertificateChoice, ForwardedChoice, ForwardingOptions, UpstreamOptions, UpstreamTlsOptions, without_options,
    },
    paths::{resolve_server, resolve_upstream_tls},
    tables::{
        mirror::MirrorTable,
        upstreams::{ProtocolChoice, ProxySettings, ProxyTable, UpstreamSettings, UpstreamTable},
    },
    values::{NetworkRule, ServerRule, Span},
};
use serow_document::{Place, Problem, Problems, names::near};
use serow_proxy::{CgiProtocol, CheckKind, ForwardingSettings, Network, Protocol, Proxy, Upstream};
use serow_variables::Scope;

use crate::{
    cgi_variables::cgi_variables,
    forwarding_settings,
    kept_upstreams::{KeptUpstreams, WrittenUpstream},
    upstream_settings,
};

/// Which variables the texts of a proxy may name.
#[derive(Clone, Copy)]
pub(crate) struct ProxyScopes<'a> {
    /// Those of its site, which it knows.
    pub(crate) site: &'a Scope,
    /// Those of its route. A proxy does not learn what the path of the route matched.
    pub(crate) route: &'a Scope,
}

impl<'a> ProxyScopes<'a> {
    /// Those of a proxy that is all of its site.
    pub(crate) fn of_site(scope: &'a Scope) -> Self {
        Self { site: scope, route: scope }
    }

    fn forwarding_settings(self, options: ForwardingOptions) -> Result<ForwardingSettings, SettingError> {
        forwarding_settings(options.clone(), self.site).map_err(|found| {
            // The router sets what only it knows.
            match found.key == SET_HEADER && forwarding_settings(options, self.route).is_ok() {
                true => SettingError { text: CAPTURED.to_owned(), ..found },
                false => found,
            }
        })
    }
}

/// The upstreams of a file, and what asks them.
pub(crate) struct Proxying<'a> {
    problems: &'a Problems,
    /// The folder of the file.
    folder: &'a Path,
    /// The proxies that the root trusts.
    trust: &'a [NetworkRule],
    /// Whether the access log contains the attempts on upstream servers.
    note_attempts: bool,
    /// The names that there are, also of upstreams with which something is wrong.
    names: BTreeSet<String>,
    named: BTreeMap<Arc<str>, WrittenUpstream>,
    upstreams: UpstreamsBefore<'a>,
    /// Those that there were not.
    made: RefCell<Vec<Upstream>>,
    /// The files of the certificates that servers are shown.
    renewed_files: Vec<PathBuf>,
    /// The upstreams that routes define themselves, by their servers.
    nameless: RefCell<BTreeMap<Arc<str>, WrittenUpstream>>,
    /// Those of the latter that were used since they were last taken from here.
    used: RefCell<BTreeSet<Arc<str>>>,
}

/// The upstreams that there are already.
#[derive(Clone, Copy)]
pub(crate) struct UpstreamsBefore<'a> {
    pub(crate) kept: &'a KeptUpstreams,
    /// Those of sites that stay, and are not read.
    pub(crate) staying: &'a KeptUpstreams,
}

/// The upstreams of settings that were read.
pub(crate) struct ReadUpstreams {
    pub(crate) named: BTreeMap<Arc<str>, WrittenUpstream>,
    pub(crate) nameless: BTreeMap<Arc<str>, WrittenUpstream>,
    /// Those without a name that are used by others than independent sites.
    pub(crate) used: BTreeSet<Arc<str>>,
    /// Those that there were not.
    pub(crate) made: Vec<Upstream>,
}

impl<'a> Proxying<'a> {
    /// The upstreams that are written in a file in this folder; what is wrong with them is noted.
    pub(crate) fn new(
        tables: Vec<UpstreamTable>,
        folder: &'a Path,
        (trust, note_attempts): (&'a [NetworkRule], bool),
        upstreams: UpstreamsBefore<'a>,
        problems: &'a Problems,
    ) -> Self {
        let (names, named, nameless, used) = Default::default();
        let (renewed_files, made) = Default::default();
        let mut proxying = Self {
            problems,
            folder,
            trust,
            note_attempts,
            names,
            named,
            upstreams,
            made,
            renewed_files,
            nameless,
            used,
        };
        for table in tables {
            proxying.add(table);
        }
        proxying
    }

    fn add(&mut self, table: UpstreamTable) {
        let UpstreamTable { settings: UpstreamSettings { name, mut servers, protocol }, mut arguments, place } = table;
        resolve_upstream_tls(&mut arguments.tls, self.folder);
        self.renewed_files.extend(arguments.tls.server_certificate.iter().flat_map(CertificateChoice::files).cloned());
        servers.iter_mut().for_each(|server| resolve_server(server, self.folder));
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) {
            let text = format!("{name:?} is not a valid name: write letters, digits and any of . - _");
            self.problems.add(Problem::of_value(place.key("name"), text));
        } else if !self.names.insert(name.clone()) {
            let text = format!("there is an upstream {name:?} already: write another name");
            self.problems.add(Problem::of_value(place.key("name"), text));
        }
        let written = format!("{name:?} {servers:?} {protocol:?} {arguments:?}");
        // Files may have changed since they were read.
        let kept = self.upstreams.kept.named(&name, &written).filter(|_| !reads_files(&arguments.tls));
        match upstream_settings(name.clone(), &servers, arguments) {
            Ok(settings) => {
                if let Some(settings) = self.speaking_protocol(settings, protocol, &place) {
                    let upstream = kept.cloned().unwrap_or_else(|| self.made(settings));
                    self.named.insert(name.into(), WrittenUpstream { written: written.into(), upstream });
                }
            }
            Err(found) => self.problems.add(found.problem(&place)),
        }
    }

    /// A new upstream.
    fn made(&self, settings: serow_proxy::UpstreamSettings) -> Upstream {
        let upstream = Upstream::new(settings);
        self.made.borrow_mut().push(upstream.clone());
        upstream
    }

    /// An upstream whose servers speak this protocol; nothing where other settings are of no effect with it.
    fn speaking_protocol(
        &self,
        settings: serow_proxy::UpstreamSettings,
        protocol: ProtocolChoice,
        place: &Place,
    ) -> Option<serow_proxy::UpstreamSettings> {
        let Some(cgi_protocol) = cgi_protocol(protocol) else { return Some(settings) };
        let is_http = |server: &serow_proxy::ServerSettings| server.address.protocol != Some(Protocol::Http1);
        let check = settings.check.as_ref().map(|check| &check.kind);
        let refused = if let Some(CheckKind::Grpc(_)) = check {
            ("check", "servers of this protocol do not speak gRPC: write check = \"http\", and `check-path`")
        } else if matches!(check, Some(CheckKind::Http(check)) if check.send.is_some()) {
            ("check-send", "a request of HTTP is for servers that speak HTTP: write `check-path`, as in \"/ping\"")
        } else if settings.servers.iter().any(is_http) {
            ("servers", "only host:port and unix:/path are addresses of servers that speak FastCGI, SCGI or uwsgi")
        } else {
            return Some(serow_proxy::UpstreamSettings { cgi_protocol: Some(cgi_protocol), ..settings });
        };
        self.problems.add(Problem::of_key(place.key(refused.0), refused.1));
        None
    }

    /// The php-fpm of a folder; nothing where something is wrong, which is noted.
    pub(crate) fn php(&self, table: ProxyTable, scopes: ProxyScopes<'_>, place: &Place) -> Option<Proxy> {
        let name = table.settings.upstream.clone();
        let proxy = self.speaking(Some(CgiProtocol::Fastcgi), table, scopes, place)?;
        if proxy.upstream().settings().cgi_protocol == Some(CgiProtocol::Fastcgi) {
            return Some(proxy);
        }
        let name = name.unwrap_or_default();
        let text = format!("the upstream {name:?} speaks HTTP: write protocol = \"fastcgi\" in its [[upstream]]");
        self.problems.add(Problem::of_value(place.key("upstream"), text));
        None
    }

    /// The proxy that answers with the responses of other servers; nothing where something is wrong, which is noted.
    pub(crate) fn proxy(&self, table: ProxyTable, scopes: ProxyScopes<'_>, place: &Place) -> Option<Proxy> {
        self.speaking(None, table, scopes, place)
    }

    /// The proxy to an application that the server runs; nothing where something is wrong, which is noted.
    pub(crate) fn of_application(
        &self,
        upstream: Upstream,
        table: ProxyTable,
        scopes: ProxyScopes<'_>,
        place: &Place,
    ) -> Option<Proxy> {
        let forwarding = self.forwarding(table.forwarding, scopes, place)?;
        self.with_variables((upstream, forwarding), (&table.settings.variables, true), scopes, place)
    }

    /// The proxy that also sets these variables of CGI, perhaps of a folder of scripts.
    fn with_variables(
        &self,
        (upstream, forwarding): (Upstream, ForwardingSettings),
        (variables, of_folder): (&BTreeMap<String, String>, bool),
        scopes: ProxyScopes<'_>,
        place: &Place,
    ) -> Option<Proxy> {
        let (place, is_cgi) = (place.key("variables"), upstream.settings().cgi_protocol.is_some());
        if !is_cgi && !variables.is_empty() {
            let text = "servers that speak HTTP get header fields, not variables: write `set-header`";
            self.problems.add(Problem::of_key(place, text));
            return None;
        }
        let cgi_variables = cgi_variables(variables, of_folder, scopes.site, &place, self.problems)?;
        Some(Proxy::new(upstream, ForwardingSettings { cgi_variables, ..forwarding }))
    }

    fn forwarding(
        &self,
        mut options: ForwardingOptions,
        scopes: ProxyScopes<'_>,
        place: &Place,
    ) -> Option<ForwardingSettings> {
        options.trust.get_or_insert_with(|| self.trust.to_vec());
        match scopes.forwarding_settings(options) {
            Ok(settings) => Some(ForwardingSettings { note_attempts: self.note_attempts, ..settings }),
            Err(found) => {
                self.problems.add(found.problem(place));
                None
            }
        }
    }

    /// The same, where servers without an `[[upstream]]` speak this protocol.
    fn speaking(
        &self,
        protocol: Option<CgiProtocol>,
        table: ProxyTable,
        scopes: ProxyScopes<'_>,
        place: &Place,
    ) -> Option<Proxy> {
        let ProxyTable { settings: ProxySettings { upstream, servers, variables, .. }, forwarding } = table;
        let noted = |problem| {
            self.problems.add(problem);
            None
        };
        let forwarding = self.forwarding(forwarding, scopes, place);
        let upstream = match upstream {
            Some(_) if !servers.is_empty() => {
                let text = "either `upstream` or `servers`: leave one out";
                noted(Problem::of_key(place.key("servers"), text))
            }
            Some(name) if self.names.contains(&name) => self.named.get(&*name).map(|named| named.upstream.clone()),
            Some(name) => noted(Problem::of_value(place.key("upstream"), self.unknown(&name))),
            None if servers.is_empty() => {
                let text = "there are no servers: write `upstream` with the name of an [[upstream]], or `servers`";
                noted(Problem::of_key(place.clone(), text))
            }
            None => match self.of_servers(servers, protocol) {
                Ok(upstream) => Some(upstream),
                Err(found) => noted(found.problem(place)),
            },
        };
        self.with_variables((upstream?, forwarding?), (&variables, protocol.is_some()), scopes, place)
    }

    /// The upstreams by their names.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, &Upstream)> {
        self.named.iter().map(|(name, named)| (&**name, &named.upstream))
    }

    /// The proxy that sends copies of requests to an upstream, or to a server without one; nothing where something is
    /// wrong, which is noted.
    pub(crate) fn mirror(&self, table: &MirrorTable, place: &Place) -> Option<Proxy> {
        self.to_upstream_or_server(&table.upstream, without_options(), &place.key("upstream"))
    }

    /// The proxy that asks an upstream, or a server without one, about requests; nothing where something is wrong,
    /// which is noted. It passes on all fields that describe the client: the access check has written them.
    pub(crate) fn asking(&self, name: &str, timeout: Duration, place: &Place) -> Option<Proxy> {
        let forwarding = ForwardingOptions {
            forwarded: ForwardedChoice::Off,
            trust: Some(Network::EVERYWHERE.map(NetworkRule).to_vec()),
            response_timeout: Some(Span(timeout)),
            // The check itself ends the exchange in time, with 504; a body that the proxy cut off first would be a 502.
            total_timeout: Some(Span(timeout + LATER)),
            ..without_options()
        };
        self.to_upstream_or_server(name, forwarding, place)
    }

    fn to_upstream_or_server(&self, name: &str, forwarding: ForwardingOptions, place: &Place) -> Option<Proxy> {
        // A server has a port or a scheme; what has neither is a misspelt name.
        let (is_name, is_server) = (self.names.contains(name), name.contains([':', '/']));
        if !is_name && !is_server {
            self.problems.add(Problem::of_value(place.clone(), self.unknown(name)));
            return None;
        }
        let servers = if is_name { Vec::new() } else { vec![self.server(name, place)?] };
        let settings =
            ProxySettings { upstream: is_name.then(|| name.to_owned()), servers, ..ProxySettings::default() };
        // Without options there are no texts.
        let scope = Scope::default();
        let scopes = ProxyScopes { site: &scope, route: &scope };
        self.proxy(ProxyTable { settings, forwarding }, scopes, place)
    }

    fn server(&self, text: &str, place: &Place) -> Option<ServerRule> {
        let server = text.parse::<ServerRule>();
        server.map_err(|error| self.problems.add(Problem::of_value(place.clone(), error.to_string()))).ok()
    }

    /// An upstream of these servers, for all that name them.
    fn of_servers(
        &self,
        mut servers: Vec<ServerRule>,
        protocol: Option<CgiProtocol>,
    ) -> Result<Upstream, SettingError> {
        servers.iter_mut().for_each(|server| resolve_server(server, self.folder));
        let addresses: Vec<_> = servers.iter().map(|server| server.address.to_string()).collect();
        let name = addresses.join("+");
        let written = format!("{servers:?} {protocol:?}");
        let mut nameless = self.nameless.borrow_mut();
        let is_other = nameless.get(&*name).or_else(|| self.upstreams.staying.nameless(&name));
        if is_other.is_some_and(|known| *known.written != *written) {
            let text =
                "`servers`: the same servers have other parameters elsewhere: give them a name in an [[upstream]]";
            return Err(SettingError::new("servers", text));
        }
        let name: Arc<str> = name.into();
        self.used.borrow_mut().insert(Arc::clone(&name));
        if let Some(known) = nameless.get(&name) {
            return Ok(known.upstream.clone());
        }
        let usual: UpstreamOptions = without_options();
        let settings = upstream_settings(name.to_string(), &servers, usual)?;
        let kept = self.upstreams.kept.nameless(&name).filter(|kept| *kept.written == *written).cloned();
        let new = || WrittenUpstream {
            written: written.into(),
            upstream: self.made(serow_proxy::UpstreamSettings { cgi_protocol: protocol, ..settings }),
        };
        let is = kept.unwrap_or_else(new);
        let upstream = is.upstream.clone();
        nameless.insert(name, is);
        Ok(upstream)
    }

    /// Takes the upstreams without a name that were used since the last call.
    pub(crate) fn take_used(&self) -> BTreeSet<Arc<str>> {
        self.used.take()
    }

    /// Notes that these are used as well.
    pub(crate) fn add_used(&self, used: BTreeSet<Arc<str>>) {
        self.used.borrow_mut().extend(used);
    }

    /// The error about a name that no upstream has.
    fn unknown(&self, name: &str) -> String {
        let names: Vec<_> = self.names.iter().map(String::as_str).collect();
        match (near(name, &names), &names[..]) {
            (_, []) => {
                format!("there is no upstream {name:?}: write one, as in [[upstream]] and below it name = {name:?}")
            }
            (Some(near), _) => format!("there is no upstream {name:?}; did you mean {near:?}?"),
            (None, names) => format!("there is no upstream {name:?}; available: {}", names.join(", ")),
        }
    }

    /// The files that are read again when they change.
    pub(crate) fn renewed_files(&self) -> Vec<PathBuf> {
        self.renewed_files.clone()
    }

    /// All of them.
    pub(crate) fn into_upstreams(self) -> ReadUpstreams {
        ReadUpstreams {
            named: self.named,
            nameless: self.nameless.into_inner(),
            used: self.used.into_inner(),
            made: self.made.into_inner(),
        }
    }
}

/// Whether connections to servers depend on files.
fn reads_files(tls: &UpstreamTlsOptions) -> bool {
    tls.server_ca.is_some() || tls.server_certificate.is_some()
}

const SET_HEADER: &str = "set-header";

const CAPTURED: &str = "`set-header` cannot name what the path of the route matched: write the rule in the route, as in \
                        request-headers = [{ set = \"X-User\", value = \"$1\" }]";

/// How much longer than a check of access the proxy that asks for it waits.
const LATER: Duration = Duration::from_secs(1);

/// The protocol, if it is not HTTP.
fn cgi_protocol(choice: ProtocolChoice) -> Option<CgiProtocol> {
    match choice {
        ProtocolChoice::Http => None,
        ProtocolChoice::Fastcgi => Some(CgiProtocol::Fastcgi),
        ProtocolChoice::Scgi => Some(CgiProtocol::Scgi),
        ProtocolChoice::Uwsgi => Some(CgiProtocol::Uwsgi),
    }
}
