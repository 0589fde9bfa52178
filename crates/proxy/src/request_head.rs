//! A request's head on its way to a server.

use std::mem;

use serow_gateway::{FieldNames, RequestSummary, ReservedFields, TrailerRule, with_prefixes};
use serow_message::{
    ConstantField, Headers, KnownHeader, KnownNames, Method, OnUpgrade, Request, RequestClient, RequestHead,
    ServerAddress, StatusCode, Target, TrustedProxies, Version, hop_by_hop,
};
use serow_variables::{
    Form, Source, Text,
    clean_path::{self, Room},
};

use crate::{
    settings::{ForwardingSettings, HostSetting},
    via,
};

/// A request's head on its way to a server.
#[derive(Debug)]
pub(crate) struct OutgoingHead {
    head: RequestHead,
    host: Host,
    /// The client's connection, where it asks for another protocol on it and `Upgrade` is passed on.
    pub(crate) upgrade: Option<OnUpgrade>,
    /// Which trailers of the request go on.
    pub(crate) trailers: TrailerRule,
    /// Whether the server is to ask for the body.
    expects_continue: bool,
}

/// The host in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    /// The same for every server.
    Same,
    /// The server's own.
    OfServer,
}

/// Takes the head of a request and turns it into one for servers. The body stays in the request.
///
/// Besides hop-by-hop fields, it removes `Expect`, which [`OutgoingHead::set_expectation`] adds where the client still
/// waits for `100 Continue`: the server in front of this handler sends that when the body is first read. It also removes
/// fields of untrusted clients about the client ([`Forwarded`]), and fields with ambiguous
/// names ([`FieldNames`]). Everything else is forwarded.
///
/// [`Forwarded`]: serow_gateway::Forwarded
/// [`FieldNames`]: serow_gateway::FieldNames
///
/// # Errors
///
/// The status that is answered instead: 400 for a path that no honest client sends, 501 for CONNECT and for a TRACE
/// that may go no further, 204 for such an OPTIONS (RFC 9110 §7.6.2).
pub(crate) fn outgoing(request: &mut Request, settings: &ForwardingSettings) -> Result<OutgoingHead, StatusCode> {
    if request.method == Method::CONNECT {
        return Err(StatusCode::NOT_IMPLEMENTED);
    }
    let hops = hops_left(request)?;
    let texts = field_values(&settings.request_texts, &settings.forwarded.trusted, request);
    let received = mem::take(&mut request.target);
    let authority = received.authority().map(str::to_owned);
    let target = received.into_origin_form(request.method == Method::OPTIONS);
    let target = with_prefixes(target, settings.strip_prefix.as_deref(), settings.add_prefix.as_deref())?;
    let mut upgrade = request.upgrade();
    let mut headers = mem::take(&mut request.headers);
    if let Some(authority) = authority {
        // RFC 9112 §3.2.2: `Host` does not count beside an absolute target.
        let _ = headers.replace(KnownHeader::Host, authority);
    }
    let protocols = upgrade.is_some().then(|| protocols(&headers)).flatten();
    if protocols.is_none() {
        upgrade = None;
    }
    let takes_trailers = headers.contains(KnownHeader::Te)
        && headers.list(KnownHeader::Te).any(|coding| coding.eq_ignore_ascii_case(b"trailers"));
    let forwarded = settings.forwarded.values(&headers, request.connection());
    let named = hop_by_hop::Named::of(&headers);
    headers.remove_names(REMOVED.and(forwarded.replaced()), |name| {
        settings.field_names.allow(name, None) && !(named.covers_extension(name) || forwarded.replaces_other(name))
    });
    forwarded.append_to(&mut headers);
    headers.append_constant(via::field(request.version));
    if takes_trailers {
        headers.append_constant(&TRAILERS);
    }
    if let Some(protocols) = protocols {
        let _ = headers.append(KnownHeader::Upgrade, protocols);
    }
    if let Some(hops) = hops {
        let _ = headers.replace(KnownHeader::MaxForwards, hops.to_string());
    }
    let host = decide_host(&mut headers, settings);
    for (name, value) in &texts {
        set_field(name, value, &mut headers, settings.field_names);
    }
    let head = RequestHead { method: request.method.clone(), target, version: Version::HTTP_11, headers };
    let reserved = request.extensions.get::<ReservedFields>().cloned().unwrap_or_default();
    let trailers = TrailerRule { names: settings.field_names, trusted: forwarded.trusted(), reserved };
    Ok(OutgoingHead { head, host, upgrade, trailers, expects_continue: false })
}

/// The fields of a request as a script gets them: without those of the client's connection, with those that the settings
/// set.
pub(crate) fn of_script(request: &Request, settings: &ForwardingSettings) -> Headers {
    let mut headers = request.headers.clone();
    let named = hop_by_hop::Named::of(&headers);
    headers.remove_names(REMOVED, |name| !named.covers_extension(name));
    let _ = decide_host(&mut headers, settings);
    for (name, value) in &field_values(&settings.request_texts, &settings.forwarded.trusted, request) {
        set_field(name, value, &mut headers, settings.field_names);
    }
    headers
}

impl OutgoingHead {
    /// The head for this server. Free if all servers get the same host.
    pub(crate) fn head_for(&mut self, server: &ServerAddress) -> &RequestHead {
        if self.host == Host::OfServer {
            // An address is a valid value.
            let _ = self.head.headers.replace(KnownHeader::Host, server.authority());
        }
        &self.head
    }

