//! How long answers stay, and what they cost.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    time::{Duration, SystemTime},
};

use crate::site::{Site, get, get_with, pass, read, request, true_clock};
use serow_files::{CacheLimits, FilesSettings};
use serow_message::BodyKind;

#[test]
fn no_answer_is_older_than_a_second() {
    let site = Site::new(&[("a", "one"), ("large", &"x".repeat(100_000)), ("folder/index.html", "old")]);
    let files = site.serve();
    let texts = |files| ["/a", "/large", "/folder/", "/b"].map(|path| get(files, path).text().len());
    assert_eq!(texts(&files), [3, 100_000, 3, 14]);

    // Rewritten, replaced, removed, made: within the second memory answers.
    site.write("a", "other");
    site.replace("large", "y".repeat(100_001));
    fs::remove_file(site.path("folder/index.html")).unwrap();
    site.write("b", "new");
    pass(500);
    assert_eq!(get(&files, "/a").text(), "one");
    assert_eq!(get(&files, "/b").status, 404);
    pass(500);
    assert_eq!(texts(&files), [5, 100_001, 14, 3]);
    assert_eq!(get(&files, "/folder/").status, 404);

    // A new index before the old one, a file where a folder was.
    site.write("folder/index.html", "again");
    fs::remove_file(site.path("a")).unwrap();
    site.write("a/index.html", "inside");
    pass(1000);
    assert_eq!(get(&files, "/folder/").text(), "again");
    assert_eq!(get(&files, "/a").status, 301);
    assert_eq!(get(&files, "/a/").text(), "inside");
}

#[test]
fn the_same_size_and_time_is_noticed() {
    let site = Site::new(&[("a", "one")]);
    let files = site.serve();
    let modified = fs::metadata(site.path("a")).unwrap().modified().unwrap();
    let first = get(&files, "/a");
    site.replace("a", "two");
    fs::File::options().write(true).open(site.path("a")).unwrap().set_modified(modified).unwrap();
    pass(1000);
    let second = get(&files, "/a");
    assert_eq!(second.text(), "two");
    assert_ne!(first.field("etag"), second.field("etag"));
}

/// Writes a file in place and sets its time, as `cp -a` does.
fn overwrite(site: &Site, content: &str, seconds: u64) {
    let before = fs::metadata(site.path("a")).unwrap().ctime_nsec();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    // Not within the same tick of the file system's clock.
    while fs::metadata(site.path("a")).unwrap().ctime_nsec() == before {
        fs::write(site.path("a"), content).unwrap();
        fs::File::options().write(true).open(site.path("a")).unwrap().set_modified(time).unwrap();
    }
    pass(1000);
}

#[test]
fn another_content_with_the_time_and_size_of_a_reproducible_build_has_another_tag() {
    let site = Site::new(&[("a", "")]);
    let files = site.serve();
    for (seconds, length, has_date) in [
        (0, 22, false),
        (1, 22, false),
        (1, 100_000, false),
        (315_532_800, 22, false),
        (315_532_800, 100_000, false),
        (499_162_500, 100_000, false),
        (1_262_304_000, 22, true),
    ] {
        overwrite(&site, &"1".repeat(length), seconds);
        let first = get(&files, "/a");
        overwrite(&site, &"2".repeat(length), seconds);
        let second = get_with(&files, "/a", &[("if-none-match", first.field("etag"))]);
        assert_eq!(second.status, 200, "{seconds} {length}");
        assert_ne!(first.field("etag"), second.field("etag"), "{seconds} {length}");
        assert_eq!(second.field("last-modified").ends_with(" GMT"), has_date, "{seconds}");
    }
}

#[test]
fn copies_on_two_machines_have_one_tag_so_that_a_download_goes_on() {
    for (seconds, length) in [(1, 22), (1_700_000_000, 22), (1_700_000_000, 100_000)] {
        let sites = [Site::new(&[("a", "")]), Site::new(&[("a", "")])];
        sites.iter().for_each(|site| overwrite(site, &"x".repeat(length), seconds));
        let [one, other] = sites.each_ref().map(Site::serve);
        let tag = get(&one, "/a").field("etag").to_owned();
        let rest = get_with(&other, "/a", &[("range", "bytes=10-"), ("if-range", &tag)]);
        assert_eq!((rest.status.as_u16(), rest.body.len()), (206, length - 10), "{seconds} {length}");
    }
}

#[test]
fn a_moved_root_is_followed() {
    let site = Site::new(&[("old/a", "old"), ("new/a", "new")]);
    std::os::unix::fs::symlink("old", site.path("current")).unwrap();
    let files = serow_files::Files::new(site.path("current")).unwrap().with_clock(crate::site::clock());
    assert_eq!(get(&files, "/a").text(), "old");
    std::os::unix::fs::symlink("new", site.path("next")).unwrap();
    fs::rename(site.path("next"), site.path("current")).unwrap();
    pass(1000);
    assert_eq!(get(&files, "/a").text(), "new");
    fs::remove_file(site.path("current")).unwrap();
    pass(1000);
    assert_eq!(get(&files, "/a").status, 404);
}

#[test]
fn a_file_just_written_is_compared_each_time() {
    let site = Site::new(&[]);
    let files = site.serve().with_clock(true_clock());
    // As on a kernel with a coarse clock: written twice within one tick, so that only the content differs. Here the
    // times differ, but the cache must not rely on it.
    site.write("a", "one");
    let first = get(&files, "/a");
    site.write("a", "two");
    let second = get(&files, "/a");
    if first.field("etag").starts_with("W/") {
        assert_eq!(second.text(), "two");
    }
}

