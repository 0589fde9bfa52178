//! What requests must pass before they reach a handler.

mod client_certificates;
mod tokens;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serow_access::{AddressRules, Basic, Htpasswd, PasswordQueue, WatchedFile, WatchedFiles};
use serow_access_log::{ClientRules, SecretArguments};
use serow_bans::{BanRule, Bans};
use serow_document::{Place, Problem, Problems, names::near};
use serow_fleet::Fleet;
use serow_gateway::TrustedProxies;
use serow_jwt::RemoteKeys;
use serow_login::Login;
use serow_message::KnownHeader;
use serow_rate_limit::{Delay, Limit};
use serow_site::{
    BasicUsers, ClientRequests, ForwardAuth, Guard, IdentityChecks, LoginCheck, RateLimit, RefusedAddresses, Satisfy,
};
use serow_variables::{Scope, Text};

use self::tokens::Keys;
use crate::{
    meaning::{fleet, forward_auth, login, paths::resolved, proxying::Proxying},
    tables::{
        access::{AccessSettings, BasicTable, LimitSettings, LimitTable, SatisfyChoice},
        client_limits::BanTable,
        or_off::OrOff,
    },
    values::Statuses,
};

/// Finds out what requests must pass, and notes what means nothing.
pub(crate) struct Access<'a> {
    /// The folder of the settings file.
    folder: &'a Path,
    trust: Arc<TrustedProxies>,
    proxying: &'a Proxying<'a>,
    problems: &'a Problems,
    limits: BTreeMap<String, Option<Arc<RateLimit>>>,
    /// What shares limits; nothing in it if it has errors.
    fleet: Option<&'a Option<Arc<Fleet>>>,
    /// Where clients are banned who break a limit.
    bans: Bans,
    refused_addresses: Arc<RefusedAddresses>,
    queue: PasswordQueue,
    found: RefCell<Found>,
    /// Whether clients may have certificates.
    has_client_authorities: bool,
}

/// The parts of the server that access control needs.
pub(crate) struct AccessParts<'a> {
    /// What shares limits; nothing in it if it has errors.
    fleet: Option<&'a Option<Arc<Fleet>>>,
    proxying: &'a Proxying<'a>,
    trust: TrustedProxies,
    /// Where clients are banned who break a limit.
    bans: Bans,
    /// Whether clients may have certificates.
    has_client_authorities: bool,
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
        Self { fleet, proxying, trust, bans, has_client_authorities }
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

