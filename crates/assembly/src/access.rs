//! Access control: the checks that requests must pass before they reach a handler.

mod client_certificates;
mod identity;
mod limits;
mod tokens;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serow_access::{AddressRules, Basic, PasswordQueue, WatchedFiles, openid::Login};
use serow_access_log::{ClientRules, SecretArguments};
use serow_document::{Place, Problem, Problems};
use serow_fleet::Fleet;
use serow_gateway::TrustedProxies;
use serow_guards::{AccessControl, ClientRequests, Guard, RefusedAddresses, Satisfy};
use serow_limits::Bans;
use serow_router::Methods;
use serow_variables::Scope;

pub(crate) use self::identity::is_user_field;
use self::tokens::Keys;
use crate::{kept_parts::KeptLimit, proxying::Proxying};
use serow_config::tables::access::{AccessSettings, LimitTable, SatisfyChoice};

/// Finds out what requests must pass, and notes what means nothing.
pub(crate) struct Access<'a> {
    /// The folder of the settings file.
    folder: &'a Path,
    trust: Arc<TrustedProxies>,
    proxying: &'a Proxying<'a>,
    problems: &'a Problems,
    limits: BTreeMap<String, Option<KeptLimit>>,
    /// The fleet that shares limits; nothing in it if its settings have errors.
    fleet: Option<&'a Option<Arc<Fleet>>>,
    /// Where clients are banned who break a limit.
    bans: Bans,
    refused_addresses: Arc<RefusedAddresses>,
    queue: PasswordQueue,
    found: RefCell<Found>,
    /// Whether clients may have certificates.
    has_client_authorities: bool,
    /// The variables of the settings file.
    scope: Scope,
}

/// The parts of the server that access control needs.
pub(crate) struct AccessParts<'a> {
    /// The fleet that shares limits; nothing in it if its settings have errors.
    fleet: Option<&'a Option<Arc<Fleet>>>,
    proxying: &'a Proxying<'a>,
    trust: TrustedProxies,
    /// Where clients are banned who break a limit.
    bans: Bans,
    /// Whether clients may have certificates.
    has_client_authorities: bool,
    /// The limits that there are already, by their names.
    kept_limits: BTreeMap<String, KeptLimit>,
    refused_addresses: Arc<RefusedAddresses>,
}

impl<'a> AccessParts<'a> {
    /// These parts; `fleet` has nothing in it if its settings have errors.
    pub(crate) fn new(
        fleet: Option<&'a Option<Arc<Fleet>>>,
        proxying: &'a Proxying<'a>,
        trust: TrustedProxies,
        bans: Bans,
        has_client_authorities: bool,
    ) -> Self {
        let (kept_limits, refused_addresses) = Default::default();
        Self { fleet, proxying, trust, bans, has_client_authorities, kept_limits, refused_addresses }
    }

    /// The same where the server has these limits and this count already.
    pub(crate) fn kept(self, limits: BTreeMap<String, KeptLimit>, refused: &Arc<RefusedAddresses>) -> Self {
        Self { kept_limits: limits, refused_addresses: Arc::clone(refused), ..self }
    }
}

#[derive(Default)]
struct Found {
    watched: WatchedFiles,
    files: Vec<PathBuf>,
    /// Password files by their paths: routes share what has been checked.
    users: BTreeMap<PathBuf, Basic>,
    logins: Vec<Login>,
    keys: Keys,
    /// Whether users are identified anywhere.
    identifies: bool,
    requests: Vec<Arc<ClientRequests>>,
}

impl<'a> Access<'a> {
    /// With these limits.
    pub(crate) fn new(
        limits: Vec<LimitTable>,
        scope: &Scope,
        folder: &'a Path,
        parts: AccessParts<'a>,
        problems: &'a Problems,
    ) -> Self {
        let AccessParts { fleet, proxying, trust, bans, has_client_authorities, mut kept_limits, refused_addresses } =
            parts;
        let mut this = Self {
            folder,
            trust: Arc::new(trust),
            proxying,
            problems,
            limits: BTreeMap::new(),
            fleet,
            bans,
            refused_addresses,
            queue: PasswordQueue::new(),
            found: RefCell::default(),
            has_client_authorities,
            scope: scope.clone(),
        };
        for LimitTable { settings, place } in limits {
            let name = settings.name.clone();
            let written = format!("{settings:?}");
            let kept = kept_limits.remove(&name).filter(|kept| kept.written == written);
            let new = || this.limit(settings, scope, &place).map(|limit| KeptLimit { written, limit: Arc::new(limit) });
            let limit = kept.or_else(new);
            if this.limits.insert(name.clone(), limit).is_some() {
                let text = format!("there is a [[limit]] {name:?} already: choose another name");
                problems.add(Problem::of_value(place.key("name"), text));
            }
        }
        this
    }

