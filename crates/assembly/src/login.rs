//! Logins by a provider of OpenID Connect.

use std::{path::Path, sync::Arc, time::Duration};

use serow_access::{
    jwt::Conditions,
    openid::{CookieKey, Login, LoginSettings, Sharing, is_issuer, read_secret},
};
use serow_config::{paths::resolved, tables::login::LoginTable};
use serow_document::{Place, Problem, Problems};
use serow_fleet::Fleet;

use crate::{access::is_user_field, shared_logins::FleetStore};

/// The login of this table, in a file in this folder, whose servers may be a fleet; nothing where something is wrong, which
/// is noted.
pub(crate) fn of(
    table: &LoginTable,
    place: &Place,
    folder: &Path,
    fleet: Option<&Arc<Fleet>>,
    problems: &Problems,
) -> Option<Login> {
    let noted = |problem| {
        problems.add(problem);
        None
    };
    let wrong = wrong_texts(table, place);
    if !wrong.is_empty() {
        wrong.into_iter().for_each(|problem| problems.add(problem));
        return None;
    }
    let client_secret = match table.client_secret_file.as_ref().map(|file| secret_of(&resolved(file, folder))) {
        None => None,
        Some(Ok(secret)) => Some(secret),
        Some(Err(text)) => return noted(Problem::of_value(place.key("client-secret-file"), text)),
    };
    let key = match table.cookie_key_file.as_ref().map(|file| CookieKey::of_file(&resolved(file, folder))) {
        None => None,
        Some(Ok(key)) => Some(key),
        Some(Err(error)) => return noted(Problem::of_value(place.key("cookie-key-file"), error.to_string())),
    };
    let scopes = table.scopes.clone().unwrap_or_else(|| SCOPES.map(str::to_owned).to_vec());
    let conditions = table.claims.iter().map(|(claim, values)| (claim.clone(), values.0.clone())).collect();
    let path = |path: &Option<String>, usual: &str| path.as_deref().unwrap_or(usual).to_owned();
    let settings = LoginSettings {
        issuer: table.issuer.clone(),
        client_id: table.client_id.clone(),
        client_secret,
        scopes: scopes.into_iter().filter(|scope| scope != "openid").collect(),
        callback: path(&table.callback, CALLBACK),
        logout: path(&table.logout, LOGOUT),
        after_logout: table.after_logout.clone(),
        session: table.session.map_or(DEFAULT_SESSION, |span| span.0),
        user_claim: table.user.clone().unwrap_or_else(|| "sub".to_owned()),
        conditions: Conditions(conditions),
        fields: table.headers.iter().map(|(name, claim)| (Arc::from(name.as_str()), claim.clone())).collect(),
        ca: table.ca.as_ref().map(|file| resolved(file, folder)),
    };
    match Login::new(settings) {
        Ok(login) => {
            match (fleet, &key) {
                (Some(fleet), _) => login.share(Sharing::Store(Arc::new(FleetStore(Arc::clone(fleet))))),
                // It is for several servers.
                (None, Some(_)) => login.share(Sharing::Unconnected),
                (None, None) => {}
            }
            key.iter().for_each(|key| login.set_key(key));
            Some(login)
        }
        Err(error) => noted(Problem::of_value(place.key("ca"), error.to_string())),
    }
}

fn secret_of(path: &Path) -> Result<zeroize::Zeroizing<String>, String> {
    let secret = read_secret(path).map_err(|error| error.to_string())?;
    let text =
        std::str::from_utf8(&secret).map_err(|_| format!("{}: the secret is not written in UTF-8", path.display()))?;
    Ok(text.to_owned().into())
}

/// The problems of the texts in a table.
fn wrong_texts(table: &LoginTable, place: &Place) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |key: &str, text: String| problems.push(Problem::of_value(place.key(key), text));
    if !is_issuer(&table.issuer) {
        add("issuer", format!("{:?} is not the URL of a provider: write it with https://", table.issuer));
    }
    if table.client_id.is_empty() {
        add("client-id", "the name of this server at the provider is empty".to_owned());
    }
    let is_path = |path: &str| {
        path.len() > 1
            && path.starts_with('/')
            && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/.-_~".contains(&byte))
            && !path.contains("//")
            && !path.split('/').any(|name| matches!(name, "." | ".."))
    };
    for (key, path) in [("callback", &table.callback), ("logout", &table.logout)] {
        if let Some(path) = path.as_ref().filter(|path| !is_path(path)) {
            add(key, format!("{path:?} is not a path: write it as in \"{CALLBACK}\""));
        }
    }
    if table.callback.as_deref().unwrap_or(CALLBACK) == table.logout.as_deref().unwrap_or(LOGOUT) {
        add("logout", "`callback` is the same path: write another one".to_owned());
    }
    if let Some(url) =
        table.after_logout.as_ref().filter(|url| !url.starts_with("https://") && !url.starts_with("http://"))
    {
        add("after-logout", format!("{url:?} is not a URL: write it with https://"));
    }
    let is_scope = |scope: &String| {
        !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
    };
    if let Some(scope) = table.scopes.iter().flatten().find(|scope| !is_scope(scope)) {
        add(
            "scopes",
            format!("{scope:?} is not a scope: write each as a text of its own, as in [\"email\", \"groups\"]"),
        );
    }
    for name in table.headers.keys().filter(|name| !is_user_field(name)) {
        let text = format!("{name:?} cannot tell of the user: write a name of your own, as in \"Remote-User\"");
        problems.push(Problem::of_key(place.key("headers").key(name.as_str()), text));
    }
    problems
}

/// With these, providers give out the claims that people expect (OpenID Connect Core §5.4).
const SCOPES: [&str; 2] = ["email", "profile"];

const CALLBACK: &str = "/.serow/login/callback";
const LOGOUT: &str = "/.serow/login/logout";

/// A working day; whoever is put out of the company at the provider has access for so long.
const DEFAULT_SESSION: Duration = Duration::from_secs(12 * 3600);
