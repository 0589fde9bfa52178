//! Requests to the token endpoint (RFC 6749 §4.1.3, §6, and §2.3.1 for the client's password).

use bytes::Bytes;
use data_encoding::BASE64;
use http::{Request, header};

use crate::openid::{form, metadata::Metadata, settings::LoginSettings};

/// A request that exchanges a code.
pub(super) fn exchange(
    settings: &LoginSettings,
    metadata: &Metadata,
    code: &str,
    verifier: &str,
    redirect_uri: &str,
) -> Result<Request<Bytes>, http::Error> {
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect_uri),
        ("code_verifier", verifier),
    ];
    request(settings, metadata, pairs.to_vec())
}

/// A request that refreshes tokens.
pub(super) fn refresh(
    settings: &LoginSettings,
    metadata: &Metadata,
    token: &str,
) -> Result<Request<Bytes>, http::Error> {
    request(settings, metadata, vec![("grant_type", "refresh_token"), ("refresh_token", token)])
}

/// A request for what the provider knows of a user.
pub(super) fn user_info(url: &str, access_token: &str) -> Result<Request<Bytes>, http::Error> {
    let request = Request::get(url).header(header::ACCEPT, "application/json");
    request.header(header::AUTHORIZATION, format!("Bearer {access_token}")).body(Bytes::new())
}

fn request<'p>(
    settings: &'p LoginSettings,
    metadata: &Metadata,
    mut pairs: Vec<(&'p str, &'p str)>,
) -> Result<Request<Bytes>, http::Error> {
    let mut request = Request::post(&metadata.token)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::ACCEPT, "application/json");
    match &settings.client_secret {
        Some(secret) if !metadata.takes_secret_in_body => {
            let (mut id, mut password) = (String::new(), String::new());
            form::encode_text(&settings.client_id, &mut id);
            form::encode_text(secret, &mut password);
            let credentials = BASE64.encode(format!("{id}:{password}").as_bytes());
            request = request.header(header::AUTHORIZATION, format!("Basic {credentials}"));
        }
        Some(secret) => pairs.extend([("client_id", &*settings.client_id), ("client_secret", secret.as_str())]),
        None => pairs.push(("client_id", &settings.client_id)),
    }
    request.body(form::encode(&pairs).into())
}
