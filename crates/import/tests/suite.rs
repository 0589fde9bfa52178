//! Configurations of nginx and the settings that they become.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serow_import::report::{Line, Outcome};
use serow_nginx_syntax::{
    disk::Disk,
    reading::{self, Files},
};

const CASES: &str = "tests/nginx";

/// Files of a test, which are named in it.
#[derive(Debug)]
struct Named<'a>(&'a [(&'a str, &'a [u8])]);

impl Files for Named<'_> {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let found = self.0.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| text.to_vec()).ok_or_else(|| "No such file or directory".to_owned())
    }

    fn matching(&self, pattern: &Path) -> Result<Vec<PathBuf>, String> {
        let pattern = pattern.to_str().ok_or("not a text")?;
        let (start, end) = pattern.split_once('*').ok_or("no star")?;
        let names = self.0.iter().map(|(name, _)| *name).filter(|name| name.starts_with(start) && name.ends_with(end));
        Ok(names.map(PathBuf::from).collect())
    }
}

/// The error of a configuration.
fn error(files: &[(&str, &[u8])]) -> String {
    match serow_import::nginx(Path::new("/etc/nginx/nginx.conf"), Path::new("/etc/nginx"), &Named(files)) {
        Ok(imported) => panic!("no error: {}", imported.settings),
        Err(error) => error.to_string(),
    }
}

