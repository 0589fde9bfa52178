//! Purges, in this process and before the next one.

use serow_cache::{PurgeMode, PurgeTarget};

use crate::{NOW, Process, eventually, files, folder};

const PATHS: [&str; 3] = ["/a", "/a/b", "/c"];

#[test]
fn purges_concern_what_is_in_files_only() {
    use PurgeTarget::{Everything, Prefix, Tag, Uri, UriOfRoute};
    let cases = [
        (Uri("http://a/a"), [false, true, true]),
        (UriOfRoute("https://a/a", 0), [false, true, true]),
        (UriOfRoute("http://a/a", 1), [true, true, true]),
        (Prefix("http://a/a"), [false, false, true]),
        (Tag(b"all"), [false, false, false]),
        (Tag(b"/c"), [true, true, false]),
        (Everything, [false, false, false]),
    ];
    for (target, is_kept) in cases {
        for (mode, gone) in [(PurgeMode::Remove, None), (PurgeMode::Outdate(NOW), Some(("x".to_owned(), false)))] {
            let (_guard, folder) = folder();
            let first = Process::start(&folder);
            PATHS.iter().for_each(|path| assert!(first.insert(path, &format!("all {path}"), "x")));
            first.end();
            let check = |process: &Process, who: &str| {
                for (path, is_kept) in PATHS.iter().zip(is_kept) {
                    let expected = if is_kept { Some(("x".to_owned(), true)) } else { gone.clone() };
                    assert_eq!(process.find(path), expected, "{who}: {target:?} {mode:?} {path}");
                }
            };
            let second = Process::start(&folder);
            second.store.purge(target, mode);
            check(&second, "the process that purged");
            second.end();
            let third = Process::start(&folder);
            check(&third, "the next one");
            // Responses stored afterwards are not affected, in this process or another.
            PATHS.iter().for_each(|path| assert!(third.insert(path, &format!("all {path}"), "new")));
            third.end();
            let fourth = Process::start(&folder);
            PATHS
                .iter()
                .for_each(|path| assert_eq!(fourth.find(path), Some(("new".to_owned(), true)), "{target:?} {path}"));
        }
    }
}

#[test]
fn purged_files_are_removed_and_the_purges_forgotten() {
    let (_guard, folder) = folder();
    let first = Process::start(&folder);
    for number in 0..100 {
        assert!(first.insert(&format!("/{number}"), if number % 2 == 0 { "even" } else { "odd" }, "x"));
    }
    eventually("the files are written", || first.disk.counts().written == 100);
    first.store.purge(PurgeTarget::Tag(b"even"), PurgeMode::Remove);
    first.store.purge(PurgeTarget::Tag(b"odd"), PurgeMode::Outdate(NOW));
    first.end();
    let second = Process::start(&folder);
    eventually("the purges are forgotten", || !second.store.has_persistent_purges());
    assert_eq!(files(&folder).len(), 50);
    second.end();
    let third = Process::start(&folder);
    assert_eq!((third.find("/0"), third.find("/1")), (None, Some(("x".to_owned(), false))));
    assert_eq!(std::fs::read_to_string(folder.join("purges")).unwrap().trim(), "");
}

#[test]
fn a_response_that_is_looked_for_meanwhile_does_not_survive_a_purge() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                std::hint::black_box(process.find("/a"));
            }
        });
        let targets = [PurgeTarget::Uri("http://a/a"), PurgeTarget::Prefix("http://a/"), PurgeTarget::Everything];
        let survived = (0..3000).find(|number| {
            assert!(process.insert("/a", "", "x"));
            process.store.purge(targets[number % targets.len()], PurgeMode::Remove);
            process.find("/a").is_some()
        });
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(survived, None);
    });
}
