//! The metadata that a provider publishes (OpenID Connect Discovery 1.0 §3, RFC 8414).

use http::Uri;
use serde::Deserialize;

/// The endpoints of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) authorization: String,
    pub(crate) token: String,
    pub(crate) keys: String,
    /// Where claims are that are not in ID tokens.
    pub(crate) userinfo: Option<String>,
    pub(crate) end_session: Option<String>,
    /// Whether callbacks name the issuer (RFC 9207 §3).
    pub(crate) names_issuer: bool,
    /// Whether it takes the client's password only in the body of a request.
    pub(crate) takes_secret_in_body: bool,
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Metadata {
    /// Reads the document of this issuer.
    ///
    /// # Errors
    ///
    /// A line that says why the document is refused: another issuer would be somebody else's, and endpoints without TLS
    /// give secrets away.
    pub(crate) fn read(document: &[u8], issuer: &str) -> Result<Self, String> {
        let document: Document = serde_json::from_slice(document).map_err(|error| format!("is not valid: {error}"))?;
        if document.issuer != issuer {
            let other: String = document.issuer.chars().filter(|one| !one.is_control()).take(200).collect();
            return Err(format!("is that of the issuer {other:?}: write issuer = {other:?} if it is the right one"));
        }
        let of_clear = issuer.starts_with("http://");
        let endpoint = |url: String, name: &str| match is_url(&url, of_clear) {
            true => Ok(url),
            false => Err(format!("has an invalid {name}")),
        };
        let methods = document.token_endpoint_auth_methods_supported;
        let takes = |method: &str| methods.as_ref().is_some_and(|methods| methods.iter().any(|other| other == method));
        Ok(Self {
            // The default is client_secret_basic.
            takes_secret_in_body: takes("client_secret_post") && !takes("client_secret_basic"),
            authorization: endpoint(document.authorization_endpoint, "authorization_endpoint")?,
            token: endpoint(document.token_endpoint, "token_endpoint")?,
            keys: endpoint(document.jwks_uri, "jwks_uri")?,
            userinfo: document.userinfo_endpoint.map(|url| endpoint(url, "userinfo_endpoint")).transpose()?,
            end_session: document.end_session_endpoint.map(|url| endpoint(url, "end_session_endpoint")).transpose()?,
            names_issuer: document.authorization_response_iss_parameter_supported,
        })
    }

    /// The URL of the document of an issuer.
    pub(crate) fn url(issuer: &str) -> String {
        format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
    }
}

/// Whether a text is the URL of an issuer: with TLS, or on this machine.
#[must_use]
pub fn is_issuer(url: &str) -> bool {
    let is_local = |uri: &Uri| is_loopback(uri.host().unwrap_or_default());
    let is_clear = url.starts_with("http://");
    is_url(url, is_clear) && (!is_clear || url.parse().is_ok_and(|uri| is_local(&uri))) && !url.contains('?')
}

/// Whether a host, perhaps with a port, is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_url(url: &str, may_be_clear: bool) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let is_right_scheme = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => may_be_clear,
        _ => false,
    };
    let has_host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    is_right_scheme && has_host && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn document(changes: &[(&str, Value)]) -> Vec<u8> {
        let mut document = json!({
            "issuer": "https://id.example/realm",
            "authorization_endpoint": "https://id.example/auth?tenant=a",
            "token_endpoint": "https://id.example/token",
            "jwks_uri": "https://keys.example/keys",
            "end_session_endpoint": "https://id.example/logout",
            "response_types_supported": ["code"],
        });
        for (name, value) in changes {
            document[*name] = value.clone();
        }
        document.to_string().into_bytes()
    }

    #[test]
    fn endpoints_of_the_right_issuer_are_read() {
        let read = |changes: &[(&str, Value)]| Metadata::read(&document(changes), "https://id.example/realm");
        let metadata = read(&[]).unwrap();
        assert_eq!(metadata.authorization, "https://id.example/auth?tenant=a");
        assert!(!metadata.names_issuer && !metadata.takes_secret_in_body);
        let metadata = read(&[
            ("authorization_response_iss_parameter_supported", json!(true)),
            ("token_endpoint_auth_methods_supported", json!(["client_secret_post"])),
            ("end_session_endpoint", Value::Null),
        ])
        .unwrap();
        assert!(metadata.names_issuer && metadata.takes_secret_in_body && metadata.end_session.is_none());
        for (name, value) in [
            ("issuer", json!("https://id.example/")),
            ("issuer", json!("https://evil.example")),
            ("token_endpoint", json!("http://id.example/token")),
            ("token_endpoint", json!("https://user@id.example/token")),
            ("jwks_uri", json!("file:///etc/passwd")),
            ("authorization_endpoint", json!("javascript:alert(1)")),
            ("authorization_endpoint", json!("https://id.example/#a")),
            ("end_session_endpoint", json!("//id.example/")),
            ("token_endpoint", json!(1)),
            ("jwks_uri", Value::Null),
        ] {
            assert!(read(&[(name, value.clone())]).is_err(), "{name} {value}");
        }
        for text in ["", "[]", "<html>", "{}"] {
            assert!(Metadata::read(text.as_bytes(), "https://id.example/realm").is_err(), "{text}");
        }
        assert_eq!(Metadata::url("https://a.example/"), "https://a.example/.well-known/openid-configuration");
    }

    #[test]
    fn issuers_without_tls_are_on_this_machine() {
        for (url, expected) in [
            ("https://id.example", true),
            ("https://id.example/realms/a", true),
            ("http://localhost:5556/dex", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:80/", true),
            ("http://id.example", false),
            ("http://localhost.evil.example", false),
            ("https://id.example?a", false),
            ("https://user@id.example", false),
            ("id.example", false),
            ("", false),
        ] {
            assert_eq!(is_issuer(url), expected, "{url}");
        }
    }
}