#[test]
fn a_large_file_rewritten_in_place_is_noticed_at_once() {
    let site = Site::new(&[("large", &"x".repeat(100_000))]);
    let files = site.serve();
    assert_eq!(get(&files, "/large").body.len(), 100_000);
    site.write("large", "y".repeat(70_000));
    assert_eq!(get(&files, "/large").body, "y".repeat(70_000));
    site.write("large", "small");
    assert_eq!(get(&files, "/large").body, "small");
}

#[test]
fn a_file_rewritten_in_place_is_copied_from_then_on() {
    let site = Site::new(&[("large", &"x".repeat(100_000))]);
    let files = site.serve();
    let is_copied = || {
        pass(1000);
        matches!(files.respond(&request("GET".parse().unwrap(), "/large", &[])).body.kind(), BodyKind::Stream(_))
    };
    assert!(!is_copied());
    site.write("large", "y".repeat(100_000));
    assert!(is_copied() && is_copied());
    site.replace("large", "z".repeat(100_000));
    assert!(!is_copied() && !is_copied());
}

#[test]
fn a_large_file_changed_while_it_is_sent_cuts_the_answer() {
    let site = Site::new(&[("large", &"x".repeat(300_000))]);
    for zero_copy in [true, false] {
        let files = site.serve_with(FilesSettings { zero_copy, ..FilesSettings::default() });
        let response = files.respond(&request("GET".parse().unwrap(), "/large", &[]));
        assert_eq!(matches!(response.body.kind(), BodyKind::File(_)), zero_copy);
        site.write("large", "y".repeat(300_000));
        assert!(read(response.body).is_err());
    }
}

#[test]
fn limits_hold() {
    let site = Site::new(&[]);
    for number in 0..40 {
        site.write(&format!("{number}"), "x".repeat(if number % 2 == 0 { 1000 } else { 3000 }));
    }
    let cache = CacheLimits { entries: 10, open_files: 3, bytes: 5000, body: 2000, ..CacheLimits::default() };
    let files = site.serve_with(FilesSettings { cache, ..FilesSettings::default() });
    for _ in 0..2 {
        for number in 0..40 {
            let path: &'static str = Box::leak(format!("/{number}").into_boxed_str());
            assert_eq!(get(&files, path).body.len(), if number % 2 == 0 { 1000 } else { 3000 });
        }
    }
    // 20 would be kept without the limit.
    assert_eq!(open_below(&site), (1, 3));
}

#[test]
fn handlers_of_one_folder_open_it_once_and_only_when_needed() {
    let site = Site::new(&[("a", "one")]);
    let files: Vec<_> = (0..4).map(|_| site.serve()).flat_map(|files| [files.clone(), files]).collect();
    assert_eq!(open_below(&site), (0, 0));
    for files in &files {
        assert_eq!(get(files, "/a").text(), "one");
    }
    assert_eq!(open_below(&site), (1, 0));
}

#[test]
fn a_limit_of_no_open_files_keeps_none_open() {
    let site = Site::new(&[("large", &"x".repeat(3000)), ("404.html", &"y".repeat(3000))]);
    let cache = CacheLimits { open_files: 0, body: 2000, ..CacheLimits::default() };
    let settings = FilesSettings { cache, not_found: Some("/404.html".to_owned()), ..FilesSettings::default() };
    let files = site.serve_with(settings);
    for path in ["/large", "/missing", "/large"] {
        assert_eq!(get(&files, path).body.len(), 3000);
        assert!(files.respond_if_found(&request("GET".parse().unwrap(), "/large", &[])).is_some());
        assert_eq!(open_below(&site), (1, 0), "{path}");
    }
}

/// Whether the folder of a site is open, and how many files in it. Other tests of this process open files as well, in
/// other folders.
fn open_below(site: &Site) -> (usize, usize) {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    let opened = descriptors.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let (folders, files): (Vec<_>, Vec<_>) =
        opened.filter(|opened| opened.starts_with(site.root())).partition(|opened| opened == site.root());
    (folders.len(), files.len())
}

#[test]
fn clones_are_independent() {
    let site = Site::new(&[("a", "one")]);
    let files = site.serve();
    assert_eq!(get(&files, "/a").text(), "one");
    site.write("a", "other");
    assert_eq!(get(&files.clone(), "/a").text(), "other");
    assert_eq!(get(&files, "/a").text(), "one");
    fn is_send<T: Send>(_: &T) {}
    is_send(&files);
}

#[test]
fn unsteady_times_make_weak_tags() {
    let site = Site::new(&[("a", "one")]);
    // By a clock that stands at the file's own time, it was written this very moment.
    let clock = serow_files::Clock { time_of_day: std::time::SystemTime::now, ..crate::site::clock() };
    let files = site.serve().with_clock(clock);
    let file = fs::File::options().write(true).open(site.path("a")).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5)).unwrap();
    let answer = get(&files, "/a");
    assert!(answer.field("etag").starts_with("W/\""), "{}", answer.field("etag"));
    let range = get_with(&files, "/a", &[("range", "bytes=0-0"), ("if-range", answer.field("etag"))]);
    assert_eq!(range.status, 200);
}
