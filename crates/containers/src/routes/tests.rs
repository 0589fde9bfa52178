//! The state machine without any container service.

use super::*;
use crate::plan::testing::{container, settings};

const SHOP: [(&str, &str); 1] = [("serow.host", "shop.example")];

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn routes(files: &[(&str, &str)]) -> Routes {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Routes::new(settings(), TakenHosts::default(), files)
}

/// Has all servers accept connections, and makes all changes; their names, with the last numbers of the servers' addresses, or what else they say.
fn make_changes(routes: &mut Routes, now: Duration) -> Vec<String> {
    while let Some(server) = routes.poll_probe(now) {
        routes.handle_probe(now, server, true);
    }
    let mut made = Vec::new();
    while let Some(change) = routes.poll_change() {
        made.push(short(&change));
        routes.handle_outcome(now, &change.name, Ok(()));
    }
    made
}

fn short(FileChange { name, text }: &FileChange) -> String {
    let name = name.strip_prefix(FILE_PREFIX).unwrap();
    let Some(text) = text else { return format!("-{name}") };
    let paths = text.lines().filter_map(|line| line.strip_prefix("path = ")).count();
    let servers: Vec<_> = text.match_indices("\"10.0.0.").map(|(at, _)| &text[at + 8..at + 10]).collect();
    let unavailable = text.matches("503").count();
    format!("{name}: {paths} {} {unavailable}", servers.join(","))
}

fn accept(routes: &mut Routes, second: u64) {
    while let Some(server) = routes.poll_probe(seconds(second)) {
        routes.handle_probe(seconds(second), server, true);
    }
}

#[test]
fn a_container_gets_requests_when_its_server_accepts_connections() {
    let mut routes = routes(&[]);
    let (a, b) = (container("a", &SHOP), container("b", &SHOP));
    routes.handle_list(seconds(0), [a.clone()]);
    assert!(routes.poll_change().is_none());
    let server = routes.poll_probe(seconds(0)).unwrap();
    routes.handle_probe(seconds(0), server, false);
    assert!(routes.poll_change().is_none() && routes.probe_deadline() == Some(Duration::from_millis(5)));
    assert_eq!(make_changes(&mut routes, seconds(1)), ["shop.example: 1 97 0"]);
    routes.handle_container(seconds(2), &b.id, Some(b.clone()));
    let server = routes.poll_probe(seconds(2)).unwrap();
    routes.handle_probe(seconds(2), server, false);
    assert!(routes.poll_change().is_none());
    routes.handle_time(seconds(10));
    assert_eq!(routes.refusals().collect::<Vec<_>>(), ["container b: 10.0.0.98:8080 does not accept connections"]);
    // After a restart it is tried again; meanwhile the host answers 503.
    routes.handle_end(seconds(11), &a.id, 9);
    assert_eq!(make_changes(&mut routes, seconds(11)), ["shop.example: 1 98 0"]);
    routes.handle_begin(seconds(12), &a.id);
    let again = Container { started: 10, ..a.clone() };
    routes.handle_container(seconds(12), &a.id, Some(again));
    assert!(routes.poll_change().is_none() && routes.poll_probe(seconds(12)).is_some());
}

#[test]
fn events_that_come_late_are_not_about_the_present_run() {
    let mut routes = routes(&[]);
    let a = Container { started: 10, ..container("a", &SHOP) };
    routes.handle_list(seconds(0), [a.clone()]);
    assert_eq!(make_changes(&mut routes, seconds(0)), ["shop.example: 1 97 0"]);
    routes.handle_end(seconds(0), &a.id, 9);
    routes.handle_begin(seconds(0), &a.id);
    routes.handle_container(seconds(0), &a.id, Some(a.clone()));
    assert!(routes.poll_change().is_none() && routes.poll_probe(seconds(0)).is_none());
    routes.handle_end(seconds(0), &a.id, 11);
    assert_eq!(make_changes(&mut routes, seconds(0)), ["shop.example: 1  1"]);
}

