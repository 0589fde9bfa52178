//! Decides which responses may be stored (RFC 9111 §3).

use serow_message::{Headers, KnownHeader, Method, PackedHeaders, StatusCode, hop_by_hop};

use crate::{
    extent::Extent,
    freshness::{ExchangeTimes, Freshness, LifetimeSource, is_heuristically_cacheable},
    response_control::{ResponseControl, Restriction},
    reuse_rules::ReuseRules,
    rules::CacheRules,
    stored::{Stored, StoredHead},
    time::Time,
    vary::Variant,
};

/// The properties of a request that decide whether its response is stored.
#[derive(Clone, Copy, Debug)]
pub struct StoringRequest<'a> {
    /// The method.
    pub method: &'a Method,
    /// The headers.
    pub headers: &'a Headers,
    /// Whether the request names its user, by Authorization or by the result of an access check.
    pub has_credentials: bool,
    /// Whether it has `no-store` (§5.2.1.5).
    pub no_store: bool,
    /// Fields, in lower case, that the origin gets with other values than the request has here, such as the client's address.
    pub set_fields: &'a [Box<[u8]>],
}

/// Why a response is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// The method is not GET.
    Method,
    /// The request has `no-store`.
    RequestNoStore,
    /// The status is not final, or is that of a validation (304) or of a range that there is not (416).
    Status,
    /// It is a part (206) of which it is not certain what it belongs to (§3.3, §3.4), or that is of no use beside what is
    /// stored.
    Part,
    /// `no-store`.
    NoStore,
    /// `private`.
    Private,
    /// The request has credentials or a cookie, and the response does not say that others may have it (§3.5).
    Credentials,
    /// The response sets a cookie, which belongs to one client.
    SetCookie,
    /// It is not known which other requests it matches (§4.1): `Vary: *`, or `Vary` names a field that the origin got with another
    /// value, or it has a content coding that is not told apart in requests.
    Vary,
    /// It is larger than what is stored.
    TooLarge,
    /// There is no room for it now.
    NoRoom,
    /// Nothing says that it may be stored, or it is stale at once and cannot be validated.
    NotFresh,
}

/// A head that may be stored: the only way into a store. Only the functions that have asked all of §3 about it make one:
/// [`storable`] about a new response, [`updated`](crate::updated) about what a 304 makes of a stored one. A record has one
/// that was made so before it was written.
#[derive(Clone, Debug)]
pub struct StorableHead(StoredHead);

impl StorableHead {
    /// That of a record, or of a response that is stored already.
    pub(crate) fn of_stored(head: StoredHead) -> Self {
        Self(head)
    }

    /// That of a stored response, fresh no longer (§4.3.5).
    pub(crate) fn outdated(before: &Stored) -> Self {
        Self(StoredHead { freshness: before.head.freshness.outdated(), ..before.head.clone() })
    }

    /// The same for fewer requests: those that agree with this one in the fields of another variant as well.
    pub(crate) fn also_varying_on(self, before: &Variant, request: &Headers) -> Self {
        let StoredHead { variant, .. } = &self.0;
        Self(StoredHead { variant: variant.clone().with_fields_of(before, request), ..self.0 })
    }

    pub(crate) fn into_stored(self) -> StoredHead {
        self.0
    }
}

impl std::ops::Deref for StorableHead {
    type Target = StoredHead;

    fn deref(&self) -> &StoredHead {
        &self.0
    }
}

impl NotStored {
    /// Whether it is a matter of the request alone: its response says nothing about what others may get, and what was
    /// stored for them before stays as it is.
    #[must_use]
    pub fn is_of_request(self) -> bool {
        matches!(self, Self::Method | Self::RequestNoStore | Self::Credentials | Self::SetCookie)
    }
}

