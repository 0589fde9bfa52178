//! Other settings for a server that serves: what goes on, and what needs another process.

use std::{fs, path::Path, sync::Arc};

use serow::{Handler, Request};
use serow_assembly::{ApplicationHost, Configuration, KeptParts, following};
use serow_proxy::{Server, Upstream};
use serow_site::{ClientAdmission, LiveSites, TlsPolicy};

/// The configuration of a text in a folder, for a process that has these parts.
fn configuration(folder: &Path, text: &str, kept: &KeptParts) -> Configuration {
    let path = folder.join("serow.toml");
    following(&path, text.as_bytes().to_vec(), &ApplicationHost::default(), kept)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The same server, and not another one with the same address.
fn servers(configuration: &Configuration, name: &str) -> Option<Arc<Server>> {
    let found = configuration.upstreams.iter().find(|upstream| upstream.settings().name == name);
    found.and_then(|upstream: &Upstream| upstream.servers().first().cloned())
}

#[test]
fn upstreams_that_are_written_alike_are_the_same_ones() {
    let folder = tempfile::tempdir().unwrap();
    let text = |servers: &str, more: &str| {
        format!(
            "listen = \"127.0.0.1:0\"\n\
             [[upstream]]\nname = \"kept\"\nservers = [\"127.0.0.1:1\"]\n\
             [[upstream]]\nname = \"changed\"\nservers = [{servers}]\n\
             [[site]]\nroute = [\n{{ path = \"/a\", proxy = {{ upstream = \"kept\" }} }},\n\
             {{ path = \"/b\", proxy = {{ upstream = \"changed\" }} }},\n\
             {{ path = \"/c\", proxy = {{ servers = [\"127.0.0.1:5\"] }} }},{more}]\n"
        )
    };
    let one = configuration(folder.path(), &text("\"127.0.0.1:2\"", ""), &KeptParts::default());
    let more = "\n{ path = \"/d\", proxy = { servers = [\"127.0.0.1:6\"] } },";
    let other = configuration(folder.path(), &text("\"127.0.0.1:2\", \"127.0.0.1:3\"", more), &one.kept);
    let is_same = |name| Arc::ptr_eq(&servers(&one, name).unwrap(), &servers(&other, name).unwrap());
    assert!(is_same("kept") && is_same("127.0.0.1:5") && !is_same("changed"));
    assert!(servers(&one, "127.0.0.1:6").is_none() && servers(&other, "127.0.0.1:6").is_some());
    assert_eq!(one.fixed.reason_for_process(&other.fixed), None);
}

#[test]
fn an_upstream_whose_connections_depend_on_files_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ca.pem"), rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem())
        .unwrap();
    let text = "listen = \"127.0.0.1:0\"\n[[upstream]]\nname = \"a\"\nservers = [\"https://127.0.0.1:1\"]\nserver-ca = \"ca.pem\"\n\
                [[site]]\nproxy = { upstream = \"a\" }\n";
    let one = configuration(folder.path(), text, &KeptParts::default());
    let other = configuration(folder.path(), text, &one.kept);
    assert!(!Arc::ptr_eq(&servers(&one, "a").unwrap(), &servers(&other, "a").unwrap()));
}

#[test]
fn limits_and_stored_responses_go_on_unless_a_map_changes_that_keys_may_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = |map: &str, path: &str| {
        format!(
            "listen = \"127.0.0.1:0\"\n[cache]\nmemory = \"1M\"\n[[limit]]\nname = \"a\"\nrate = \"1/s\"\n\
             [[map]]\nfrom = \"$host\"\nto = \"m\"\nvalues = {{ \"a\" = \"{map}\" }}\n\
             [[site]]\nroute = [{{ path = \"{path}\", limits = [\"a\"], proxy = {{ servers = [\"127.0.0.1:1\"] }} }}]\n"
        )
    };
    let one = configuration(folder.path(), &text("1", "/a"), &KeptParts::default());
    let other = configuration(folder.path(), &text("1", "/b"), &one.kept);
    let with_map = configuration(folder.path(), &text("2", "/b"), &other.kept);
    assert!(Arc::ptr_eq(&one.access.limits[0], &other.access.limits[0]));
    assert!(!Arc::ptr_eq(&other.access.limits[0], &with_map.access.limits[0]));
    assert!(Arc::ptr_eq(&one.access.refused_addresses, &with_map.access.refused_addresses));
    assert_eq!(one.fixed.reason_for_process(&with_map.fixed), None);
    let faster = configuration(folder.path(), &text("2", "/b").replace("1/s", "2/s"), &with_map.kept);
    assert!(!Arc::ptr_eq(&with_map.access.limits[0], &faster.access.limits[0]));
    assert_eq!(one.fixed.reason_for_process(&faster.fixed), None);
}

/// The settings that all cases begin with, and what is added to the root, to the site, and to the routes.
fn case(folder: &Path, [root, site, routes]: [&str; 3], kept: &KeptParts) -> Configuration {
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"off\"\n{root}\n[[site]]\nhosts = [\"a\"]\n{site}\nroute = [\n\
         {{ path = \"/file/*\", files = {{ root = \".\" }} }},\n{{ path = \"/ok\", respond = {{ body = \"ok\" }} }},{routes}\n]\n"
    );
    configuration(folder, &text, kept)
}