    /// Lets the next server ask for the body by `100 Continue`, or not, where the client sends its body already.
    pub(crate) fn set_expectation(&mut self, expects_continue: bool) {
        if self.expects_continue == expects_continue {
            return;
        }
        self.expects_continue = expects_continue;
        match expects_continue {
            true => self.head.headers.append_constant(&EXPECTATION),
            false => drop(self.head.headers.remove(KnownHeader::Expect)),
        }
    }

    /// The request as the log names it.
    pub(crate) fn asked(&self) -> RequestSummary {
        RequestSummary { method: self.head.method.clone(), target: self.head.target.clone() }
    }

    /// The target.
    pub(crate) fn target(&self) -> &Target {
        &self.head.target
    }

    /// The method.
    pub(crate) fn method(&self) -> &Method {
        &self.head.method
    }

    /// The fields, but for a host that depends on the server.
    pub(crate) fn headers(&self) -> &Headers {
        &self.head.headers
    }
}

/// Sets the host and the fields that the settings name. A request that has no host then (HTTP/1.0 needs none) asks a
/// server for itself, since HTTP/1.1 needs one.
fn decide_host(headers: &mut Headers, settings: &ForwardingSettings) -> Host {
    if let HostSetting::Fixed(host) = &settings.host {
        let _ = headers.replace(KnownHeader::Host, host);
    }
    for (name, _) in &settings.request_headers {
        settings.field_names.remove_look_alikes(name, headers);
    }
    apply(&settings.request_headers, headers);
    match settings.host {
        HostSetting::Server => Host::OfServer,
        HostSetting::Keep | HostSetting::Fixed(_) if headers.contains(KnownHeader::Host) => Host::Same,
        HostSetting::Keep | HostSetting::Fixed(_) => Host::OfServer,
    }
}

/// The values of texts with variables, taken from the request as the client sent it.
#[must_use]
pub fn field_values<'s>(
    texts: &'s [(String, Text)],
    trusted: &TrustedProxies,
    request: &Request,
) -> Vec<(&'s str, Vec<u8>)> {
    if texts.is_empty() {
        return Vec::new();
    }
    let mut room = Room::new();
    let path = clean_path::of_routed(&request.target, &mut room);
    let client = RequestClient::new(trusted);
    let source = Source { client: Some(&client), ..Source::of(request, path) };
    let fill = |(name, text): &'s (String, Text)| {
        let mut value = Vec::new();
        text.append(&source, Form::Field, &mut value);
        (name.as_str(), value)
    };
    texts.iter().map(fill).collect()
}

/// Sets a field, or removes it and its look-alikes if the value is empty. The name was tried when it was read, as one that a
/// setting may set.
pub fn set_field(name: &str, value: &[u8], headers: &mut Headers, names: FieldNames) {
    names.remove_look_alikes(name, headers);
    match value.trim_ascii() {
        b"" => drop(headers.remove(name)),
        // The name was tried when it was read, and the value has no control characters.
        value => drop(headers.replace(name, value)),
    }
}

/// Sets fields, and removes those with an empty value. Framing and hop-by-hop fields stay as they are: they follow from
/// the message.
pub(crate) fn apply(rules: &[(String, String)], headers: &mut Headers) {
    for (name, value) in rules {
        let known = KnownHeader::recognise(name.as_bytes());
        if known.is_some_and(|known| hop_by_hop::NAMES.contains(&known) || known == KnownHeader::ContentLength) {
            continue;
        }
        // Names and values were tried when they were read.
        match value.is_empty() {
            true => drop(headers.remove(name.as_str())),
            false => drop(headers.replace(name.as_str(), value)),
        }
    }
}

/// The remaining hops after this one, if the request limits them (RFC 9110 §7.6.2).
fn hops_left(request: &Request) -> Result<Option<u32>, StatusCode> {
    if !request.headers.contains(KnownHeader::MaxForwards) || !matches!(request.method, Method::OPTIONS | Method::TRACE)
    {
        return Ok(None);
    }
    let allowed = request.headers.get_str(KnownHeader::MaxForwards).and_then(|text| text.parse().ok());
    match allowed {
        Some(0) if request.method == Method::OPTIONS => Err(StatusCode::NO_CONTENT),
        // A request is not echoed to its client: it may contain cookies that scripts must not see.
        Some(0) => Err(StatusCode::NOT_IMPLEMENTED),
        allowed => Ok(allowed.map(|hops: u32| hops - 1)),
    }
}

/// The protocols that a client asks for, without those that would make another connection of HTTP or TLS of this one,
/// past all that looks at requests here (RFC 9113 §3.1 has abolished that of HTTP/2, too).
fn protocols(headers: &Headers) -> Option<Vec<u8>> {
    let is_passed = |protocol: &&[u8]| {
        let name = protocol.split(|&byte| byte == b'/').next().unwrap_or_default();
        !["h2", "h2c", "http", "tls"].iter().any(|refused| name.eq_ignore_ascii_case(refused.as_bytes()))
    };
    let passed: Vec<&[u8]> = headers.list(KnownHeader::Upgrade).filter(is_passed).collect();
    (!passed.is_empty()).then(|| passed.join(&b", "[..]))
}

/// Well-known fields that are never passed on.
const REMOVED: KnownNames = hop_by_hop::SET.and(KnownNames::of(&[KnownHeader::Expect]));

/// RFC 9110 §10.1.1.
const EXPECTATION: ConstantField = ConstantField::new(KnownHeader::Expect, "expect: 100-continue\r\n");

/// The client takes trailers (RFC 9110 §10.1.4).
const TRAILERS: ConstantField = ConstantField::new(KnownHeader::Te, "te: trailers\r\n");

#[cfg(test)]
mod tests;
