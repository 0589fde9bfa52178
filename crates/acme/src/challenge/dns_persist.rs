//! dns-persist-01 (draft-ietf-acme-dns-persist): a TXT record that stays, and lets one account order certificates of a
//! name. Serow looks it up before the authority does, and shows the record where it is missing.

use std::{
    fmt,
    net::SocketAddr,
    time::{SystemTime, UNIX_EPOCH},
};

use serow_dns::{Resolver, ResolverSettings};

use crate::{CertificateName, failure::Failure};

/// Records that someone has added once; nothing changes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DnsPersist {
    /// The name server to look them up with; without it, those of the system.
    pub server: Option<SocketAddr>,
}

/// The record that a name needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PersistentRecord {
    /// The name without `*.`.
    domain: String,
    is_wildcard: bool,
    /// The names of the authority, of which the record has one.
    issuers: Vec<String>,
    /// The URL of the account.
    account: String,
}

/// The reason why a record that exists does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mismatch {
    /// It is for another authority.
    Issuer,
    Malformed,
    Account,
    Policy,
    Expired,
}

impl DnsPersist {
    /// Returns the record that is missing for a name, and why the present one does not count, in a line; nothing if the
    /// name can be validated, or if name servers do not answer here: the authority may reach them.
    pub(crate) async fn problem(&self, record: &PersistentRecord, now: SystemTime) -> Option<String> {
        let servers = self.server.into_iter().collect();
        let resolver = Resolver::new(ResolverSettings { servers, ..ResolverSettings::default() });
        let mut found = None;
        for (number, name) in record.names().enumerate() {
            let texts = match resolver.texts(&name).await {
                Ok(texts) => texts,
                Err(error) => {
                    tracing::warn!("it is not known whether {name} has a TXT record for the authority: {error}");
                    return None;
                }
            };
            for text in texts {
                // A record of a parent domain counts only if it includes subdomains.
                match record.check(&String::from_utf8_lossy(&text), number > 0, now) {
                    Ok(()) => return None,
                    Err(Mismatch::Issuer) => {}
                    Err(mismatch) => found = found.or(Some(mismatch)),
                }
            }
        }
        Some(match found {
            Some(mismatch) => format!("{record} (the present one {mismatch})"),
            None => record.to_string(),
        })
    }
}

impl PersistentRecord {
    /// The record that lets this account order certificates of a name from an authority with these names.
    pub(crate) fn new(name: &CertificateName, issuers: Vec<String>, account: &str) -> Result<Self, Failure> {
        let invalid = || Failure::refused("the authority's challenge dns-persist-01 is invalid");
        let domain = name.domain().ok_or_else(|| Failure::refused("an address has no DNS records"))?;
        // The record that is shown is copied into zone files.
        let is_plain = |text: &String| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        };
        let is_value = |byte: u8| byte.is_ascii_graphic() && !b";\"\\".contains(&byte);
        if issuers.is_empty() || !issuers.iter().all(is_plain) || !account.bytes().all(is_value) {
            return Err(invalid());
        }
        let account = account.to_owned();
        Ok(Self { domain: domain.to_owned(), is_wildcard: name.is_wildcard(), issuers, account })
    }

    /// The names that may have the record: first the one to add, then those of its parent domains.
    fn names(&self) -> impl Iterator<Item = String> {
        let domains = std::iter::successors(Some(self.domain.as_str()), |domain| parent(domain)).take(MAX_DOMAINS);
        domains.map(|domain| format!("{LABEL}.{domain}."))
    }

    /// Whether a text is the record, as the authority decides (RFC 8659 §4.2 for its syntax).
    fn check(&self, text: &str, is_of_parent: bool, now: SystemTime) -> Result<(), Mismatch> {
        let mut parts = text.split(';').map(|part| part.trim_matches([' ', '\t']));
        let issuer = parts.next().unwrap_or_default();
        if !self.issuers.iter().any(|own| own.eq_ignore_ascii_case(issuer)) {
            return Err(Mismatch::Issuer);
        }
        let mut parameters = Vec::<(String, &str)>::new();
        for part in parts {
            let (tag, value) = part.split_once('=').ok_or(Mismatch::Malformed)?;
            let tag = tag.trim_end_matches([' ', '\t']).to_ascii_lowercase();
            if tag.is_empty() || parameters.iter().any(|(other, _)| *other == tag) {
                return Err(Mismatch::Malformed);
            }
            parameters.push((tag, value.trim_start_matches([' ', '\t'])));
        }
        let parameter = |tag| parameters.iter().find(|(other, _)| other == tag).map(|(_, value)| *value);
        if parameter("accounturi") != Some(&self.account) {
            return Err(Mismatch::Account);
        }
        let includes_others = parameter("policy").is_some_and(|policy| policy.eq_ignore_ascii_case("wildcard"));
        if (self.is_wildcard || is_of_parent) && !includes_others {
            return Err(Mismatch::Policy);
        }
        let Some(end) = parameter("persistuntil") else { return Ok(()) };
        let end: i64 = end.parse().map_err(|_| Mismatch::Malformed)?;
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if u64::try_from(end).is_ok_and(|end| now <= end) { Ok(()) } else { Err(Mismatch::Expired) }
    }
}

