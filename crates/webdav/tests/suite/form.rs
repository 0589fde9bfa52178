//! Uploads by the form of the listing.

use serow_files::{FilesSettings, Listing};
use serow_webdav::WriteMode;

use crate::site::Site;

const FIELD: &str = "Serow-Upload: 1";

#[test]
fn new_files_are_stored_and_others_stay() {
    let site = Site::new(WriteMode::Form);
    site.write("folder/old", "old");
    let (created, _) = site.ask("PUT /folder/new", &[FIELD], "new");
    assert_eq!(created.status.as_u16(), 201);
    assert_eq!(site.read("folder/new").as_deref(), Some("new"));
    let (refused, text) = site.ask("PUT /folder/old", &[FIELD], "new");
    assert_eq!((refused.status.as_u16(), text.as_str()), (409, "409 Conflict: there is a file of this name already\n"));
    assert_eq!(site.status("PUT /folder", &[FIELD], "x"), 405);
    assert_eq!(site.status("PUT /none/new", &[FIELD], "x"), 409);
    assert_eq!(site.status("PUT /.hidden", &[FIELD], "x"), 403);
    assert_eq!(site.status("PUT /folder/index.html", &[FIELD], "x"), 403);
    assert_eq!(site.read("folder/old").as_deref(), Some("old"));
}

#[test]
fn there_are_no_other_changes() {
    let site = Site::new(WriteMode::Form);
    site.write("file", "file");
    for method in ["DELETE", "POST", "MKCOL", "COPY", "MOVE", "PROPFIND", "PROPPATCH", "LOCK", "UNLOCK", "PATCH"] {
        let (response, _) = site.ask(&format!("{method} /file"), &[FIELD], "");
        let allow = response.headers.get_str("allow").unwrap_or_default().to_owned();
        assert_eq!((response.status.as_u16(), allow.as_str()), (405, "GET, HEAD, OPTIONS, PUT"), "{method}");
    }
    assert_eq!(site.field("OPTIONS /file", &[], "allow"), "GET, HEAD, OPTIONS, PUT");
    assert_eq!(site.field("OPTIONS /file", &[], "dav"), "");
    assert_eq!(site.read("file").as_deref(), Some("file"));
}

#[test]
fn pages_of_other_sites_cannot_upload() {
    let site = Site::new(WriteMode::Form);
    for (fields, status) in [
        (&[][..], 403),
        (&["Content-Type: multipart/form-data; boundary=a"], 403),
        (&["Origin: http://h"], 403),
        (&["Sec-Fetch-Site: same-origin"], 403),
        (&[FIELD, "Origin: http://evil.example"], 403),
        (&[FIELD, "Origin: null"], 403),
        (&[FIELD, "Sec-Fetch-Site: cross-site"], 403),
        (&[FIELD, "Sec-Fetch-Site: same-site", "Origin: http://h"], 403),
        (&[FIELD, "Sec-Fetch-Site: same-origin", "Origin: http://h"], 201),
    ] {
        assert_eq!(site.status("PUT /a", fields, "a"), status, "{fields:?}");
        assert_eq!(site.read("a").is_some(), status == 201, "{fields:?}");
    }
    assert_eq!(site.status("PUT /b", &[FIELD, "Origin: http://h"], "b"), 201);
}

#[test]
fn the_listing_has_the_form_and_a_policy_for_its_script() {
    let settings = FilesSettings { listing: Listing::Negotiated, upload_form: true, ..FilesSettings::default() };
    let site = Site::with(WriteMode::Form, "", settings);
    site.write("<script>alert(1)</script>", "");
    let (page, text) = site.ask("GET /", &["Accept: text/html"], "");
    assert!(text.contains("type=\"file\"") && !text.contains("<script>alert"), "{text}");
    let policy = page.headers.get_str("content-security-policy").unwrap_or_default();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    let (json, text) = site.ask("GET /", &["Accept: application/json"], "");
    assert!(!json.headers.contains("content-security-policy") && text.starts_with('['), "{text}");
}
