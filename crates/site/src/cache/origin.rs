//! The handler that makes a cached response: it decides about the response beside the request.

use serow_gateway::{ForwardedFields, TrustedProxies};
use serow_proxy::ForwardingSettings;

use crate::Content;

/// The handler whose responses are stored, as far as they depend on it. It comes from the handler itself: a cache that believed
/// other proxies than its handler would store what a client has made of a page for all others.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// The proxies that the handler believes about scheme and host.
    pub(super) trust: TrustedProxies,
    /// Fields of requests that it sets itself, by something else than their fields of these names, in lower case.
    pub(super) set_fields: Vec<Box<[u8]>>,
    /// It, told apart from others, whatever their order in the settings.
    pub(super) name: String,
}

impl Origin {
    pub(super) fn of(content: &Content) -> Self {
        match content {
            Content::App(application) => {
                let settings = application.settings();
                let (run, program) = (&settings.run, &settings.program);
                let name = format!("app {:?} {:?} {:?}", program.application, run.folder, settings.root_path);
                Self { trust: run.trusted.clone(), set_fields: Vec::new(), name }
            }
            Content::Proxy(proxy) => {
                let (forwarding, upstream) = (proxy.forwarding(), &proxy.upstream().settings().name);
                let (host, prefixes) = (&forwarding.host, (&forwarding.strip_prefix, &forwarding.add_prefix));
                let forwarded: &[&str] = match forwarding.forwarded.fields {
                    ForwardedFields::X => &["x-forwarded-for"],
                    ForwardedFields::Standard => &["forwarded"],
                    ForwardedFields::Both => &["x-forwarded-for", "forwarded"],
                    ForwardedFields::Off => &[],
                };
                let texts = forwarding.request_texts.iter().map(|(name, _)| name.as_str());
                let set_fields = forwarded.iter().copied().chain(texts);
                Self {
                    trust: forwarding.forwarded.trusted.clone(),
                    set_fields: set_fields.map(|name| name.to_ascii_lowercase().into_bytes().into()).collect(),
                    name: format!("proxy {upstream:?} {host:?} {prefixes:?}{}", variables(forwarding)),
                }
            }
            Content::Cgi(programs) => {
                let settings = programs.settings();
                let name = format!("cgi {:?} {:?} {:?}", settings.programs, settings.prefix, settings.environment);
                Self { trust: settings.trusted.clone(), set_fields: Vec::new(), name }
            }
            Content::Php(folder) => {
                let servers = folder.servers();
                let (upstream, root) = (&servers.upstream().settings().name, folder.files().folder());
                Self {
                    trust: servers.forwarding().forwarded.trusted.clone(),
                    set_fields: Vec::new(),
                    name: format!("php {upstream:?} {:?}{}", root.path(), variables(servers.forwarding())),
                }
            }
            // A cache is around the others only.
            Content::Files(_) | Content::Dav(_) | Content::Answer => Self::default(),
        }
    }
}

/// The variables by which scripts may tell one route from another.
fn variables(forwarding: &ForwardingSettings) -> String {
    match &forwarding.cgi_variables[..] {
        [] => String::new(),
        variables => format!(" {variables:?}"),
    }
}
