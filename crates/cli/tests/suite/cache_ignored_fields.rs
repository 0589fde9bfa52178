//! Caches that ignore what the origin says, and requests that pass them by.

use crate::{
    cache::status,
    rewriting::{fields, origin, run},
};

const CACHE: &str = "[cache]\nmemory = \"1M\"";

#[test]
fn an_ignored_cookie_reaches_only_the_client_whose_request_it_answered() {
    let origin = origin("Set-Cookie: session=1\r\nCache-Control: no-store\r\nVary: *\r\nExpires: 0\r\nLocation: /\r\n");
    let site = format!(
        "proxy = {{ servers = \"{origin}\" }}\ncache = {{ default-ttl = {{ 302 = \"1m\" }}, \
         ignore-fields = [\"Set-Cookie\", \"Cache-Control\", \"Expires\", \"Vary\"], \
         bypass = [\"cookie:logged_in_*\", \"query:preview\"] }}\n"
    );
    let (_folder, serow) = run(CACHE, &site);
    let first = serow.ask("/", "");
    assert_eq!((status(&first), fields(&first, "set-cookie").len()), ("Serow; fwd=uri-miss; stored", 1));
    let second = serow.ask("/", "Cookie: session=2\r\n");
    assert!(status(&second).starts_with("Serow; hit"), "{}", second.head);
    assert_eq!((fields(&second, "set-cookie").len(), fields(&second, "x-number")), (0, vec!["0".to_owned()]));
    assert_eq!(
        (fields(&second, "cache-control"), fields(&second, "vary")),
        (vec!["no-store".to_owned()], vec!["*".to_owned()])
    );
    assert_eq!(status(&serow.ask("/", "Cookie: logged_in_0a=1\r\n")), "Serow; fwd=bypass");
    assert_eq!(status(&serow.ask("/?preview=1", "")), "Serow; fwd=bypass");
    // Credentials still need the word of the origin.
    assert_eq!(status(&serow.ask("/secret", "Authorization: Basic YTpi\r\n")), "Serow; fwd=uri-miss");
}

#[test]
fn x_accel_expires_counts_for_this_cache_alone() {
    let origin = origin("X-Accel-Expires: 60\r\nCache-Control: private, no-store\r\n");
    let site = format!(
        "[[site.route]]\npath = \"/ignored\"\ncache = {{ ignore-fields = [\"X-Accel-Expires\"] }}\n\
         proxy = {{ servers = \"{origin}\" }}\n[[site.route]]\npath = \"/*\"\ncache = true\n\
         proxy = {{ servers = \"{origin}\" }}\n"
    );
    let (_folder, serow) = run(CACHE, &site);
    for _ in 0..2 {
        assert_eq!(status(&serow.get("/ignored")), "Serow; fwd=uri-miss");
    }
    assert_eq!(status(&serow.get("/")), "Serow; fwd=uri-miss; stored");
    let answer = serow.get("/");
    assert!(status(&answer).starts_with("Serow; hit; ttl="), "{}", answer.head);
    assert_eq!(fields(&answer, "cache-control"), ["private, no-store"]);
    assert!(fields(&answer, "x-accel-expires").is_empty());
}
