//! Settings files made wrong, a thousand in a thousand ways that must be wrong by how they are made; and a thousand
//! more with arbitrary bytes changed, of which nobody knows beforehand whether they are.

mod entries;
pub(crate) mod random;
mod wrong;

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use rcgen::{CertificateParams, KeyPair};
use serow_config::{explanation, root_table};
use serow_document::{Fault, Sources};
use tempfile::TempDir;

use self::{random::Random, wrong::WAYS};
use crate::{ApplicationHost, KeptParts, assemble, kept_parts::Staying};

/// Right ones, to begin with.
const EXAMPLES: [&str; 6] = [
    include_str!("../../config/examples/serow.toml"),
    include_str!("../../config/examples/tls.toml"),
    include_str!("../../config/examples/sites.toml"),
    include_str!("../../config/examples/behind-a-proxy.toml"),
    include_str!("../../config/examples/proxy.toml"),
    include_str!("../../config/examples/complete.toml"),
];

/// A folder with all that the examples name.
fn surroundings() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["public", "app", "errors", "scripts"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    for name in ["404.html", "sorry.html", "busy.json"] {
        fs::write(folder.path().join("errors").join(name), "{}").expect("a file");
    }
    for name in ["ab", "canonical_host", "maintenance"] {
        fs::write(folder.path().join(format!("scripts/{name}.lua")), "return { request = function() end }")
            .expect("a file");
    }
    fs::write(folder.path().join("app/config.ru"), "").expect("a file");
    let users = "alice:{SHA}W8r/fyL/UzygmbNAjq2HbA67qac=\n";
    let keys = r#"{"keys": [{"kty": "EC", "crv": "P-256", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
        "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;
    for (name, text) in [("users.htpasswd", users), ("blocked.txt", "198.51.100.0/24\n"), ("jwks.json", keys)] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    fs::write(folder.path().join("token.txt"), "0123456789abcdef").expect("a file");
    fs::write(folder.path().join("eab.key"), "c2VjcmV0").expect("a file");
    let key = "key serow { algorithm hmac-sha256; secret \"c2VjcmV0\"; };";
    fs::write(folder.path().join("dns.key"), key).expect("a file");
    for name in ["tickets.secret", "store.secret"] {
        let secret = folder.path().join(name);
        fs::write(&secret, "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0").expect("a file");
        fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("permissions");
    }
    for name in ["site", "other"] {
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(vec![format!("{name}.example")]).expect("a name");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        fs::write(folder.path().join(format!("{name}.pem")), certificate.pem()).expect("a file");
        fs::write(folder.path().join(format!("{name}.key")), key.serialize_pem()).expect("a file");
    }
    folder
}

/// A text alone.
fn sources(text: &str) -> Sources {
    Sources::of("serow.toml", text.to_owned())
}

/// Faults have a place within the text, and can be shown.
fn assert_shown(faults: &[Fault], text: &str) {
    assert!(!faults.is_empty(), "refused for no reason:\n{text}");
    for fault in faults {
        let is_within = fault.span.as_ref().is_none_or(|span| span.start <= span.end && span.end <= text.len());
        assert!(is_within, "{fault:?}\n{text}");
        let shown = sources(text).show(fault);
        assert!(shown.lines().count() == if fault.span.is_some() { 4 } else { 1 }, "{shown}");
        assert!(!fault.text.is_empty() && !shown.contains('\u{1b}'), "{shown}");
    }
}

#[test]
fn the_examples_are_right() {
    let folder = surroundings();
    for text in EXAMPLES {
        assert!(
            assemble(
                &sources(text),
                folder.path(),
                &ApplicationHost::default(),
                (&KeptParts::default(), Staying::default())
            )
            .is_ok(),
            "{text}"
        );
    }
}

#[test]
fn files_made_wrong_are_refused() {
    let folder = surroundings();
    let mut random = Random::new(5);
    let mut counts = vec![0; WAYS.len()];
    while counts.iter().sum::<usize>() < 1000 || counts.contains(&0) {
        let way = random.below(WAYS.len());
        let text = EXAMPLES[random.below(EXAMPLES.len())];
        let (name, make_wrong) = WAYS[way];
        // Not every file can be made wrong in every way.
        let Some(wrong) = make_wrong(text, &mut random) else { continue };
        match assemble(
            &sources(&wrong),
            folder.path(),
            &ApplicationHost::default(),
            (&KeptParts::default(), Staying::default()),
        ) {
            Ok(_) => panic!("accepted, though {name}:\n{wrong}"),
            Err(faults) => assert_shown(&faults, &wrong),
        }
        counts[way] += 1;
    }
    println!("refused: {:?}", WAYS.iter().map(|(name, _)| *name).zip(counts).collect::<Vec<_>>());
}

#[test]
fn arbitrary_changes_are_refused_with_a_place_or_mean_something() {
    let folder = surroundings();
    let mut random = Random::new(7);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..1000 {
        let mut bytes = EXAMPLES[random.below(EXAMPLES.len())].as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            random.change(&mut bytes);
        }
        let Ok(text) = String::from_utf8(bytes) else {
            refused += 1;
            continue;
        };
        match assemble(
            &sources(&text),
            folder.path(),
            &ApplicationHost::default(),
            (&KeptParts::default(), Staying::default()),
        ) {
            Ok(_) => {
                assert_means_the_same(&text, folder.path());
                accepted += 1;
            }
            Err(faults) => {
                assert_shown(&faults, &text);
                refused += 1;
            }
        }
    }
    // Most of a file is comments and free text.
    assert!(accepted > 50 && refused > 300, "{accepted} accepted, {refused} refused");
}

/// A file that is accepted has the same meaning when it is written again.
fn assert_means_the_same(text: &str, folder: &Path) {
    let explain = |text: &str| root_table(&sources(text)).map(|table| explanation(&table));
    let once = explain(text).expect("it was accepted");
    assert_eq!(explain(&once).as_ref(), Ok(&once), "{text}");
    assert!(
        assemble(&sources(&once), folder, &ApplicationHost::default(), (&KeptParts::default(), Staying::default()))
            .is_ok(),
        "{once}"
    );
}
