//! Which certificates of clients are let in.

use std::{error::Error, fmt, net::IpAddr};

use x509_cert::name::Name;

use crate::client_certificate::{AlternativeName, ClientCertificate};

/// Which certificates of clients are let in: those that meet each list that has elements, by one of them; by default all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateRules {
    subjects: Vec<SubjectRule>,
    names: Vec<NameRule>,
    fingerprints: Vec<String>,
}

/// A rule for the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SubjectRule {
    /// Its common name.
    CommonName(String),
    /// The whole name, as RFC 4514 writes it.
    Whole(String),
}

/// A rule for the alternative names, one of which must match it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NameRule {
    Exactly(AlternativeName),
    /// A host of one label before this one, which begins with a dot.
    HostBelow(String),
    /// A URI that begins so, up to and with a slash.
    UriBelow(String),
}

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRuleError(String);

impl CertificateRules {
    /// Adds a subject: a common name, or a whole name as in `CN=alice,O=Example`.
    ///
    /// # Errors
    ///
    /// A text with = that is not a name.
    pub fn add_subject(&mut self, text: &str) -> Result<(), CertificateRuleError> {
        let rule = match text.contains('=') {
            true => {
                let name = text.parse::<Name>().map_err(|_| {
                    CertificateRuleError(format!("{text:?} is not a subject: write it as in \"CN=alice,O=Example\""))
                })?;
                SubjectRule::Whole(name.to_string())
            }
            false => SubjectRule::CommonName(text.to_owned()),
        };
        self.subjects.push(rule);
        Ok(())
    }

    /// Adds an alternative name: `api.example.com`, `*.example.com`, `spiffe://example.com/api`, `spiffe://example.com/*`,
    /// `email:alice@example.com`, `ip:192.0.2.1`.
    ///
    /// # Errors
    ///
    /// Other texts.
    pub fn add_name(&mut self, text: &str) -> Result<(), CertificateRuleError> {
        let rule = name_rule(text).ok_or_else(|| {
            CertificateRuleError(format!(
                "{text:?} is not a name in a certificate: write a host, *.example.com, a URI, email:… or ip:…"
            ))
        })?;
        self.names.push(rule);
        Ok(())
    }

    /// Adds a fingerprint: `sha256:` and 64 hexadecimal digits, perhaps with colons.
    ///
    /// # Errors
    ///
    /// Other texts.
    pub fn add_fingerprint(&mut self, text: &str) -> Result<(), CertificateRuleError> {
        let digits = text.strip_prefix("sha256:").map(|digits| digits.replace(':', "").to_ascii_lowercase());
        let is_digest = |digits: &String| digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digits = digits.filter(is_digest).ok_or_else(|| {
            CertificateRuleError(format!(
                "{text:?} is not a fingerprint: write sha256: and what openssl x509 -fingerprint -sha256 prints"
            ))
        })?;
        self.fingerprints.push(digits);
        Ok(())
    }

    /// Whether a certificate meets them.
    #[must_use]
    pub fn fit(&self, certificate: &ClientCertificate) -> bool {
        let Self { subjects, names, fingerprints } = self;
        let of_subject = |rule: &SubjectRule| match rule {
            SubjectRule::CommonName(name) => certificate.common_name.as_ref() == Some(name),
            SubjectRule::Whole(name) => certificate.subject == *name,
        };
        let of_names = |rule: &NameRule| certificate.names.iter().any(|name| rule.fits(name));
        (subjects.is_empty() || subjects.iter().any(of_subject))
            && (names.is_empty() || names.iter().any(of_names))
            && (fingerprints.is_empty() || fingerprints.contains(&certificate.fingerprint))
    }
}

fn name_rule(text: &str) -> Option<NameRule> {
    if let Some(address) = text.strip_prefix("ip:") {
        return address.parse::<IpAddr>().ok().map(|address| NameRule::Exactly(AlternativeName::Address(address)));
    }
    if let Some(email) = text.strip_prefix("email:") {
        return email.contains('@').then(|| NameRule::Exactly(AlternativeName::Email(email.to_owned())));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let (before, star) = rest.strip_suffix("/*").map_or((rest, false), |before| (before, true));
        let is_uri = !scheme.is_empty() && !before.is_empty() && !before.contains('*');
        return is_uri.then(|| match star {
            true => NameRule::UriBelow(format!("{scheme}://{before}/")),
            false => NameRule::Exactly(AlternativeName::Uri(text.to_owned())),
        });
    }
    let host = text.to_ascii_lowercase();
    let (name, star) = host.strip_prefix("*.").map_or((&*host, false), |name| (name, true));
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_host = !name.is_empty() && name.bytes().all(is_letter);
    is_host.then(|| match star {
        true => NameRule::HostBelow(format!(".{name}")),
        false => NameRule::Exactly(AlternativeName::Dns(host.clone())),
    })
}

