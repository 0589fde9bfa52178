//! Updates at BIND's name server.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use serow_name_server::{NameServer, Zone};
use serow_requirements::requires;

use super::*;

const RECORDS: &str = "\
_acme-challenge.alias CNAME _acme-challenge.b.other.example.
_acme-challenge.loop CNAME _acme-challenge.loop
_acme-challenge.away CNAME a.example.net.
*.wild CNAME target
mail CNAME other.example.
";

fn server() -> NameServer {
    let steps: String = (1..=9).map(|step| format!("step{step} CNAME step{}\n", step + 1)).collect();
    let zones = [
        Zone {
            name: "example.com",
            records: &format!("{RECORDS}{steps}"),
            policy: "grant serow name _acme-challenge.example.com TXT;",
        },
        Zone { name: "sub.example.com", records: "", policy: "grant serow subdomain sub.example.com TXT;" },
        Zone { name: "other.example", records: "", policy: "grant serow subdomain other.example TXT;" },
    ];
    NameServer::start(&zones)
}

fn client(server: &NameServer, key: &Path) -> UpdateClient {
    UpdateClient { server: server.address, key: fs::read_to_string(key).unwrap().parse().unwrap() }
}

const NAME: &str = "_acme-challenge.example.com";
const ADD: RecordChange = RecordChange::Add { ttl: 60 };

#[tokio::test]
async fn one_text_is_added_and_removed_among_others() {
    requires!("program:named", "program:dig");
    let server = server();
    let client = client(&server, &server.key_file());
    for (text, change, expected) in [
        ("one", ADD, &["one"][..]),
        ("two", ADD, &["one", "two"]),
        ("two", ADD, &["one", "two"]),
        ("one", RecordChange::Remove, &["two"]),
        ("one", RecordChange::Remove, &["two"]),
        ("two", RecordChange::Remove, &[]),
    ] {
        client.update("example.com", NAME, text, change, SystemTime::now).await.unwrap();
        assert_eq!(server.texts(NAME), expected);
        for text in ["one", "two"] {
            assert_eq!(has_text(server.address, NAME, text).await, Ok(expected.contains(&text)), "{text}");
        }
    }
    // More than a packet holds.
    let texts: Vec<_> = (10..40).map(|number| number.to_string().repeat(20)).collect();
    for text in &texts {
        client.update("example.com", NAME, text, ADD, SystemTime::now).await.unwrap();
    }
    for text in &texts {
        assert_eq!(has_text(server.address, NAME, text).await, Ok(true));
    }
}

#[tokio::test]
async fn zones_and_name_servers_are_found() {
    requires!("program:named");
    let server = server();
    let client = client(&server, &server.key_file());
    for (name, expected) in [
        ("_acme-challenge.example.com", Some("example.com")),
        ("_acme-challenge.a.b.example.com.", Some("example.com")),
        ("_acme-challenge.sub.example.com", Some("sub.example.com")),
        // The zone of an alias is not that of its target, which is the start of a zone here.
        ("_acme-challenge.mail.example.com", Some("example.com")),
        ("other.example", Some("other.example")),
        ("_acme-challenge.example.net", None),
    ] {
        match (client.zone(name).await, expected) {
            (Ok(zone), Some(expected)) => assert_eq!(zone, expected, "{name}"),
            (Err(UpdateError::NoZone(_)), None) => {}
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
    assert_eq!(client.name_servers("example.com").await.unwrap(), ["ns.example.com"]);
}

#[tokio::test]
async fn aliases_are_followed_except_those_of_wildcards() {
    requires!("program:named");
    let server = server();
    let client = client(&server, &server.key_file());
    for (name, expected) in [
        ("_acme-challenge.Example.com.", Some("_acme-challenge.example.com")),
        ("_acme-challenge.alias.example.com", Some("_acme-challenge.b.other.example")),
        ("_acme-challenge.a.wild.example.com", Some("_acme-challenge.a.wild.example.com")),
        ("step2.example.com", Some("step10.example.com")),
        ("step1.example.com", None),
        ("_acme-challenge.loop.example.com", None),
        ("_acme-challenge.away.example.com", None),
    ] {
        match (client.canonical_name(name).await, expected) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected, "{name}"),
            (Err(UpdateError::AliasChain(first)), None) if !name.contains("away") => assert_eq!(first, name),
            (Err(UpdateError::NoZone(target)), None) => assert_eq!(target, "a.example.net"),
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn refused_updates_say_why() {
    requires!("program:named");
    let server = server();
    let known = client(&server, &server.key_file());
    let unknown = client(&server, &server.other_key("a", "other", "hmac-sha256"));
    let same_name = client(&server, &server.other_key("b", "serow", "hmac-sha256"));
    let other_algorithm = client(&server, &server.other_key("c", "serow", "hmac-sha512"));
    for (client, zone, name, expected) in [
        (&unknown, "example.com", NAME, "BADKEY"),
        (&same_name, "example.com", NAME, "BADSIG"),
        (&other_algorithm, "example.com", NAME, "BADKEY"),
        (&known, "example.com", "www.example.com", "REFUSED"),
        (&known, "example.net", "a.example.net", "NOTAUTH"),
        (&known, "example.com", "a.example.net", "the name is not in the zone"),
    ] {
        let error = client.update(zone, name, "one", ADD, SystemTime::now).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let late = || SystemTime::now() - Duration::from_secs(3600);
    let error = known.update("example.com", NAME, "one", ADD, late).await.unwrap_err().to_string();
    assert!(error.contains("ahead (BADTIME)"), "{error}");
    assert!(server.texts(NAME).is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_reported() {
    let key = "key a { algorithm hmac-sha256; secret \"YQ==\"; };".parse().unwrap();
    let client = UpdateClient { server: serow_ports::refusing_address(), key };
    let error = client.update("example.com", NAME, "one", ADD, SystemTime::now).await.unwrap_err();
    assert!(matches!(error, UpdateError::Connection(_)), "{error}");
    let error = client.zone(NAME).await.unwrap_err().to_string();
    assert_eq!(error, "it does not answer a query for _acme-challenge.example.com");
}
