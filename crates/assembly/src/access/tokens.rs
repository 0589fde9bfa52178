//! Tokens that requests must have.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use serow_access::{
    WatchedFile,
    jwt::{
        Algorithm, Conditions, Expectations, KeySet, KeySource, RemoteKeys, RemoteKeysError, VerificationThread,
        Verifier, algorithm_names, parse_algorithm,
    },
};
use serow_config::{paths::resolved, tables::jwt::JwtTable, values::Texts};
use serow_document::{Place, Problem, names::near};
use serow_guards::{TokenPlace, Tokens};

use super::Access;

/// The keys of all tokens: those in the same file or at the same URL are read once.
#[derive(Default)]
pub(super) struct Keys {
    files: BTreeMap<(PathBuf, Kind), Arc<WatchedFile<KeySet>>>,
    remote: BTreeMap<(String, Option<PathBuf>), Arc<RemoteKeys>>,
    thread: Arc<VerificationThread>,
    /// The names of arguments that are tokens.
    arguments: BTreeSet<Box<str>>,
}

/// The kind of keys in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Public,
    Secret,
}

impl Keys {
    /// The names of arguments in queries that are tokens.
    pub(super) fn arguments(&self) -> Vec<Box<str>> {
        self.arguments.iter().cloned().collect()
    }

    /// Those that are fetched while the server runs.
    pub(super) fn into_remote(self) -> Vec<Arc<RemoteKeys>> {
        self.remote.into_values().collect()
    }
}