/// `SEROW_WRITE=1` writes the files instead, whose difference a person reads then.
#[test]
fn configurations_become_these_settings() {
    let mut names: Vec<PathBuf> = fs::read_dir(CASES)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "conf"))
        .collect();
    names.sort();
    assert!(names.len() > 5, "the cases are in {CASES}");
    let mut wrong = Vec::new();
    for path in names {
        let imported = serow_import::nginx(&path, Path::new("/etc/nginx"), &Disk).unwrap();
        let report: String = imported.report.all().lines().map(|line| format!("# {line}\n")).collect();
        let made = format!("{}\n# Report\n#\n{}", imported.settings, report.replace(&format!("{CASES}/"), ""))
            .replace(&format!("{CASES}/"), "");
        let expected = path.with_extension("toml");
        if env::var_os("SEROW_WRITE").is_some() {
            fs::write(&expected, &made).unwrap();
        } else if fs::read_to_string(&expected).ok().as_deref() != Some(&made) {
            wrong.push(format!("{}:\n{made}", expected.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A configuration with a directive in a location that passes requests, by `proxy_pass` or the like, and the directive's name;
/// nothing where nginx lacks it.
fn passing(family: &str, directive: &str) -> Option<(String, String)> {
    let name = directive.split(' ').next()?;
    // Those of only some families, as nginx documents them.
    let families: &[&str] = match name {
        "catch_stderr" | "index" | "keep_conn" | "split_path_info" => &["fastcgi"],
        "modifier1" | "modifier2" => &["uwsgi"],
        "cookie_domain"
        | "cookie_flags"
        | "cookie_path"
        | "headers_hash_bucket_size"
        | "headers_hash_max_size"
        | "http_version"
        | "method"
        | "redirect"
        | "send_lowat"
        | "set_body"
        | "cache_convert_head" => &["proxy"],
        "set_header" => &["proxy", "grpc"],
        "param" => &["fastcgi", "uwsgi", "scgi"],
        _ if name.starts_with("ssl_") => &["proxy", "grpc", "uwsgi"],
        _ if [
            "cache",
            "no_cache",
            "store",
            "temp",
            "max_temp",
            "busy",
            "limit",
            "pass_request",
            "buffering",
            "buffers",
        ]
        .iter()
        .any(|start| name.starts_with(start))
            || ["bind_dynamic", "force_ranges", "ignore_client_abort", "request_buffering"].contains(&name) =>
        {
            &["proxy", "fastcgi", "uwsgi", "scgi"]
        }
        _ => &["proxy", "fastcgi", "uwsgi", "scgi", "grpc"],
    };
    let (family, location) = if family == "php" { ("fastcgi", "~ [.]php$ { root /srv;") } else { (family, "/a {") };
    if !families.contains(&family) {
        return None;
    }
    let with =
        if name.starts_with("cache_") || name == "no_cache" { format!("{family}_cache zone;") } else { String::new() };
    let address = match family {
        "proxy" if name.starts_with("ssl_") => "https://127.0.0.1:9000",
        "grpc" if name.starts_with("ssl_") => "grpcs://127.0.0.1:9000",
        "proxy" => "http://127.0.0.1:9000",
        _ => "127.0.0.1:9000",
    };
    let text = format!(
        "http {{ server {{ listen 80; server_name a.test; error_page 502 /x; location {location} {with} {family}_pass {address}; \
         {family}_{directive}; }} }} }}"
    );
    Some((text, format!("{family}_{name}")))
}

/// Each directive that acts on passed requests is translated, or the report says why not. `SEROW_WRITE=1` writes the file instead.
#[test]
fn each_directive_of_passed_requests_has_an_outcome() {
    let written = fs::read_to_string("tests/families.txt").unwrap();
    let mut made = String::new();
    for directive in written.lines().filter(|line| !line.starts_with([' ', '#'])) {
        let mut outcomes: Vec<(String, Vec<&str>)> = Vec::new();
        for family in ["proxy", "fastcgi", "php", "uwsgi", "scgi", "grpc"] {
            let Some((text, name)) = passing(family, directive) else { continue };
            let files = [("n", text.as_bytes())];
            let imported = serow_import::nginx(Path::new("n"), Path::new("/"), &Named(&files)).unwrap();
            let own = |line: &&Line| line.directive.split(' ').next() == Some(&name);
            let outcome = match imported.report.lines.into_iter().rfind(|line| own(&line)).unwrap().outcome {
                Outcome::Translated => "translated".to_owned(),
                Outcome::NoLine(why) => format!("needs no line: {why}"),
                Outcome::Differs(why) => format!("differs: {why}"),
                Outcome::Lost(why) => format!("NOT TRANSLATED: {why}"),
            };
            assert!(!outcome.contains("no request is passed"), "{family}_{directive}");
            match outcomes.iter_mut().find(|(other, _)| *other == outcome) {
                Some((_, families)) => families.push(family),
                None => outcomes.push((outcome, vec![family])),
            }
        }
        let lines = outcomes.iter().map(|(outcome, families)| format!("    {}: {outcome}\n", families.join(" ")));
        made.push_str(&format!("{directive}\n{}", lines.collect::<String>()));
    }
    if env::var_os("SEROW_WRITE").is_some() {
        fs::write("tests/families.txt", &made).unwrap();
    }
    assert_eq!(made, fs::read_to_string("tests/families.txt").unwrap());
}

#[test]
fn a_block_that_is_lost_is_one_line() {
    let text =
        "http { server { listen 80; } }\nstream {\n  upstream a { server b; }\n  server { listen 1; }\n}\nmail { }\n";
    let files = [("n", text.as_bytes())];
    let imported = serow_import::nginx(Path::new("n"), Path::new("/"), &Named(&files)).unwrap();
    let report = imported.report.to_string();
    let expected = "Not translated:\n  n:2: stream (and 4 in it)\n      Serow passes HTTP on, not TCP and UDP\n  n:6: mail\n      \
                    Serow speaks HTTP only\n\n";
    assert!(report.starts_with(expected), "{report}");
    assert_eq!(imported.report.counts()[3], 6);
}

#[test]
fn files_of_no_sense_have_errors_with_their_place() {
    let cases: [(&[u8], &str); 12] = [
        (b"events {}\n}", "/etc/nginx/nginx.conf:2: this brace closes no block"),
        (b"http {\n  server {\n", "/etc/nginx/nginx.conf:2: the block of `server` that begins here is not closed"),
        (b"\n;", "/etc/nginx/nginx.conf:2: the name of a directive is missing here"),
        (b"{ }", "/etc/nginx/nginx.conf:1: the name of a directive is missing here"),
        (b"user www", "/etc/nginx/nginx.conf:1: `user` has neither a semicolon nor a block at its end"),
        (b"a {\nb c\n}", "/etc/nginx/nginx.conf:2: `b` has no semicolon at its end"),
        (b"a \"b\nc", "/etc/nginx/nginx.conf:1: the quotes that begin here are not closed"),
        (b"a \"b\"c;", "/etc/nginx/nginx.conf:1: white space, a semicolon or a brace has to follow the closing quote"),
        (b"a \xff;", "/etc/nginx/nginx.conf:1: this is not UTF-8: convert the file, as in iconv -f latin1 -t utf-8"),
        (b"\x7fELF\0\0;", "/etc/nginx/nginx.conf:1: this is not a text: it contains a byte 0"),
        (b"a \\", "/etc/nginx/nginx.conf:1: a backslash ends the file"),
        (b"x_by_lua_block { --[[ }", "/etc/nginx/nginx.conf:1: the block of Lua that begins here is not closed"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(&[("/etc/nginx/nginx.conf", text)]), expected);
    }
    let deep = "a {".repeat(100);
    assert_eq!(
        error(&[("/etc/nginx/nginx.conf", deep.as_bytes())]),
        "/etc/nginx/nginx.conf:1: blocks are more than 64 deep"
    );
    let long = format!("a {};", "b".repeat(70_000));
    assert!(error(&[("/etc/nginx/nginx.conf", long.as_bytes())]).contains("is a quote missing?"));
}

#[test]
fn files_that_include_themselves_have_an_error() {
    let own: &[(&str, &[u8])] = &[("/etc/nginx/nginx.conf", b"\ninclude nginx.conf;")];
    assert_eq!(error(own), "/etc/nginx/nginx.conf:2: /etc/nginx/nginx.conf includes itself");
    let circle: &[(&str, &[u8])] =
        &[("/etc/nginx/nginx.conf", b"include a*.conf;"), ("/etc/nginx/a.conf", b"include nginx.conf;")];
    assert_eq!(error(circle), "/etc/nginx/a.conf:1: /etc/nginx/nginx.conf includes itself");
    let missing: &[(&str, &[u8])] = &[("/etc/nginx/nginx.conf", b"include b.conf;")];
    assert_eq!(error(missing), "/etc/nginx/nginx.conf:1: cannot read /etc/nginx/b.conf: No such file or directory");
}

#[test]
fn words_are_those_of_nginx() {
    let text = br#"a "q \" \n x" 'it''s' b#c ${d}e f\ g "x"; # a comment ; {
h { content_by_lua_block { local s = "}" -- }
  } i '{'; }"#;
    let result = reading::read(Path::new("n"), Path::new("/"), &Named(&[("n", text)]));
    // Quotes may not follow each other.
    assert!(result.unwrap_err().to_string().contains("has to follow the closing quote"));
    let text = br#"a "q \" \n x" 'its' b#c ${d}e f\ g "x"; # a comment ; {
h { content_by_lua_block { local s = "}" -- }
  } i '{'; }"#;
    let (directives, count) = reading::read(Path::new("n"), Path::new("/"), &Named(&[("n", text)])).unwrap();
    let words: Vec<&str> = directives[0].texts().collect();
    assert_eq!(words, ["q \" \n x", "its", "b#c", "${d}e", "f\\ g", "x"]);
    let inner: Vec<(&str, u32)> =
        directives[1].children().iter().map(|inner| (inner.name(), inner.place.line)).collect();
    assert_eq!((count, inner), (4, vec![("content_by_lua_block", 2), ("i", 3)]));
}
