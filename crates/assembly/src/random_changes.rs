//! Random changes of settings: a server that reads what has changed has the same parts as one that reads all.

use std::{collections::BTreeMap, fmt::Write, path::Path, sync::Arc};

use serow::{Handler, Request};
use serow_site::{ClientAdmission, LiveSites, TlsPolicy};

use crate::{
    ApplicationHost, Configuration, KeptParts, following, independence::LEAST_ROUTES, mutations::random::Random,
    of_bytes,
};

/// Settings as people change them: sites in the main file and in added ones.
#[derive(Clone)]
struct RandomSettings {
    root: usize,
    sites: BTreeMap<usize, usize>,
    added: BTreeMap<usize, Vec<usize>>,
}

impl RandomSettings {
    fn change(&mut self, random: &mut Random) {
        let number = random.below(100);
        match random.below(24) {
            0 => self.root = random.below(ROOTS.len()),
            1..=4 => drop(self.sites.remove(&number)),
            5..=12 => drop(self.sites.insert(number, random.below(KINDS))),
            13 | 14 => drop(self.added.remove(&(number % 12))),
            15..=22 => {
                let kinds = (0..random.below(3)).map(|_| random.below(KINDS)).collect();
                self.added.insert(number % 12, kinds);
            }
            _ if self.sites.remove(&100).is_none() => drop(self.sites.insert(100, KINDS)),
            _ => {}
        }
    }

    fn bytes(&self, path: &Path) -> Vec<u8> {
        let mut main = format!("listen = \"127.0.0.1:0\"\nadmin = \"off\"\n{}", ROOTS[self.root]);
        main.push_str("[[site]]\nhosts = [\"many.example\"]\n");
        for number in 0..LEAST_ROUTES {
            // Writing to a string does not fail.
            let _ = writeln!(main, "[[site.route]]\npath = \"/{number}\"\nrespond = {{ status = 204 }}");
        }
        self.sites.iter().for_each(|(number, kind)| main.push_str(&site(&number.to_string(), *kind)));
        let added = self.added.iter().map(|(number, kinds)| {
            let sites = kinds.iter().enumerate().map(|(place, kind)| site(&format!("{number}.{place}"), *kind));
            (format!("{number:02}").parse().unwrap(), format!("# Added.\n{}", sites.collect::<String>()))
        });
        serow_config::bundle(path, main.into_bytes(), added.collect())
    }
}

/// A site of a kind; the last kinds are wrong, alone or beside others.
fn site(name: &str, kind: usize) -> String {
    let mut text = String::from("[[site]]\n");
    let hosts = match kind {
        0..=15 => format!("hosts = [\"h{name}.example\", \"w{name}.example\"]\n"),
        16 => format!("hosts = [\"*.h{name}.example\"]\n"),
        // A host that others may have as well.
        17 => "hosts = [\"same.example\"]\n".to_owned(),
        19 => "hosts = [\"same.example\"]\nlisten = \"127.0.0.1:1\"\n".to_owned(),
        _ => String::new(),
    };
    // Writing to a string does not fail.
    let _ = write!(text, "{hosts}");
    text.push_str(match kind {
        0 => "proxy = { servers = \"127.0.0.1:1\" }\n",
        1 => "proxy = { servers = [\"127.0.0.1:1\", \"127.0.0.1:2\"] }\n",
        2 => "proxy = { upstream = \"named\" }\n",
        3 => "[[site.route]]\npath = \"/a\"\nrespond = { body = \"a $host\" }\n[[site.route]]\npath = \"/*\"\nredirect = { to = \"/a\" }\n",
        4 => "limits = [\"limit\"]\n[[site.route]]\npath = \"/\"\nrespond = { body = \"limited\" }\n",
        5 => "headers = { x-map = \"$map\" }\n[[site.route]]\npath = \"/\"\nrespond = { body = \"$map\" }\n",
        6 => "allow = [\"10.0.0.0/8\"]\nproxy = { servers = \"127.0.0.1:3\" }\n",
        7 => "files = { root = \".\" }\n",
        8 => "access-log = \"site.log\"\nproxy = { servers = \"127.0.0.1:1\" }\n",
        9 => "max-body = 0\n[[site.route]]\npath = \"/*\"\nproxy = { servers = \"127.0.0.1:4\" }\n",
        10 => "headers = { x-up = \"$upstream_addr\" }\nproxy = { servers = \"127.0.0.1:4\" }\n",
        11 => "route = [{ path = \"/\", respond = { status = 403 } }]\n",
        12 => "[[site.route]]\npath = \"/\"\nerror-pages = { 404 = { path = \"/sorry\" } }\nrespond = { status = 404 }\n",
        13 => "max-body = \"20M\"\nproxy = { servers = \"127.0.0.1:1\" }\n",
        // The same servers as elsewhere, in another way.
        14 => "proxy = { servers = \"127.0.0.1:1,weight=2\" }\n",
        15 => "proxy = { upstream = \"missing\" }\n",
        16 | 17 | 19 => "proxy = { servers = \"127.0.0.1:5\" }\n",
        _ => "route = [{ path = \"/\", respond = { body = \"otherwise\" } }]\n",
    });
    text
}