impl Access<'_> {
    pub(super) fn tokens(&self, table: &JwtTable, site: &str, place: &Place) -> Option<Arc<Tokens>> {
        let keys = self.keys(table, place);
        let expectations = self.expectations(table, keys.as_ref(), place);
        let places = self.token_places(table.from.as_ref(), &place.key("from"));
        let realm = self.realm(table.realm.as_deref(), site, place);
        let field = |(name, claim): (&String, &String)| {
            Some((self.user_field(name, &place.key("headers").key(name.as_str()))?, claim.as_str().into()))
        };
        let fields: Vec<_> = table.headers.iter().map(field).collect();
        let condition = |(path, values): (&String, &Texts)| {
            if values.0.is_empty() {
                let text = format!("no value of {path:?} would be right: write one, or leave the claim out");
                return self.noted(Err(Problem::of_value(place.key("claims").key(path.as_str()), text)));
            }
            Some((path.clone(), values.0.clone()))
        };
        let conditions: Vec<_> = table.claims.iter().map(condition).collect();
        Some(Arc::new(Tokens {
            keys: keys?,
            verifier: Arc::new(Verifier::new(expectations?)),
            thread: Arc::clone(&self.found.borrow().keys.thread),
            places: places?,
            conditions: Conditions(conditions.into_iter().collect::<Option<_>>()?),
            user: table.user.as_deref().unwrap_or(USER).into(),
            fields: fields.into_iter().collect::<Option<_>>()?,
            realm: realm?,
            warning: Default::default(),
        }))
    }

    fn expectations(&self, table: &JwtTable, keys: Option<&KeySource>, place: &Place) -> Option<Expectations> {
        let algorithms = self.algorithms(table.algorithms.as_ref(), keys, &place.key("algorithms"));
        let texts = |texts: &Option<Texts>, key: &str| match texts {
            Some(Texts(texts)) if texts.is_empty() => {
                let text = format!("nobody is named: write a text, or leave `{key}` out");
                self.noted(Err(Problem::of_value(place.key(key), text)))
            }
            Some(Texts(texts)) => Some(texts.clone()),
            None => Some(Vec::new()),
        };
        let (issuers, audiences) = (texts(&table.issuer, "issuer"), texts(&table.audience, "audience"));
        let default = Expectations::default();
        let leeway = table.leeway.map_or(default.leeway, |leeway| leeway.0.as_secs());
        Some(Expectations { algorithms: algorithms?, issuers: issuers?, audiences: audiences?, leeway })
    }

    fn keys(&self, table: &JwtTable, place: &Place) -> Option<KeySource> {
        let JwtTable { keys, ca, secret_file, .. } = table;
        let is_url = keys.as_ref().is_some_and(|keys| keys.contains("://"));
        if ca.is_some() && !is_url {
            let text = "`ca` is for the server of `keys`, which is not a URL: leave it out";
            return self.noted(Err(Problem::of_key(place.key("ca"), text)));
        }
        match (keys, secret_file) {
            (Some(url), None) if is_url => self.remote_keys(url, ca.as_ref(), place).map(KeySource::Url),
            (Some(file), None) => self.key_file(file.into(), Kind::Public, &place.key("keys")).map(KeySource::File),
            (None, Some(file)) => {
                self.key_file(file.clone(), Kind::Secret, &place.key("secret-file")).map(KeySource::File)
            }
            (Some(_), Some(_)) => {
                let text = "`secret-file` is in place of `keys`: leave one of them out";
                self.noted(Err(Problem::of_key(place.key("secret-file"), text)))
            }
            (None, None) => {
                let text = "keys are missing: write `keys`, as in { keys = \"jwks.json\" }, or `secret-file`";
                self.noted(Err(Problem::of_value(place.clone(), text)))
            }
        }
    }

    fn key_file(&self, path: PathBuf, kind: Kind, place: &Place) -> Option<Arc<WatchedFile<KeySet>>> {
        let key = (resolved(&path, self.folder), kind);
        let found = &mut *self.found.borrow_mut();
        if let Some(file) = found.keys.files.get(&key) {
            return Some(Arc::clone(file));
        }
        let parse = match kind {
            Kind::Public => KeySource::parse_keys,
            Kind::Secret => KeySource::parse_secret,
        };
        let file = WatchedFile::open(&key.0, parse);
        let file = Arc::new(self.noted(file.map_err(|error| Problem::of_value(place.clone(), error.to_string())))?);
        found.watched.add(Arc::clone(&file));
        found.files.push(key.0.clone());
        found.keys.files.insert(key, Arc::clone(&file));
        Some(file)
    }

    fn remote_keys(&self, url: &str, ca: Option<&PathBuf>, place: &Place) -> Option<Arc<RemoteKeys>> {
        let key = (url.to_owned(), ca.map(|path| resolved(path, self.folder)));
        let found = &mut *self.found.borrow_mut();
        if let Some(keys) = found.keys.remote.get(&key) {
            return Some(Arc::clone(keys));
        }
        let keys = RemoteKeys::new(url, key.1.as_ref());
        let wrong = if ca.is_some() && keys.as_ref().is_err_and(RemoteKeysError::is_tls) { "ca" } else { "keys" };
        let keys = keys.map_err(|error| Problem::of_value(place.key(wrong), error.to_string()));
        let keys = Arc::new(self.noted(keys)?);
        found.keys.remote.insert(key, Arc::clone(&keys));
        Some(keys)
    }

    fn algorithms(
        &self,
        names: Option<&Texts>,
        keys: Option<&KeySource>,
        place: &Place,
    ) -> Option<Option<Vec<Algorithm>>> {
        let Some(Texts(names)) = names else { return Some(None) };
        let known: Vec<&str> = algorithm_names().collect();
        let algorithm = |name: &String| {
            let algorithm = parse_algorithm(name).ok_or_else(|| {
                let remedy = match near(name, &known) {
                    Some(near) => format!("did you mean {near:?}?"),
                    None => format!("there are {}", known.join(", ")),
                };
                Problem::of_value(place.clone(), format!("{name:?} is not an algorithm of signatures: {remedy}"))
            });
            self.noted(algorithm)
        };
        let algorithms: Vec<_> = names.iter().map(algorithm).collect();
        let algorithms = algorithms.into_iter().collect::<Option<Vec<_>>>()?;
        if keys.and_then(KeySource::current).is_some_and(|keys| !keys.is_for(&algorithms)) {
            let text = "no key is for one of these algorithms: name others, or leave `algorithms` out";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        Some(Some(algorithms))
    }

    fn token_places(&self, from: Option<&Texts>, place: &Place) -> Option<Vec<TokenPlace>> {
        let Some(Texts(from)) = from else { return Some(vec![TokenPlace::Header]) };
        if from.is_empty() {
            let text = "tokens are nowhere: write header, cookie:NAME or query:NAME, or leave `from` out";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        let place_of = |text: &String| {
            self.noted(token_place(text).ok_or_else(|| {
                let text = format!("{text:?} is not a place of tokens: write header, cookie:NAME or query:NAME");
                Problem::of_value(place.clone(), text)
            }))
        };
        let places: Vec<_> = from.iter().map(place_of).collect();
        let places = places.into_iter().collect::<Option<Vec<_>>>()?;
        let arguments = places.iter().filter_map(|place| match place {
            TokenPlace::Query(name) => Some(name.clone()),
            TokenPlace::Header | TokenPlace::Cookie(_) => None,
        });
        self.found.borrow_mut().keys.arguments.extend(arguments);
        Some(places)
    }
}

fn token_place(text: &str) -> Option<TokenPlace> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let name = |name: &str| (!name.is_empty() && name.bytes().all(is_letter)).then(|| name.into());
    match text.split_once(':') {
        None if text == "header" => Some(TokenPlace::Header),
        Some(("cookie", cookie)) => name(cookie).map(TokenPlace::Cookie),
        Some(("query", argument)) => name(argument).map(TokenPlace::Query),
        _ => None,
    }
}

/// RFC 7519 §4.1.2.
const USER: &str = "sub";
