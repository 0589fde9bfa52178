//! How users are identified.

use std::sync::Arc;

use serow_access::{Basic, Htpasswd, WatchedFile};
use serow_config::{
    paths::resolved,
    tables::access::{AccessSettings, BasicTable},
    values::OrOff,
};
use serow_document::{Place, Problem};
use serow_guards::{BasicUsers, ForwardAuth, IdentityChecks, LoginCheck};
use serow_message::KnownHeader;

use super::Access;
use crate::{forward_auth, login};

impl Access<'_> {
    /// How users are identified, inside of something with these checks.
    pub(super) fn identity(
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
        let identity = IdentityChecks {
            client_certificates: client_certificates?,
            basic: basic?,
            tokens: tokens?,
            forward_auth: forward_auth?,
            login: login?,
            ..IdentityChecks::default()
        };
        Some(identity.inside(outer))
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
                forward_auth::of(table, &place, (&self.trust, &self.scope), self.proxying, self.problems).map(Some)
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
                let login = login::of(table, &place, self.folder, self.fleet.and_then(Option::as_ref), self.problems)?;
                self.found.borrow_mut().logins.push(login.clone());
                Some(Some(LoginCheck { login, is_required: true, trust: Arc::clone(&self.trust) }))
            }
        }
    }

    /// Users with passwords.
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
                let file = file.map_err(|error| {
                    let remedy = if path.exists() { "" } else { "; 'serow password NAME' prints a line for it" };
                    Problem::of_value(place.key("file"), format!("{error}{remedy}"))
                });
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

    /// The realm that a challenge names: by default, the first host of the site.
    pub(super) fn realm(&self, realm: Option<&str>, site: &str, place: &Place) -> Option<Arc<str>> {
        let realm = realm.unwrap_or(match site {
            // The site without hosts.
            "*" => "Restricted",
            host => host.strip_prefix("*.").unwrap_or(host),
        });
        if realm.chars().any(|character| character.is_control() || matches!(character, '"' | '\\')) {
            let text = "the realm has a quotation mark, a backslash or a control character: leave it out";
            return self.noted(Err(Problem::of_value(place.key("realm"), text)));
        }
        Some(realm.into())
    }

    /// The name of a field that tells handlers about the user.
    pub(super) fn user_field(&self, name: &str, place: &Place) -> Option<Arc<str>> {
        if !is_user_field(name) {
            let text = format!("{name:?} cannot name the user: write a name of your own, as in \"Remote-User\"");
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        Some(name.into())
    }
}

/// Whether a field can name the user: one that HTTP itself does not know, and that applications see under one name only.
pub(crate) fn is_user_field(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_letter) && KnownHeader::recognise(name.as_bytes()).is_none()
}