/// Those that are drawn; one more has an address of its own, after which all sites are read.
const KINDS: usize = 19;

const ROOTS: [&str; 4] = [
    "[[limit]]\nname = \"limit\"\nrate = \"1000/s\"\n[[map]]\nfrom = \"$host\"\nto = \"map\"\nvalues = { \"*1*\" = \"one\" }\n\
     [[upstream]]\nname = \"named\"\nservers = \"127.0.0.1:9\"\n",
    "headers-timeout = \"7s\"\n[[limit]]\nname = \"limit\"\nrate = \"1000/s\"\n[[map]]\nfrom = \"$host\"\nto = \"map\"\nvalues = { \"*1*\" = \"one\" }\n\
     [[upstream]]\nname = \"named\"\nservers = \"127.0.0.1:9\"\n",
    "[[limit]]\nname = \"limit\"\nrate = \"1000/s\"\n[[map]]\nfrom = \"$host\"\nto = \"map\"\nvalues = { \"*2*\" = \"two\" }\n\
     [[upstream]]\nname = \"named\"\nservers = \"127.0.0.1:8\"\n",
    // Without the map and the limit that sites name.
    "[[upstream]]\nname = \"named\"\nservers = \"127.0.0.1:9\"\n",
];

/// The responses to requests for all hosts that there may be.
fn responses(configuration: &Configuration) -> Vec<String> {
    let live = LiveSites::new(configuration.site.clone());
    let handler = serow_site::handler(&live, TlsPolicy::default(), 443, ClientAdmission::default());
    let names = (0..100).map(|number| format!("h{number}.example"));
    let added = (0..12).flat_map(|number| (0..2).map(move |place| format!("w{number}.{place}.EXAMPLE:80")));
    let others = ["same.example", "x.h1.example", "other.example"].map(str::to_owned);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let respond = |host: String| {
        let request = || {
            let mut request = Request::get("/");
            request.headers.append("host", &host).unwrap();
            request
        };
        let mut findings = configuration.site.examine(request());
        // The usual limit is worth a word where the server takes longer bodies, for another site or for one that it had.
        findings.retain(|finding| !finding.text.contains("10485760"));
        for finding in &mut findings {
            // The others are in another order.
            finding.text.truncate(finding.text.find("; hosts are").unwrap_or(finding.text.len()));
        }
        let findings = format!("{host} {findings:?}");
        if ["127.0.0.1:", "named", "429"].iter().any(|text| findings.contains(text)) {
            // There is no such server, and limits count.
            return findings;
        }
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            let response = handler.call(request()).await;
            let fields = ["x-map", "location", "x-up"].map(|name| response.headers.get_str(name).map(str::to_owned));
            let (status, mut body) = (response.status, response.body);
            let mut text = Vec::new();
            while let Some(Ok(piece)) = body.chunk().await {
                text.extend_from_slice(&piece);
            }
            format!("{findings} {status} {fields:?} {}", String::from_utf8_lossy(&text))
        })
    };
    names.chain(added).chain(others).map(respond).collect()
}