impl NameRule {
    fn fits(&self, name: &AlternativeName) -> bool {
        match (self, name) {
            (Self::Exactly(expected), name) => expected == name,
            // RFC 6125 §6.4.3: a star stands for one label. A name with a star in the certificate is not a host.
            (Self::HostBelow(end), AlternativeName::Dns(host)) => {
                host.strip_suffix(end).is_some_and(|label| !label.is_empty() && !label.contains(['.', '*']))
            }
            (Self::UriBelow(beginning), AlternativeName::Uri(uri)) => {
                uri.len() > beginning.len() && uri.starts_with(beginning)
            }
            _ => false,
        }
    }
}

impl fmt::Display for CertificateRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for CertificateRuleError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> ClientCertificate {
        ClientCertificate {
            subject: "CN=alice,O=Example".to_owned(),
            common_name: Some("alice".to_owned()),
            names: vec![
                AlternativeName::Dns("api.example.com".to_owned()),
                AlternativeName::Email("alice@example.com".to_owned()),
                AlternativeName::Uri("spiffe://example.com/ns/a".to_owned()),
                AlternativeName::Address("192.0.2.1".parse().unwrap()),
            ],
            fingerprint: "ab".repeat(32),
        }
    }

    #[test]
    fn certificates_meet_subjects_names_and_fingerprints() {
        for (text, expected) in [
            ("alice", true),
            ("Alice", false),
            ("CN=alice,O=Example", true),
            ("CN=alice", false),
            ("O=Example,CN=alice", false),
        ] {
            let mut rules = CertificateRules::default();
            rules.add_subject("bob").unwrap();
            rules.add_subject(text).unwrap();
            assert_eq!(rules.fit(&certificate()), expected, "{text}");
        }
        for (text, expected) in [
            ("api.example.com", true),
            ("API.example.com", true),
            ("*.example.com", true),
            ("*.com", false),
            ("*.api.example.com", false),
            ("example.com", false),
            ("email:alice@example.com", true),
            ("email:bob@example.com", false),
            ("spiffe://example.com/ns/a", true),
            ("spiffe://example.com/ns", false),
            ("spiffe://example.com/*", true),
            ("spiffe://example.com/ns/a/*", false),
            ("spiffe://example.co/*", false),
            ("ip:192.0.2.1", true),
            ("ip:192.0.2.2", false),
        ] {
            let mut rules = CertificateRules::default();
            rules.add_name(text).unwrap();
            assert_eq!(rules.fit(&certificate()), expected, "{text}");
        }
        for (digits, expected) in [("ab".repeat(32), true), (vec!["AB"; 32].join(":"), true), ("ac".repeat(32), false)]
        {
            let mut rules = CertificateRules::default();
            rules.add_fingerprint(&format!("sha256:{digits}")).unwrap();
            assert_eq!(rules.fit(&certificate()), expected, "{digits}");
            // Each list must be met.
            rules.add_subject("bob").unwrap();
            assert!(!rules.fit(&certificate()), "{digits}");
        }
        assert!(CertificateRules::default().fit(&ClientCertificate::default()));
    }

    #[test]
    fn texts_that_are_not_rules_are_refused() {
        let mut rules = CertificateRules::default();
        for text in ["=", "CN=a,=", "CN=alice, O=Example", "no such name=x"] {
            assert!(rules.add_subject(text).is_err(), "{text}");
        }
        for text in [
            "",
            "*",
            "*.",
            "a*.example.com",
            "a b",
            "email:",
            "email:alice",
            "ip:localhost",
            "://x",
            "spiffe://",
            "spiffe://*/a",
        ] {
            assert!(rules.add_name(text).is_err(), "{text}");
        }
        for text in ["", "sha256:", "sha1:abcd", &"a".repeat(64), &format!("sha256:{}", "g".repeat(64))] {
            assert!(rules.add_fingerprint(text).is_err(), "{text}");
        }
        assert_eq!(rules, CertificateRules::default());
    }
}
