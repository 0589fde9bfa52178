//! Certificates that clients must have, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{Switchable, Texts};

/// Certificates that clients must have; each key that is given must be met, by one of its values.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClientCertificateTable {
    /// Subjects: common names, or whole names as in "CN=alice,O=Example" (RFC 4514) [default: all]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Texts>,

    /// Alternative names: "api.example.com", "*.example.com", "spiffe://example.com/api", "spiffe://example.com/*",
    /// "email:alice@example.com", "ip:192.0.2.1" [default: all]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub san: Option<Texts>,

    /// Fingerprints: "sha256:" and the digits that openssl x509 -fingerprint -sha256 prints [default: all]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Texts>,

    /// Header field that names the user to applications and other servers, such as Remote-User [default: none]
    ///
    /// The user is the common name; without one, the first alternative name. Serow removes this field from the requests
    /// of clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

impl Switchable for ClientCertificateTable {
    const EXPECTED: &'static str = r#"a table, as in { subject = "alice" }, or false"#;
}