#[test]
fn reasons_for_another_process() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("users"), "a:$2y$05$abcdefghijklmnopqrstuuQ0Kyq3gDkhnGtCFVQ8vUdhSJyzjCSvW\n").unwrap();
    let before = case(folder.path(), ["", "", ""], &KeptParts::default());
    let proxied = "\n{ path = \"/p\", proxy = { servers = [\"127.0.0.1:1\"] } },";
    for (added, expected) in [
        (["", "", ""], None),
        (["", "headers = { x-a = \"1\" }", "\n{ path = \"/new\", respond = { body = \"new\" } },"], None),
        (["[[map]]\nfrom = \"$host\"\nto = \"m\"\nvalues = { \"a\" = \"1\" }", "", ""], None),
        (["", "basic = { file = \"users\" }", ""], None),
        (["", "allow = [\"127.0.0.1\"]", ""], None),
        (["", "", "\n{ path = \"/f2/*\", files = { root = \".\", symlinks = \"all\" } },"], None),
        (["workers = 3", "", ""], Some("`workers`")),
        (["[cache]\nmemory = \"1M\"", "", ""], Some("`cache`")),
        (["access-log = \"off.log\"", "", ""], Some("`access-log`")),
        (["[[limit]]\nname = \"a\"\nrate = \"1/s\"", "", ""], None),
        (["", "listen = \"127.0.0.1:1\"", ""], Some("addresses")),
        (["", "access-log = \"site.log\"", ""], Some("access logs")),
        (["", "", proxied], Some("limit of open files")),
        (["", "", "\n{ path = \"/w/*\", files = { root = \".\", write = \"dav\" } },"], Some("`max-body`")),
        (["", "", "\n{ path = \"/c/*\", cgi = { root = \".\" } },"], Some("CGI")),
    ] {
        let after = case(folder.path(), added, &before.kept);
        let reason = before.fixed.reason_for_process(&after.fixed);
        match (&reason, expected) {
            (None, None) => {}
            (Some(reason), Some(expected)) => assert!(reason.contains(expected), "{added:?}: {reason}"),
            _ => panic!("{added:?}: {reason:?}, not {expected:?}"),
        }
        // It is a matter of both, in any order; but a server takes bodies that are shorter than they may be.
        let back = case(folder.path(), ["", "", ""], &after.kept);
        let has_reason = expected.is_some_and(|expected| expected != "`max-body`");
        assert_eq!(after.fixed.reason_for_process(&back.fixed).is_some(), has_reason, "{added:?}");
    }
}

#[test]
fn applications_start_again_with_a_reload_and_go_on_with_other_changes() {
    let folder = tempfile::tempdir().unwrap();
    let text = |command: &str, routes: &str| {
        format!(
            "listen = \"127.0.0.1:0\"\nadmin = \"off\"\n[[site]]\nroute = [{routes}\n\
             {{ path = \"/*\", app = {{ command = [\"sleep\", \"{command}\"] }} }}]\n"
        )
    };
    let route = "{ path = \"/a\", respond = { status = 204 } },";
    let one = configuration(folder.path(), &text("1", ""), &KeptParts::default());
    for (text, kept, expected) in [
        (text("1", route), &one.kept, None),
        (text("1", route), &one.kept.without_applications(), Some("applications start again")),
        (text("2", ""), &one.kept, Some("applications start again")),
        (text("1", "").replace("app = { command = [\"sleep\", \"1\"] }", "respond = {}"), &one.kept, Some("")),
    ] {
        let other = configuration(folder.path(), &text, kept);
        let reason = one.fixed.reason_for_process(&other.fixed);
        assert_eq!(reason.is_some(), expected.is_some(), "{text}: {reason:?}");
        assert!(reason.unwrap_or_default().contains(expected.unwrap_or_default()), "{text}");
    }
}

#[test]
fn threads_serve_other_sites_with_the_next_request() {
    let folder = tempfile::tempdir().unwrap();
    let text = |word: &str| {
        format!("listen = \"127.0.0.1:0\"\n[[site]]\nroute = [{{ path = \"/\", respond = {{ body = \"{word}\" }} }}]\n")
    };
    let sites = |word: &str| configuration(folder.path(), &text(word), &KeptParts::default()).site;
    let live = LiveSites::new(sites("one"));
    let handler = serow_site::handler(&live, TlsPolicy::default(), 443, ClientAdmission::default());
    let clone = handler.clone();
    assert_eq!((answer(&handler), answer(&clone)), ("one".to_owned(), "one".to_owned()));
    live.replace(sites("two"));
    assert_eq!((answer(&handler), answer(&clone)), ("two".to_owned(), "two".to_owned()));
    let begun = handler.call(Request::get("/"));
    live.replace(sites("three"));
    assert_eq!((text_of(begun), answer(&handler.clone())), ("two".to_owned(), "three".to_owned()));
}

fn answer(handler: &impl Handler) -> String {
    text_of(handler.call(Request::get("/")))
}

fn text_of(response: impl Future<Output = serow::Response>) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut text = Vec::new();
    runtime.block_on(async {
        let mut body = response.await.body;
        while let Some(Ok(piece)) = body.chunk().await {
            text.extend_from_slice(&piece);
        }
    });
    String::from_utf8(text).unwrap()
}
