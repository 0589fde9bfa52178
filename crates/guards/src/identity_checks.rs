//! How it is found out who sends a request: each check that a site or a route may have, and what they mean together.

use std::{net::IpAddr, sync::Arc};

use serow_gateway::ReservedFields;
use serow_message::{KnownHeader, Request, Response, StatusCode};

use crate::{
    BasicUsers, ClientCertificates, ForwardAuth, LoginCheck, Satisfy, TokenPlace, Tokens,
    identity::{Identity, PendingIdentity, Verdict},
};

/// The checks that a request must pass; by default none.
#[derive(Clone, Debug, Default)]
pub struct IdentityChecks {
    /// Certificates of clients.
    pub client_certificates: Option<Arc<ClientCertificates>>,
    /// Users with passwords.
    pub basic: Option<BasicUsers>,
    /// Tokens (JWT).
    pub tokens: Option<Arc<Tokens>>,
    /// Another server that decides.
    pub forward_auth: Option<ForwardAuth>,
    /// A login by a provider.
    pub login: Option<LoginCheck>,
    /// The fields that these checks set, and those around them: clients may not set them either where those checks are
    /// off.
    pub reserved: ReservedFields,
}

impl IdentityChecks {
    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// How many there are.
    #[inline]
    #[must_use]
    pub fn count(&self) -> usize {
        let Self { client_certificates, basic, tokens, forward_auth, login, reserved: _ } = self;
        let is_login_required = login.as_ref().is_some_and(|login| login.is_required);
        let checks = [
            client_certificates.is_some(),
            basic.is_some(),
            tokens.is_some(),
            forward_auth.is_some(),
            is_login_required,
        ];
        checks.into_iter().filter(|is_there| *is_there).count()
    }

    /// Whether users may be known by something else than the field `Authorization`.
    #[inline]
    pub(crate) fn is_hidden_from_caches(&self) -> bool {
        let Self { client_certificates, basic: _, tokens, forward_auth, login, reserved: _ } = self;
        client_certificates.is_some()
            || tokens.as_ref().is_some_and(|tokens| tokens.places.iter().any(|place| *place != TokenPlace::Header))
            || forward_auth.is_some()
            || login.as_ref().is_some_and(|login| login.is_required)
    }

    /// These checks, inside of something that reserves fields as well.
    #[must_use]
    pub fn inside(mut self, outer: &Self) -> Self {
        let of_certificates = self.client_certificates.iter().filter_map(|certificates| certificates.header());
        let of_basic = self.basic.iter().filter_map(|users| users.header.as_deref());
        let of_tokens = self.tokens.iter().flat_map(|tokens| tokens.fields.iter().map(|(name, _)| &**name));
        let of_forward_auth = self.forward_auth.iter().flat_map(ForwardAuth::fields);
        let of_login = self.login.iter().flat_map(LoginCheck::fields);
        let own = of_certificates.chain(of_basic).chain(of_tokens).chain(of_forward_auth).chain(of_login);
        self.reserved = own.chain(outer.reserved.iter()).collect();
        self
    }

    /// The response to a request for a path of a check itself, such as the one to which browsers return from a login.
    #[inline]
    pub(crate) fn own_path(&self, request: &Request) -> Option<Verdict> {
        self.login.as_ref()?.own_path(request)
    }

    /// Asks the checks in their order: all of them, or until one is passed.
    pub(crate) fn check(&self, request: &Request, client: Option<IpAddr>, satisfy: Satisfy) -> Verdict {
        let mut outcome = Outcome { satisfy, passed: Identity::default(), refused: None, pending: Vec::new() };
        let _ = self.each(|verdict| outcome.add(verdict), request, client);
        outcome.into_verdict()
    }

    /// Hands over each verdict, until one decides.
    fn each(
        &self,
        mut add: impl FnMut(Verdict) -> Option<()>,
        request: &Request,
        client: Option<IpAddr>,
    ) -> Option<()> {
        if let Some(certificates) = &self.client_certificates {
            add(certificates.check(request))?;
        }
        if let Some(users) = &self.basic {
            add(users.check(request, client))?;
        }
        if let Some(tokens) = &self.tokens {
            add(tokens.check(request))?;
        }
        if let Some(server) = &self.forward_auth {
            add(server.check(request, client))?;
        }
        if let Some(login) = self.login.as_ref().filter(|login| login.is_required) {
            add(login.check(request))?;
        }
        Some(())
    }
}

/// The outcome of the checks so far.
struct Outcome {
    satisfy: Satisfy,
    passed: Identity,
    /// The response, if nothing else is found out.
    refused: Option<Response>,
    pending: Vec<PendingIdentity>,
}

impl Outcome {
    /// Notes a verdict; `None` if no other matters.
    fn add(&mut self, verdict: Verdict) -> Option<()> {
        match (verdict, self.satisfy) {
            (Verdict::Passed(identity), Satisfy::All) => self.passed = std::mem::take(&mut self.passed).and(identity),
            (Verdict::Passed(identity), Satisfy::Any) => {
                (self.passed, self.refused, self.pending) = (identity, None, Vec::new());
                return None;
            }
            (Verdict::Refused(response), Satisfy::All) => {
                (self.refused, self.pending) = (Some(response), Vec::new());
                return None;
            }
            (Verdict::Refused(response), Satisfy::Any) => self.refused = Some(merged(self.refused.take(), response)),
            (Verdict::Pending(identity), _) => self.pending.push(identity),
        }
        Some(())
    }

    fn into_verdict(self) -> Verdict {
        let Self { satisfy, passed, refused, pending } = self;
        match (pending.is_empty(), refused) {
            (true, Some(response)) => Verdict::Refused(response),
            (true, None) => Verdict::Passed(passed),
            (false, refused) => Verdict::Pending(match satisfy {
                Satisfy::All => Box::pin(all(passed, pending)),
                Satisfy::Any => Box::pin(any(refused, pending)),
            }),
        }
    }
}

async fn all(mut passed: Identity, pending: Vec<PendingIdentity>) -> Result<Identity, Response> {
    for identity in pending {
        passed = passed.and(identity.await?);
    }
    Ok(passed)
}

async fn any(mut refused: Option<Response>, pending: Vec<PendingIdentity>) -> Result<Identity, Response> {
    for identity in pending {
        match identity.await {
            Ok(identity) => return Ok(identity),
            Err(response) => refused = Some(merged(refused, response)),
        }
    }
    // There is one: `any` is called with checks that have not passed.
    Err(refused.unwrap_or_else(|| Response::new(StatusCode::FORBIDDEN)))
}

/// The response where this check, or one of those that refused the request earlier, would be enough: RFC 9110 §11.6.1 lets it
/// name all ways.
fn merged(earlier: Option<Response>, mut response: Response) -> Response {
    let Some(earlier) = earlier else { return response };
    if earlier.status == StatusCode::UNAUTHORIZED && response.status == StatusCode::UNAUTHORIZED {
        for challenge in earlier.headers.get_all(KnownHeader::WwwAuthenticate) {
            let _ = response.headers.append(KnownHeader::WwwAuthenticate, challenge);
        }
    }
    response
}
