//! Folders that are shown.

use std::fs;

use crate::site::{Site, get, get_with};
use serow_files::{Files, FilesSettings, Listing};

fn listed(site: &Site) -> Files {
    site.serve_with(FilesSettings { listing: Listing::Negotiated, listing_limit: 1500, ..FilesSettings::default() })
}

#[test]
fn listings_show_entries_that_the_site_serves() {
    let site = Site::new(&[
        ("b.txt", "12345"),
        ("a & b/x", ""),
        (".hidden", ""),
        ("with/index.html", "index"),
        ("file10", ""),
        ("file9", ""),
    ]);
    std::os::unix::fs::symlink("b.txt", site.path("link")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", site.path("outside")).unwrap();
    let files = listed(&site);

    let json = get_with(&files, "/", &[("accept", "application/json")]);
    assert_eq!(json.field("content-type"), "application/json");
    let names: Vec<&str> = json.text().lines().filter_map(|line| line.split('"').nth(3)).collect();
    assert_eq!(names, ["a & b", "with", "b.txt", "file9", "file10", "link"]);
    assert!(json.text().contains("{\"name\":\"b.txt\",\"type\":\"file\",\"size\":5,\"modified\":\"20"));

    let html = get(&files, "/?sort=size&order=desc");
    assert_eq!((html.field("content-type"), html.field("vary")), ("text/html; charset=utf-8", "Accept"));
    assert!(html.text().contains("href=\"./a%20%26%20b/\"") && html.text().contains("a &amp; b/"));
    assert!(html.text().find("b.txt") < html.text().find("file9"));

    assert_eq!(get(&files, "/with/").text(), "index");
    assert_eq!(get(&files, "/a%20&%20b").field("location"), "/a%20%26%20b/");
    assert!(get(&files, "/a%20&%20b/").text().contains("Parent folder"));
    assert_eq!(get(&site.serve(), "/").status, 404);
}

#[test]
fn a_folder_of_many_is_cut_and_sent_in_pieces() {
    let site = Site::new(&[]);
    let fill = |count: usize| {
        for number in 0..count {
            fs::write(site.path(&format!("many/{number}")), "").unwrap();
        }
    };
    fs::create_dir(site.path("many")).unwrap();
    let files = listed(&site);
    fill(1400);
    let json = get(&files, "/many/?format=json");
    assert_eq!(json.text().lines().count(), 1402);
    let html = get(&files, "/many/");
    assert_eq!(html.text().matches("<tr><td>").count(), 1400);
    assert!(!html.text().contains("class=\"cut\""));
    fill(1600);
    let html = get(&files, "/many/");
    assert_eq!(html.text().matches("<tr><td>").count(), 1500);
    assert!(html.text().contains("only 1500 entries are shown"));
}

#[test]
fn the_settings_can_leave_no_choice() {
    let site = Site::new(&[("a.txt", "")]);
    let cases = [
        (Listing::Html, "text/html; charset=utf-8", "/?format=json"),
        (Listing::Json, "application/json", "/?format=html"),
    ];
    for (listing, media_type, target) in cases {
        let files = site.serve_with(FilesSettings { listing, ..FilesSettings::default() });
        for accept in ["text/html", "application/json"] {
            let answer = get_with(&files, target, &[("accept", accept)]);
            assert_eq!((answer.status.as_u16(), answer.field("content-type")), (200, media_type));
            assert_eq!(answer.field("vary"), "", "nothing was negotiated");
        }
    }
}