#[test]
fn replicas_come_and_go_one_by_one() {
    let mut routes = routes(&[]);
    assert!(routes.poll_change().is_none());
    let (a, b) = (container("a", &SHOP), container("b", &SHOP));
    routes.handle_list(seconds(0), [a.clone()]);
    assert_eq!(make_changes(&mut routes, seconds(0)), ["shop.example: 1 97 0"]);
    assert!(routes.poll_change().is_none());
    routes.handle_container(seconds(1), &b.id, Some(b.clone()));
    assert_eq!(make_changes(&mut routes, seconds(1)), ["shop.example: 1 97,98 0"]);
    // It gets no requests from the first sign on, though it still runs.
    routes.handle_end(seconds(2), &a.id, 9);
    assert_eq!(make_changes(&mut routes, seconds(2)), ["shop.example: 1 98 0"]);
    routes.handle_container(seconds(3), &a.id, Some(a.clone()));
    assert!(make_changes(&mut routes, seconds(3)).is_empty());
    // One that has only been asked to reload comes back.
    assert_eq!(routes.deadline(), Some(seconds(12)));
    routes.handle_time(seconds(12));
    assert_eq!(make_changes(&mut routes, seconds(12)), ["shop.example: 1 97,98 0"]);
    routes.handle_container(seconds(13), &a.id, None);
    assert_eq!(make_changes(&mut routes, seconds(13)), ["shop.example: 1 98 0"]);
    assert_eq!(routes.counts(), (1, 1, 1));
}

#[test]
fn a_host_without_containers_answers_503_for_a_while() {
    let mut routes = routes(&[]);
    let api = container("b", &[("serow.host", "shop.example"), ("serow.path", "/api")]);
    routes.handle_list(seconds(0), [container("a", &SHOP), api.clone()]);
    assert_eq!(make_changes(&mut routes, seconds(0)), ["shop.example: 2 98,97 0"]);
    // The requests for its path do not go to the other container.
    routes.handle_container(seconds(10), &api.id, None);
    assert_eq!(make_changes(&mut routes, seconds(10)), ["shop.example: 2 97 1"]);
    routes.handle_list(seconds(20), []);
    assert_eq!(make_changes(&mut routes, seconds(20)), ["shop.example: 2  2"]);
    assert_eq!(routes.deadline(), Some(seconds(70)));
    routes.handle_time(seconds(70));
    assert_eq!(make_changes(&mut routes, seconds(70)), ["shop.example: 1  1"]);
    routes.handle_container(seconds(75), &api.id, Some(api.clone()));
    assert_eq!(make_changes(&mut routes, seconds(75)), ["shop.example: 2 98 1"]);
    routes.handle_list(seconds(76), []);
    assert_eq!(make_changes(&mut routes, seconds(76)), ["shop.example: 2  2"]);
    routes.handle_time(seconds(200));
    assert_eq!(make_changes(&mut routes, seconds(200)), ["-shop.example"]);
    assert_eq!((routes.deadline(), routes.counts()), (None, (0, 0, 0)));
}

#[test]
fn files_of_before_stay_until_the_containers_are_known() {
    let mut before = routes(&[]);
    before.handle_list(seconds(0), [container("a", &SHOP)]);
    accept(&mut before, 0);
    let text = before.poll_change().unwrap().text.unwrap();
    let files = [("docker~shop.example", text.as_str()), ("docker~old", "x = 1")];
    let mut same = routes(&files);
    same.handle_time(seconds(100));
    assert!(same.poll_change().is_none());
    same.handle_list(seconds(100), [container("a", &SHOP)]);
    assert_eq!(make_changes(&mut same, seconds(100)), ["-old"]);
    let mut gone = routes(&files);
    gone.handle_list(seconds(100), []);
    assert_eq!(make_changes(&mut gone, seconds(100)), ["-old", "shop.example: 1  1"]);
    gone.handle_time(seconds(160));
    assert_eq!(make_changes(&mut gone, seconds(160)), ["-shop.example"]);
}

#[test]
fn one_change_of_a_file_is_under_way_at_a_time() {
    let mut routes = routes(&[]);
    routes.handle_list(seconds(0), [container("a", &SHOP)]);
    accept(&mut routes, 0);
    let first = routes.poll_change().unwrap();
    routes.handle_list(seconds(0), [container("a", &SHOP), container("b", &SHOP)]);
    accept(&mut routes, 0);
    assert!(routes.poll_change().is_none());
    routes.handle_outcome(seconds(1), &first.name, Ok(()));
    assert_eq!(make_changes(&mut routes, seconds(1)), ["shop.example: 1 97,98 0"]);
}