/// The names of upstreams, with the addresses of their servers.
fn upstreams(configuration: &Configuration) -> Vec<String> {
    let mut all: Vec<_> = configuration.upstreams.iter().map(|upstream| format!("{:?}", upstream.settings())).collect();
    all.sort_unstable();
    all
}

#[test]
fn settings_of_which_only_changes_are_read_mean_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("serow.toml");
    let host = ApplicationHost::default();
    let (mut partly, mut refused) = (0, 0);
    for seed in 0..3 {
        let mut random = Random::new(seed);
        let sites = (0..90).map(|number| (number, random.below(14))).filter(|(_, kind)| ![7, 8, 10].contains(kind));
        let mut settings = RandomSettings { root: 0, sites: sites.collect(), added: BTreeMap::new() };
        let mut kept = KeptParts::default();
        for step in 0..60 {
            let before = settings.clone();
            (0..=random.below(2)).for_each(|_| settings.change(&mut random));
            let bytes = settings.bytes(&path);
            let whole = of_bytes(&path, bytes.clone(), &host);
            let followed = following(&path, bytes, &host, &kept);
            let (whole, followed) = match (whole, followed) {
                (Ok(whole), Ok(followed)) => (whole, followed),
                (Err(whole), Err(followed)) => {
                    assert_eq!(whole.to_string(), followed.to_string(), "{seed} {step}");
                    settings = before;
                    refused += 1;
                    continue;
                }
                (whole, followed) => {
                    panic!("{seed} {step}: {:?}, {:?}", whole.err().map(|error| error.to_string()), followed.err());
                }
            };
            // The server takes bodies that are as long as any that it took.
            let reason = followed.fixed.reason_for_process(&whole.fixed);
            assert!(reason.is_none_or(|reason| reason.contains("max-body")), "{seed} {step}");
            assert_eq!(upstreams(&followed), upstreams(&whole), "{seed} {step}");
            assert_eq!((followed.sites, followed.routes), (whole.sites, whole.routes), "{seed} {step}");
            assert_eq!(followed.notes, whole.notes, "{seed} {step}");
            let all = responses(&followed).into_iter().zip(responses(&whole));
            all.for_each(|(followed, whole)| assert_eq!(followed, whole, "{seed} {step}"));
            let stayed = followed.kept.sites.sites_in(&kept.sites);
            partly += usize::from(stayed > 0);
            kept = followed.kept;
        }
    }
    assert!(partly > 50 && refused > 20, "{partly} {refused}");
}

#[test]
fn sites_stay_while_others_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("serow.toml");
    let host = ApplicationHost::default();
    let read =
        |settings: &RandomSettings, kept: &KeptParts| following(&path, settings.bytes(&path), &host, kept).unwrap();
    let sites = (0..80).map(|number| (number, number % 7)).collect();
    let mut settings = RandomSettings { root: 0, sites, added: BTreeMap::new() };
    let first = read(&settings, &KeptParts::default());
    settings.sites.remove(&3);
    settings.sites.insert(4, 3);
    settings.added.insert(1, vec![0]);
    let second = read(&settings, &first.kept);
    assert_eq!((second.sites, second.kept.sites.sites_in(&first.kept.sites)), (81, 79));
    // All hosts are the same as before: one site is read again.
    let same = read(&settings, &second.kept);
    assert_eq!((same.sites, same.kept.sites.sites_in(&second.kept.sites)), (81, 80));
    assert!(same.made_upstreams.is_empty());
    // Something else changes.
    settings.root = 2;
    let other = read(&settings, &same.kept);
    assert_eq!((other.sites, other.kept.sites.sites_in(&same.kept.sites)), (81, 0));
    assert_eq!(other.made_upstreams.len(), 1);
    assert!(Arc::ptr_eq(&other.upstreams[1].servers()[0], &first.upstreams[1].servers()[0]));
}
