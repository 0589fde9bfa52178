//! `/config`: settings files that are added to a server, changed and removed while it serves.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use serow::{KnownHeader, Method, Request, Response, StatusCode};
use serow_config::{AddedFileName, AddedFileNameError, CONTAINER_PREFIX};
use serow_supervisor::master::{ChangeError, Changed, Control};

use super::{
    added_settings::{AddedSettings, ChangeRefusal, Precondition, SettingsChange},
    pages::{not_allowed, refusal, set, text},
    subject::sentence,
};

/// The added files of a master. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct SharedAddedSettings(Arc<Mutex<AddedSettings>>);

impl SharedAddedSettings {
    /// These, for the master and its admin endpoint.
    #[must_use]
    pub fn new(added: AddedSettings) -> Self {
        Self(Arc::new(Mutex::new(added)))
    }

    /// Them, for the moment.
    pub fn lock(&self) -> MutexGuard<'_, AddedSettings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name in a path below `/config`; empty for the list, none for another path.
pub(super) fn name_in(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/config")?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

/// Answers a request that reads.
pub(super) fn read(added: &SharedAddedSettings, name: &str) -> Response {
    let added = added.lock();
    if name.is_empty() {
        return text("application/json", &format!("{:#}\n", added.list()));
    }
    match added.file(name) {
        None => refused(&ChangeRefusal::Unknown),
        Some((file, etag)) => {
            let mut response = text("application/toml", file);
            set(&mut response, KnownHeader::Etag, &etag);
            response
        }
    }
}

/// Reads a change from a request; answers one that is none.
pub(super) async fn change(name: &str, request: &mut Request) -> Result<SettingsChange, Response> {
    if name.is_empty() {
        return Err(not_allowed("GET, HEAD"));
    }
    if name.starts_with(CONTAINER_PREFIX) {
        return Err(refusal(StatusCode::FORBIDDEN, OF_CONTAINER));
    }
    let name: AddedFileName =
        name.parse().map_err(|error: AddedFileNameError| refusal(StatusCode::BAD_REQUEST, &error.to_string()))?;
    let precondition = precondition(request)?;
    let text = if request.method == Method::PUT {
        let body = std::mem::take(&mut request.body).collect(MAX_TEXT).await;
        let body = body.map_err(|_| Response::plain_status(StatusCode::PAYLOAD_TOO_LARGE))?;
        let text = String::from_utf8(body.to_vec());
        Some(text.map_err(|_| refusal(StatusCode::BAD_REQUEST, "the body is not text in UTF-8"))?)
    } else {
        None
    };
    Ok(SettingsChange { name, text, precondition })
}

/// Makes a change, and answers it.
pub(super) async fn make(control: &Control, change: &SettingsChange) -> Response {
    let value = match serde_json::to_value(change) {
        Ok(value) => value,
        Err(error) => return refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    };
    changed(control.change(value).await, "")
}

/// The answer to a change, with a line about the fleet.
pub(super) fn changed(outcome: Result<Changed, ChangeError>, fleet: &str) -> Response {
    match outcome {
        Ok(Changed { reloaded, kept }) => {
            let mut response = text("text/plain; charset=utf-8", &format!("{}{fleet}", sentence(&reloaded)));
            if kept["is_new"] == Value::Bool(true) {
                response.status = StatusCode::CREATED;
            }
            if let Some(etag) = kept["etag"].as_str() {
                set(&mut response, KnownHeader::Etag, etag);
            }
            response
        }
        Err(ChangeError::Refused(refusal)) => match serde_json::from_value::<ChangeRefusal>(refusal) {
            Ok(refusal) => refused(&refusal),
            Err(error) => self::refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        },
        Err(ChangeError::Invalid(reason)) => refusal(StatusCode::UNPROCESSABLE_ENTITY, &reason),
        Err(ChangeError::NotNow(reason)) => refusal(StatusCode::SERVICE_UNAVAILABLE, &reason),
        Err(ChangeError::NotKept(reason)) => refused(&ChangeRefusal::NotKept(reason)),
    }
}

fn refused(refused: &ChangeRefusal) -> Response {
    let status = match refused {
        ChangeRefusal::Invalid(_) => StatusCode::BAD_REQUEST,
        ChangeRefusal::Unknown => StatusCode::NOT_FOUND,
        ChangeRefusal::Precondition => StatusCode::PRECONDITION_FAILED,
        ChangeRefusal::NotKept(_) => StatusCode::INSUFFICIENT_STORAGE,
    };
    refusal(status, &refused.to_string())
}

/// The precondition of a request (RFC 9110 §13.1.1 and §13.1.2).
fn precondition(request: &Request) -> Result<Precondition, Response> {
    let field = |name| request.headers.get_str(name).map(str::trim);
    let wrong = || Err(refusal(StatusCode::BAD_REQUEST, CONDITION));
    match (field(KnownHeader::IfMatch), field(KnownHeader::IfNoneMatch)) {
        (None, None) => Ok(Precondition::None),
        (None, Some("*")) => Ok(Precondition::Absent),
        (Some("*"), None) => Ok(Precondition::Present),
        (Some(tags), None) => {
            let tags: Vec<String> = tags.split(',').map(|tag| tag.trim().to_owned()).collect();
            let is_tag = |tag: &String| tag.len() >= 2 && tag.starts_with('"') && tag.ends_with('"');
            if tags.iter().all(is_tag) { Ok(Precondition::Version(tags)) } else { wrong() }
        }
        _ => wrong(),
    }
}

const OF_CONTAINER: &str = "such a file stands for the containers of [docker]: change their labels";

const CONDITION: &str = "write If-Match with the ETag of GET, or *; or If-None-Match: * for a new file";

/// The settings of many sites; a settings file takes 64 MB with all that belongs to it.
const MAX_TEXT: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use serow::{Body, Connection, Headers, RequestHead, Target, Version};

    use super::*;

    fn request(method: Method, fields: &[(&'static str, &'static str)]) -> Request {
        let mut headers = Headers::default();
        fields.iter().for_each(|(name, value)| headers.insert(*name, *value).unwrap());
        let target = Target::parse("/config/a".into(), false).unwrap();
        let head = RequestHead { method, target, version: Version::HTTP_11, headers };
        Request::new(head, Body::from("text".to_owned()), Connection::default())
    }

    fn read_change(name: &str, fields: &[(&'static str, &'static str)]) -> Result<SettingsChange, u16> {
        let runtime = serow_net::thread_runtime().unwrap();
        let mut request = request(Method::PUT, fields);
        runtime.block_on(change(name, &mut request)).map_err(|response| response.status.as_u16())
    }

    #[test]
    fn paths_name_a_file_or_the_list() {
        for (path, expected) in [
            ("/config", Some("")),
            ("/config/", Some("")),
            ("/config/a", Some("a")),
            ("/config/a/b", Some("a/b")),
            ("/configuration", None),
            ("/", None),
        ] {
            assert_eq!(name_in(path), expected, "{path}");
        }
        assert_eq!(read_change("a/b", &[]), Err(400));
        assert_eq!(read_change("", &[]), Err(405));
    }

    #[test]
    fn preconditions_are_read_or_refused() {
        let version = |tags: &[&str]| Precondition::Version(tags.iter().map(|tag| (*tag).to_owned()).collect());
        for (fields, expected) in [
            (&[][..], Ok(Precondition::None)),
            (&[("If-None-Match", "*")], Ok(Precondition::Absent)),
            (&[("If-Match", "*")], Ok(Precondition::Present)),
            (&[("If-Match", "\"a\"")], Ok(version(&["\"a\""]))),
            (&[("If-Match", "\"a\", \"b\"")], Ok(version(&["\"a\"", "\"b\""]))),
            (&[("If-Match", "a")], Err(400)),
            // A weak one never matches; a list of what must not be there is of no use here.
            (&[("If-Match", "W/\"a\"")], Err(400)),
            (&[("If-None-Match", "\"a\"")], Err(400)),
            (&[("If-Match", "*"), ("If-None-Match", "*")], Err(400)),
        ] {
            let change = read_change("a", fields);
            assert_eq!(
                change.map(|change| (change.precondition, change.text)),
                expected.map(|it| (it, Some("text".to_owned())))
            );
        }
    }
}