#[test]
fn a_refused_file_is_tried_again_when_it_is_another_one_or_later() {
    let mut routes = routes(&[]);
    routes.handle_list(seconds(0), [container("a", &SHOP)]);
    accept(&mut routes, 0);
    let change = routes.poll_change().unwrap();
    routes.handle_outcome(seconds(0), &change.name, Err(SinkError::Refused("wrong".to_owned())));
    assert!(routes.poll_change().is_none());
    assert_eq!(routes.refusals().collect::<Vec<_>>(), ["docker~shop.example: wrong"]);
    assert_eq!(routes.deadline(), Some(seconds(30)));
    routes.handle_time(seconds(30));
    assert_eq!(routes.poll_change(), Some(change.clone()));
    routes.handle_outcome(seconds(30), &change.name, Err(SinkError::Unavailable("later".to_owned())));
    assert!(routes.poll_change().is_none() && routes.deadline() == Some(seconds(31)));
    routes.handle_list(seconds(30), [container("b", &SHOP)]);
    assert_eq!(make_changes(&mut routes, seconds(30)), ["shop.example: 1 98 0"]);
    assert_eq!(routes.refusals().count(), 0);
}

#[test]
fn further_keys_that_are_wrong_are_left_out() {
    let mut routes = routes(&[]);
    let labels = [("serow.host", "shop.example"), ("serow.max-body", "nonsense")];
    routes.handle_list(seconds(0), [container("a", &labels)]);
    accept(&mut routes, 0);
    let change = routes.poll_change().unwrap();
    assert!(change.text.as_ref().unwrap().contains("nonsense"));
    routes.handle_outcome(seconds(0), &change.name, Err(SinkError::Refused("wrong".to_owned())));
    let change = routes.poll_change().unwrap();
    assert!(!change.text.as_ref().unwrap().contains("nonsense"));
    routes.handle_outcome(seconds(0), &change.name, Ok(()));
    assert!(routes.poll_change().is_none());
    assert!(routes.refusals().all(|refusal| refusal.contains("left out") && refusal.ends_with("wrong")));
    assert_eq!((routes.refusals().count(), routes.counts()), (1, (1, 1, 1)));
    let labels = [("serow.host", "shop.example"), ("serow.max-body", "10M")];
    routes.handle_list(seconds(1), [container("a", &labels)]);
    assert!(routes.poll_change().unwrap().text.unwrap().contains("10M"));
}

#[test]
fn a_container_that_restarts_in_a_loop_gets_no_requests_until_it_has_run_for_some_time() {
    let mut routes = routes(&[]);
    let a = container("a", &SHOP);
    let stopped = Container { is_running: false, ..a.clone() };
    let mut changes = Vec::new();
    for second in 0..8 {
        routes.handle_begin(seconds(second), &a.id);
        if second == 0 {
            routes.handle_list(seconds(0), [a.clone()]);
        }
        routes.handle_container(seconds(second), &a.id, Some(a.clone()));
        changes.extend(make_changes(&mut routes, seconds(second)));
        routes.handle_end(seconds(second), &a.id, 9);
        routes.handle_container(seconds(second), &a.id, Some(stopped.clone()));
        changes.extend(make_changes(&mut routes, seconds(second)));
    }
    assert_eq!(changes.len(), 6, "{changes:?}");
    assert!(routes.refusals().any(|refusal| refusal.contains("restarts again and again")));
    routes.handle_begin(seconds(8), &a.id);
    routes.handle_container(seconds(8), &a.id, Some(a.clone()));
    assert!(make_changes(&mut routes, seconds(8)).is_empty());
    assert_eq!(routes.deadline(), Some(seconds(18)));
    routes.handle_time(seconds(18));
    assert_eq!(make_changes(&mut routes, seconds(18)), ["shop.example: 1 97 0"]);
}

#[test]
fn a_site_with_the_host_of_a_container_has_it() {
    let taken = TakenHosts::default();
    let mut routes = Routes::new(settings(), taken.clone(), BTreeMap::new());
    routes.handle_list(seconds(0), [container("a", &SHOP)]);
    assert_eq!(make_changes(&mut routes, seconds(0)), ["shop.example: 1 97 0"]);
    // All sites are named, those of containers among them.
    taken.replace(vec!["shop.example".to_owned(), "other.example".to_owned()]);
    let other = container("b", &[("serow.host", "other.example")]);
    routes.handle_list(seconds(1), [container("a", &SHOP), other]);
    assert!(make_changes(&mut routes, seconds(1)).is_empty());
    assert_eq!(routes.refusals().count(), 1);
}

#[test]
fn names_of_files_are_short_and_different() {
    let long = ["a", "b"].map(|end| format!("{}.{end}", ["a".repeat(60), "b".repeat(60)].join(".")));
    for (host, expected) in
        [("shop.example", Some("docker~shop.example")), ("*.a", Some("docker~~.a")), (&long[0], None)]
    {
        let name = file_name(host);
        assert!(expected.is_none_or(|expected| name == expected) && name.len() <= 100, "{name}");
    }
    assert_ne!(file_name(&long[0]), file_name(&long[1]));
}