/// What access control needs while the server runs.
#[derive(Debug)]
pub struct AccessControl {
    /// The limits.
    pub limits: Vec<Arc<RateLimit>>,
    /// The limits of requests of a client at the same time.
    pub requests: Vec<Arc<ClientRequests>>,
    /// What was refused because of addresses.
    pub refused_addresses: Arc<RefusedAddresses>,
    /// Files that are read again when they change.
    pub watched: WatchedFiles,
    /// What shares limits with other servers.
    pub fleet: Option<Arc<Fleet>>,
    /// Where passwords wait to be checked; nothing where no site has users.
    pub passwords: Option<PasswordQueue>,
    /// Logins, for the thread that sends requests to their providers.
    pub logins: Vec<Login>,
    /// Key sets that are fetched while the server runs.
    pub remote_keys: Vec<Arc<RemoteKeys>>,
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
        let AccessParts { fleet, proxying, trust, bans, has_client_authorities } = parts;
        let mut this = Self {
            folder,
            trust: Arc::new(trust),
            proxying,
            problems,
            limits: BTreeMap::new(),
            fleet,
            bans,
            refused_addresses: Arc::default(),
            queue: PasswordQueue::new(),
            found: RefCell::default(),
            has_client_authorities,
        };
        for LimitTable { settings, place } in limits {
            let (name, read) = (settings.name.clone(), this.limit(settings, scope, &place));
            if this.limits.insert(name.clone(), read.map(Arc::new)).is_some() {
                let text = format!("there is a [[limit]] {name:?} already: choose another name");
                problems.add(Problem::of_value(place.key("name"), text));
            }
        }
        this
    }

    fn limit(&self, settings: LimitSettings, scope: &Scope, place: &Place) -> Option<RateLimit> {
        let LimitSettings { name, key, rate, burst, delay, cost, ban, dry_run, shared, keys } = settings;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || !name.bytes().all(is_name) {
            let text = format!("{name:?} is not a name: use letters, digits, - and _");
            return self.noted(Err(Problem::of_value(place.key("name"), text)));
        }
        let key = Text::parse(key.as_deref().unwrap_or("$remote_addr"), scope);
        let key = self.noted(key.map_err(|error| Problem::of_value(place.key("key"), error.to_string())))?;
        if key.constant().is_some() && key.parts().is_empty() {
            let text =
                "the key is empty: write a text with variables, as in \"$remote_addr\", or \"all\" for one count";
            return self.noted(Err(Problem::of_value(place.key("key"), text)));
        }
        let burst = burst.map_or(0, |burst| burst.in_memory() as u32);
        let delay = delay.map_or(Delay::Never, |delay| Delay::After(delay.in_memory() as u32));
        if burst == 0 && delay != Delay::Never {
            let text = "`delay` needs `burst`: without one, no request comes early and waits";
            return self.noted(Err(Problem::of_key(place.key("delay"), text)));
        }
        let mut costs = Vec::new();
        for (statuses, cost) in cost {
            let ranges = statuses.parse::<Statuses>();
            let place = place.key("cost").key(statuses.as_str());
            let ranges = self.noted(ranges.map_err(|error| Problem::of_key(place, error.to_string())))?;
            costs.extend(ranges.0.into_iter().map(|range| (range.0, cost.in_memory() as u32)));
        }
        // A single status counts before a range that contains it.
        costs.sort_by_key(|(range, _)| range.end() - range.start());
        let limit = Limit::new(rate.0).with_burst(burst).with_delay(delay);
        let keys = keys.map_or(DEFAULT_KEYS, |keys| keys.in_memory());
        let table = if shared { Some(self.noted(fleet::table(self.fleet, &name, limit, keys, place))??) } else { None };
        // The table of a shared limit has the keys.
        let limit = RateLimit::new(&name, limit, key, if shared { 1 } else { keys }).with_costs(costs);
        let limit = match table {
            Some(table) => limit.shared(table),
            None => limit,
        };
        let limit = match ban {
            Some(table) => limit.with_ban(self.noted(ban_rule(table, &place.key("ban")))?, self.bans.clone()),
            None => limit,
        };
        Some(if dry_run { limit.in_dry_run() } else { limit })
    }

    /// What requests to something with these settings must pass, inside of something with this guard.
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
        let (addresses, limits, identity) = (addresses?, limits?, identity?);
        if settings.satisfy == Some(SatisfyChoice::Any) && (addresses.is_none() || identity.is_empty()) {
            let text = "`satisfy` = \"any\" needs `allow` or `deny`, and a check of users, such as `basic`: write both, or \
                        leave it out";
            return self.noted(Err(Problem::of_key(place.key("satisfy"), text)));
        }
        self.found.borrow_mut().identifies |= !identity.is_empty();
        let (trust, refused_addresses) = (Arc::clone(&self.trust), Arc::clone(&self.refused_addresses));
        let guard = Guard { addresses, requests, limits, identity, satisfy, trust, refused_addresses };
        Some((!guard.is_empty()).then(|| Arc::new(guard)))
    }

    /// How users are identified, inside of something with these checks.
    fn identity(
        &self,
        outer: &IdentityChecks,
        settings: &AccessSettings,
        site: &str,
        place: &Place,
    ) -> Option<IdentityChecks> {
        let basic = match &settings.basic {
            None => Some(outer.basic.clone()),
            Some(OrOff::Off) => Some(None),
            Some(OrOff::On(table)) => self.users(table, site, &place.key("basic")).map(Some),
        };
        let tokens = match &settings.jwt {
            None => Some(outer.tokens.clone()),
            Some(OrOff::Off) => Some(None),
            Some(OrOff::On(table)) => self.tokens(table, site, &place.key("jwt")).map(Some),
        };
        let client_certificates = match &settings.client_certificate {
            None => Some(outer.client_certificates.clone()),
            Some(OrOff::Off) => Some(None),
            Some(OrOff::On(table)) => self.client_certificates(table, &place.key("client-certificate")).map(Some),
        };
        let forward_auth = self.forward_auth(outer.forward_auth.as_ref(), settings, place);
        let login = self.login(outer.login.as_ref(), settings, place);
        let mut identity = IdentityChecks {
            client_certificates: client_certificates?,
            basic: basic?,
            tokens: tokens?,
            forward_auth: forward_auth?,
            login: login?,
            ..IdentityChecks::default()
        };
        identity.reserved =
            outer.fields().filter(|name| !identity.fields().any(|own| own == *name)).map(Arc::from).collect();
        Some(identity)
    }

    /// The server that decides, unless there is none.
    fn forward_auth(
        &self,
        outer: Option<&ForwardAuth>,
        settings: &AccessSettings,
        place: &Place,
    ) -> Option<Option<ForwardAuth>> {
        match &settings.forward_auth {
            None => Some(outer.cloned()),
            Some(OrOff::Off) => Some(None),
            Some(OrOff::On(table)) => {
                let place = place.key("forward-auth");
                forward_auth::of(table, &place, &self.trust, self.proxying, self.problems).map(Some)
            }
        }
    }

    /// The login that requests need, unless they need none.
    fn login(
        &self,
        outer: Option<&LoginCheck>,
        settings: &AccessSettings,
        place: &Place,
    ) -> Option<Option<LoginCheck>> {
        match &settings.login {
            None => Some(outer.cloned()),
            Some(OrOff::Off) => Some(outer.map(|check| LoginCheck { is_required: false, ..check.clone() })),
            Some(OrOff::On(table)) => {
                let place = place.key("login");
                let login = login::of(table, &place, self.folder, self.problems)?;
                self.found.borrow_mut().logins.push(login.clone());
                Some(Some(LoginCheck { login, is_required: true, trust: Arc::clone(&self.trust) }))
            }
        }
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

    /// The limit of a client's requests at the same time; none for 0.
    fn client_requests(&self, max: usize) -> Option<Arc<ClientRequests>> {
        let max = u32::try_from(max).ok().filter(|max| *max > 0)?;
        let requests = Arc::new(ClientRequests::new(max));
        self.found.borrow_mut().requests.push(Arc::clone(&requests));
        Some(requests)
    }

    fn named_limits(&self, names: &[String], place: &Place) -> Option<Vec<Arc<RateLimit>>> {
        let limits = names.iter().enumerate().map(|(number, name)| match self.limits.get(name) {
            Some(limit) => limit.clone(),
            None => {
                let known: Vec<&str> = self.limits.keys().map(String::as_str).collect();
                let text = match near(name, &known) {
                    Some(near) => format!("there is no [[limit]] {name:?}; did you mean {near:?}?"),
                    None => {
                        format!("there is no [[limit]] {name:?}: write one, as in [[limit]] with `name` and `rate`")
                    }
                };
                self.noted(Err(Problem::of_value(place.element(number), text)))
            }
        });
        limits.collect::<Vec<_>>().into_iter().collect()
    }

    fn users(&self, table: &BasicTable, site: &str, place: &Place) -> Option<BasicUsers> {
        let realm = self.realm(table.realm.as_deref(), site, place)?;
        let header = match &table.header {
            Some(name) => Some(self.user_field(name, &place.key("header"))?),
            None => None,
        };
        let path = resolved(&table.file, self.folder);
        let found = &mut *self.found.borrow_mut();
        let basic = match found.users.get(&path) {
            Some(basic) => basic.clone(),
            None => {
                let file = WatchedFile::open(&path, |text| Htpasswd::parse(text).map_err(|error| error.to_string()));
                let file = file.map_err(|error| Problem::of_value(place.key("file"), error.to_string()));
                let file = Arc::new(self.noted(file)?);
                found.watched.add(Arc::clone(&file));
                found.files.push(path.clone());
                let basic = Basic::new(file, self.queue.clone());
                found.users.insert(path, basic.clone());
                basic
            }
        };
        Some(BasicUsers { basic, realm, header })
    }

    /// What a challenge names.
    fn realm(&self, realm: Option<&str>, site: &str, place: &Place) -> Option<Arc<str>> {
        let realm = realm.unwrap_or(site);
        if realm.chars().any(|character| character.is_control() || matches!(character, '"' | '\\')) {
            let text = "the realm has a quotation mark, a backslash or a control character: leave it out";
            return self.noted(Err(Problem::of_value(place.key("realm"), text)));
        }
        Some(realm.into())
    }

    /// The name of a field that tells handlers about the user.
    fn user_field(&self, name: &str, place: &Place) -> Option<Arc<str>> {
        if !is_user_field(name) {
            let text = format!("{name:?} cannot name the user: write a name of your own, as in \"Remote-User\"");
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        Some(name.into())
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

    /// What it needs while the server runs.
    pub(crate) fn into_control(self) -> AccessControl {
        let found = self.found.into_inner();
        AccessControl {
            limits: self.limits.into_values().flatten().collect(),
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

/// When clients are banned.
fn ban_rule(table: BanTable, place: &Place) -> Result<BanRule, Problem> {
    let BanTable { after, within, length } = table;
    for (key, span) in [("within", within), ("for", length)] {
        if span.0.is_zero() {
            let text = "0 does not ban anybody: write a time, as in \"10m\"";
            return Err(Problem::of_value(place.key(key), text));
        }
    }
    let after = u32::try_from(after.in_memory()).unwrap_or(u32::MAX);
    Ok(BanRule { after, within: within.0, length: length.0 })
}

/// Whether a field can name the user: one that HTTP itself does not know, and that applications see under one name only.
pub(crate) fn is_user_field(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_letter) && KnownHeader::recognise(name.as_bytes()).is_none()
}

/// 16 MB, if there are so many clients.
const DEFAULT_KEYS: usize = 1_000_000;