/// The domain above one, unless it is a top-level domain.
fn parent(domain: &str) -> Option<&str> {
    domain.split_once('.').map(|(_, rest)| rest).filter(|rest| rest.contains('.'))
}

/// The record as a line of a zone file (RFC 1035 §5.1).
impl fmt::Display for PersistentRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let issuer = self.issuers.first().map_or("", String::as_str);
        let policy = if self.is_wildcard { "; policy=wildcard" } else { "" };
        let value = format!("{issuer}; accounturi={}{policy}", self.account);
        write!(formatter, "{LABEL}.{}. IN TXT", self.domain)?;
        // It is ASCII.
        for part in value.as_bytes().chunks(MAX_STRING) {
            write!(formatter, " \"{}\"", String::from_utf8_lossy(part))?;
        }
        Ok(())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Issuer => "is for another authority",
            Self::Malformed => "is malformed",
            Self::Account => "is for another account",
            Self::Policy => "lacks policy=wildcard",
            Self::Expired => "has expired: its persistUntil has passed",
        })
    }
}

/// The first label of the record.
const LABEL: &str = "_validation-persist";

/// The name itself and its next parents: names with more labels are rare, and each is a query.
const MAX_DOMAINS: usize = 4;

/// Bytes of one string of a TXT record (RFC 1035 §3.3).
const MAX_STRING: usize = 255;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serow_name_server::{NameServer, Zone};
    use serow_requirements::requires;

    use super::*;

    const ACCOUNT: &str = "https://ca.example/acct/1";

    fn record(name: &str) -> PersistentRecord {
        PersistentRecord::new(&name.parse().unwrap(), vec!["ca.example".to_owned()], ACCOUNT).unwrap()
    }

    #[test]
    fn a_record_is_shown_as_a_line_of_a_zone_file() {
        for (name, expected) in [
            (
                "example.com",
                r#"_validation-persist.example.com. IN TXT "ca.example; accounturi=https://ca.example/acct/1""#,
            ),
            (
                "*.example.com",
                r#"_validation-persist.example.com. IN TXT "ca.example; accounturi=https://ca.example/acct/1; policy=wildcard""#,
            ),
        ] {
            assert_eq!(record(name).to_string(), expected);
            let text = expected.split('"').nth(1).unwrap();
            assert_eq!(record(name).check(text, false, SystemTime::now()), Ok(()));
        }
        let long = format!("https://ca.example/{}", "a".repeat(300));
        let long = PersistentRecord::new(&"a.example".parse().unwrap(), vec!["ca.example".to_owned()], &long);
        let shown = long.unwrap().to_string();
        assert_eq!(shown.split('"').map(str::len).filter(|length| *length > 1).collect::<Vec<_>>(), [38, 255, 87]);
    }

    #[test]
    fn records_match_or_not_as_the_draft_says() {
        let now = UNIX_EPOCH + Duration::from_secs(1000);
        for (name, is_of_parent, text, expected) in [
            ("a.example", false, "ca.example; accounturi=https://ca.example/acct/1", Ok(())),
            ("a.example", false, "CA.example;AccountURI = https://ca.example/acct/1 ;other=1", Ok(())),
            ("a.example", false, "other.example; accounturi=https://ca.example/acct/1", Err(Mismatch::Issuer)),
            ("a.example", false, "", Err(Mismatch::Issuer)),
            ("a.example", false, "ca.example", Err(Mismatch::Account)),
            ("a.example", false, "ca.example; accounturi=https://ca.example/acct/2", Err(Mismatch::Account)),
            ("a.example", false, "ca.example; accounturi=https://ca.example/acct/1;", Err(Mismatch::Malformed)),
            (
                "a.example",
                false,
                "ca.example; a=1; A=2; accounturi=https://ca.example/acct/1",
                Err(Mismatch::Malformed),
            ),
            ("*.a.example", false, "ca.example; accounturi=https://ca.example/acct/1", Err(Mismatch::Policy)),
            ("*.a.example", false, "ca.example; policy=Wildcard; accounturi=https://ca.example/acct/1", Ok(())),
            ("a.example", true, "ca.example; accounturi=https://ca.example/acct/1", Err(Mismatch::Policy)),
            ("a.example", true, "ca.example; accounturi=https://ca.example/acct/1; policy=wildcard", Ok(())),
            ("a.example", false, "ca.example; accounturi=https://ca.example/acct/1; persistUntil=1000", Ok(())),
            (
                "a.example",
                false,
                "ca.example; accounturi=https://ca.example/acct/1; persistUntil=999",
                Err(Mismatch::Expired),
            ),
            (
                "a.example",
                false,
                "ca.example; accounturi=https://ca.example/acct/1; persistUntil=-1",
                Err(Mismatch::Expired),
            ),
            (
                "a.example",
                false,
                "ca.example; accounturi=https://ca.example/acct/1; persistUntil=soon",
                Err(Mismatch::Malformed),
            ),
        ] {
            assert_eq!(record(name).check(text, is_of_parent, now), expected, "{name} {text}");
        }
    }

    #[test]
    fn a_challenge_that_would_damage_a_zone_file_is_refused() {
        let name = "example.com".parse().unwrap();
        for (issuers, account) in [
            (vec![], ACCOUNT),
            (vec!["ca.example\" \""], ACCOUNT),
            (vec![""], ACCOUNT),
            (vec!["ca.example"], "https://ca.example/\"\n@ NS evil"),
            (vec!["ca.example"], "https://ca.example/;policy=wildcard"),
        ] {
            let issuers = issuers.into_iter().map(str::to_owned).collect();
            assert!(PersistentRecord::new(&name, issuers, account).is_err(), "{account}");
        }
        assert!(PersistentRecord::new(&"192.0.2.1".parse().unwrap(), vec!["a".to_owned()], ACCOUNT).is_err());
    }

    #[tokio::test]
    async fn records_are_found_at_a_name_server_and_a_silent_one_is_no_problem() {
        requires!("program:named");
        let records = "_validation-persist.a TXT \"ca.example; accounturi=https://ca.exam\" \"ple/acct/1\"\n\
                       _validation-persist.b TXT \"ca.example; accounturi=https://ca.example/acct/2\"\n\
                       _validation-persist.c TXT \"v=spf1\"\n_validation-persist.d CNAME _validation-persist.a\n\
                       _validation-persist.e TXT \"ca.example; accounturi=https://ca.example/acct/1; policy=wildcard\"\n";
        let server = NameServer::start(&[Zone {
            name: "example.com",
            records,
            policy: "grant serow subdomain example.com TXT;",
        }]);
        let here = DnsPersist { server: Some(server.address) };
        for (name, expected) in [
            ("a.example.com", None),
            ("*.a.example.com", Some("policy=wildcard\" (the present one lacks policy=wildcard)")),
            ("b.example.com", Some("(the present one is for another account)")),
            ("c.example.com", Some("accounturi=https://ca.example/acct/1\"")),
            ("d.example.com", None),
            ("*.d.e.example.com", None),
            ("none.example.com", Some("accounturi=https://ca.example/acct/1\"")),
        ] {
            let problem = here.problem(&record(name), SystemTime::now()).await;
            let matches = match (&problem, expected) {
                (Some(problem), Some(expected)) => problem.ends_with(expected),
                (problem, expected) => problem.is_none() && expected.is_none(),
            };
            assert!(matches, "{name}: {problem:?}");
        }
        // REFUSED: it has no such zone.
        assert_eq!(here.problem(&record("a.example.org"), SystemTime::now()).await, None);
    }

    #[test]
    fn records_of_parent_domains_are_looked_up_too() {
        let names: Vec<_> = record("*.a.b.example.com").names().collect();
        let expected = ["a.b.example.com", "b.example.com", "example.com"];
        assert_eq!(names, expected.map(|domain| format!("_validation-persist.{domain}.")));
        assert_eq!(record("a.b.c.d.e.f.example").names().count(), MAX_DOMAINS);
    }
}