/// Decides whether a response is stored, what of its head, and how much of the representation follows.
///
/// # Errors
///
/// Why it is not.
pub fn storable(
    request: StoringRequest<'_>,
    status: StatusCode,
    headers: &Headers,
    rules: &CacheRules,
    exchange: ExchangeTimes,
) -> Result<(StorableHead, Extent), NotStored> {
    if request.method != Method::GET {
        return Err(NotStored::Method);
    }
    let extent = Extent::of(status, headers, request.headers).ok_or(NotStored::Part)?;
    let head = match extent {
        Extent::Whole => permitted_head(request, status, headers, rules, exchange)?,
        // A part is stored as what is there of the whole.
        Extent::Part(_) => {
            let mut of_whole = headers.clone();
            of_whole.remove(KnownHeader::ContentRange);
            permitted_head(request, StatusCode::OK, &of_whole, rules, exchange)?
        }
    };
    Ok((head, extent))
}

/// The stored form of a head with these fields: those of a response to this request, or what such a response has
/// made of a stored one; or why nothing is.
pub(crate) fn permitted_head(
    request: StoringRequest<'_>,
    status: StatusCode,
    headers: &Headers,
    rules: &CacheRules,
    exchange: ExchangeTimes,
) -> Result<StorableHead, NotStored> {
    if request.no_store {
        return Err(NotStored::RequestNoStore);
    }
    let judged = rules.judged(headers);
    let control = ResponseControl::of(&judged);
    let variant = permitted(request, status, &judged, &control)?;
    let (freshness, source) = Freshness::of(status, &judged, &control, rules, exchange);
    // The response does not say that others may have it, and it may be the page of one session: then the cache does not
    // guess its lifetime.
    let is_guessed = matches!(source, LifetimeSource::Heuristic | LifetimeSource::None) && !control.public;
    if is_guessed && request.headers.contains(KnownHeader::Cookie) {
        return Err(NotStored::Credentials);
    }
    if !is_of_use(status, &judged, &control, rules, &freshness, source) {
        return Err(NotStored::NotFresh);
    }
    let headers = PackedHeaders::new(&kept(&rules.storable(headers), &control, exchange.received));
    Ok(StorableHead(StoredHead { status, headers, variant, freshness, reuse: ReuseRules::of(&control) }))
}

/// Whether the response and its request allow it; the requests that it matches then. The reasons of the response come
/// before those of the request.
fn permitted(
    request: StoringRequest<'_>,
    status: StatusCode,
    headers: &Headers,
    control: &ResponseControl,
) -> Result<Variant, NotStored> {
    let is_understood = is_understood(status);
    // A 416 is about a range that another request does not have.
    if status.is_informational() || matches!(status.as_u16(), 304 | 416) {
        return Err(NotStored::Status);
    }
    // §5.2.2.3: a cache that understands the status ignores `no-store` beside `must-understand`.
    if control.must_understand && !is_understood {
        return Err(NotStored::Status);
    }
    if control.no_store && !control.must_understand {
        return Err(NotStored::NoStore);
    }
    if control.private == Restriction::All {
        return Err(NotStored::Private);
    }
    let variant = Variant::of(headers, request.headers).filter(|variant| {
        let is_seen = |name: &[u8]| !request.set_fields.iter().any(|field| **field == *name);
        variant.parts().all(|(name, _)| is_seen(name)) && variant.tells_coding_apart(headers)
    });
    let variant = variant.ok_or(NotStored::Vary)?;
    // §3.5.
    let is_shared = control.must_revalidate || control.public || control.s_maxage != crate::Delta::Absent;
    if request.has_credentials && !is_shared {
        return Err(NotStored::Credentials);
    }
    // §7.3 leaves it to the origin; a session of one client that reaches others is worse than a miss.
    let is_left_out = control.private.covers(b"set-cookie") || control.no_cache.covers(b"set-cookie");
    if headers.contains(KnownHeader::SetCookie) && !(is_left_out && control.no_cache != Restriction::All) {
        return Err(NotStored::SetCookie);
    }
    Ok(variant)
}