    /// The guard of a site or a route with these settings, inside of one with the guard `outer`.
    pub(crate) fn guard(
        &self,
        outer: Option<&Arc<Guard>>,
        settings: &AccessSettings,
        site: &str,
        place: &Place,
    ) -> Option<Option<Arc<Guard>>> {
        if settings.given().is_empty() {
            return Some(outer.cloned());
        }
        let outer = outer.map_or_else(Guard::default, |outer| Guard::clone(outer));
        let addresses = self.addresses(&outer, settings, place);
        let methods = match &settings.allow_methods {
            None => Some(outer.methods.clone()),
            Some(names) => self.methods(names, &place.key("allow-methods")),
        };
        let requests = match settings.max_requests_per_client {
            None => outer.requests,
            Some(max) => self.client_requests(max.in_memory()),
        };
        let limits = match &settings.limits {
            None => Some(outer.limits),
            Some(names) => self.named_limits(names, &place.key("limits")),
        };
        let identity = self.identity(&outer.identity, settings, site, place);
        let satisfy = match settings.satisfy {
            None => outer.satisfy,
            Some(SatisfyChoice::All) => Satisfy::All,
            Some(SatisfyChoice::Any) => Satisfy::Any,
        };
        let (addresses, methods, limits, identity) = (addresses?, methods?, limits?, identity?);
        if settings.satisfy == Some(SatisfyChoice::Any) && usize::from(addresses.is_some()) + identity.count() < 2 {
            let text = "`satisfy` = \"any\" needs two ways in, such as `allow` and `basic`, or `basic` and `jwt`: write \
                        both, or leave it out";
            return self.noted(Err(Problem::of_key(place.key("satisfy"), text)));
        }
        self.found.borrow_mut().identifies |= !identity.is_empty();
        let (trust, refused_addresses) = (Arc::clone(&self.trust), Arc::clone(&self.refused_addresses));
        let guard = Guard { addresses, methods, requests, limits, identity, satisfy, trust, refused_addresses };
        Some((!guard.is_empty()).then(|| Arc::new(guard)))
    }

    fn addresses(&self, outer: &Guard, settings: &AccessSettings, place: &Place) -> Option<Option<Arc<AddressRules>>> {
        let AccessSettings { allow, deny, .. } = settings;
        if allow.is_none() && deny.is_none() {
            return Some(outer.addresses.clone());
        }
        let found = &mut *self.found.borrow_mut();
        let rules = AddressRules::parse(allow.as_deref(), deny.as_deref(), self.folder, &mut found.watched);
        let lists = allow.iter().chain(deny).flatten();
        found.files.extend(lists.filter_map(|text| text.strip_prefix("file:")).map(|path| self.folder.join(path)));
        let rules = rules
            .map_err(|(list, number, error)| Problem::of_value(place.key(list).element(number), error.to_string()));
        self.noted(rules).map(|rules| Some(Arc::new(rules)))
    }

    fn methods(&self, names: &[String], place: &Place) -> Option<Methods> {
        self.noted(match names.is_empty() {
            true => {
                Err(Problem::of_value(place.clone(), "no request could have a method: name one, or leave the key out"))
            }
            false => Methods::new(names).map_err(|error| Problem::of_value(place.clone(), error.to_string())),
        })
    }

    fn noted<T>(&self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.add(problem)).ok()
    }

    /// Tells the access log what there is to note about requests: users, or limits, and which arguments are tokens.
    pub(crate) fn describe_requests(&self, clients: &mut ClientRules) {
        let found = self.found.borrow();
        clients.has_notes = !self.limits.is_empty() || found.identifies || !found.requests.is_empty();
        let mut secrets = found.keys.arguments();
        // With which a provider sends browsers back.
        secrets.extend((!found.logins.is_empty()).then(|| "code".into()));
        clients.secrets = Arc::new(SecretArguments(secrets));
    }

    /// The files that are read while the server runs.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.found.borrow().files.clone()
    }

    /// The limits, as other settings find them.
    pub(crate) fn kept_limits(&self) -> BTreeMap<String, KeptLimit> {
        self.limits.iter().filter_map(|(name, limit)| Some((name.clone(), limit.clone()?))).collect()
    }

    /// Keeps the parts that the server needs while it runs.
    pub(crate) fn into_control(self) -> AccessControl {
        let found = self.found.into_inner();
        AccessControl {
            limits: self.limits.into_values().flatten().map(|kept| kept.limit).collect(),
            requests: found.requests,
            refused_addresses: self.refused_addresses,
            watched: found.watched,
            fleet: self.fleet.cloned().flatten(),
            passwords: (!found.users.is_empty()).then_some(self.queue),
            logins: found.logins,
            remote_keys: found.keys.into_remote(),
        }
    }
}