/// Whether it will ever be reused: it is fresh for some time, may be used stale, or can be validated.
fn is_of_use(
    status: StatusCode,
    headers: &Headers,
    control: &ResponseControl,
    rules: &CacheRules,
    freshness: &Freshness,
    source: LifetimeSource,
) -> bool {
    // §3: something has to allow it.
    let is_allowed = control.public
        || control.has_lifetime()
        || headers.contains(KnownHeader::Expires)
        || source == LifetimeSource::Default
        || is_heuristically_cacheable(status);
    let can_be_validated = headers.contains_any(&[KnownHeader::Etag, KnownHeader::LastModified]);
    let is_ever_fresh = control.no_cache != Restriction::All && freshness.lifetime > freshness.initial_age;
    let has_stale_use = !control.forbids_stale()
        && source != LifetimeSource::None
        && [
            control.stale_while_revalidate.span().or(rules.stale_while_revalidate),
            control.stale_if_error.span().or(rules.stale_if_error),
        ]
        .iter()
        .flatten()
        .any(|span| !span.is_zero());
    is_allowed && (is_ever_fresh || can_be_validated || has_stale_use)
}

/// The fields that are stored (§3.1): without those of the connection, and those that only the first client may get.
fn kept(headers: &Headers, control: &ResponseControl, received: Time) -> Headers {
    let named = hop_by_hop::Named::of(headers);
    let mut kept = Headers::new();
    for (name, known, value) in headers.iter_known() {
        // Authentication-Info and its like belong to one exchange (§3.1).
        let is_of_exchange = known.is_some_and(|known| NOT_KEPT.contains(&known))
            || OF_ONE_EXCHANGE.iter().any(|field| name.eq_ignore_ascii_case(field.as_bytes()));
        let is_restricted = control.private.covers(name)
            || matches!(&control.no_cache, Restriction::Fields(_)) && control.no_cache.covers(name);
        if is_of_exchange || is_restricted || named.covers(name, known) {
            continue;
        }
        // It was a valid field before. Copied, since the text it stands in is a whole buffer of the connection.
        let _ = match known {
            Some(known) => kept.append(known, value),
            None => kept.append(name, value),
        };
    }
    if !kept.contains(KnownHeader::Date) {
        let _ = kept.append(KnownHeader::Date, received.to_date());
    }
    kept
}

/// The statuses whose caching this crate knows (RFC 9110 §15, RFC 9111 §3): those that are final and complete.
fn is_understood(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        200..=205 | 300..=303 | 305 | 307 | 308 | 400..=417 | 421..=426 | 428 | 429 | 431 | 451 | 500..=505
    )
}

/// Fields that are not stored (RFC 9111 §3.1): those for a proxy, those that follow from the body or from the time, and the
/// announcement of trailers, which are not stored either.
const NOT_KEPT: [KnownHeader; 5] = [
    KnownHeader::ProxyAuthenticate,
    KnownHeader::ProxyAuthorization,
    KnownHeader::Trailer,
    KnownHeader::ContentLength,
    KnownHeader::Age,
];

/// Fields of one exchange with a proxy or a server (RFC 9110 §11.6.3, §11.7.3), and those that are meant for this server or a proxy in
/// front of it: no other client may see them.
const OF_ONE_EXCHANGE: [&str; 8] = [
    "authentication-info",
    "proxy-authentication-info",
    "x-accel-redirect",
    "x-accel-buffering",
    "x-accel-charset",
    "x-accel-expires",
    "x-accel-limit-rate",
    "x-sendfile",
];

#[cfg(test)]
impl std::ops::DerefMut for StorableHead {
    fn deref_mut(&mut self) -> &mut StoredHead {
        &mut self.0
    }
}

#[cfg(test)]
impl From<StoredHead> for StorableHead {
    fn from(head: StoredHead) -> Self {
        Self(head)
    }
}

#[cfg(test)]
#[allow(clippy::type_complexity, reason = "tables of cases")]
mod tests;
