use super::*;

const fn milliseconds(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn priority(urgency: u8, incremental: bool) -> Option<Priority> {
    Some(Priority { urgency, incremental })
}

#[test]
fn words() {
    type Case = (&'static str, &'static str, Option<Priority>, u64, &'static [(u64, u8, bool)]);
    let cases: [Case; 14] = [
        ("http://a/b", "/b", None, 0, &[]),
        ("http://a/b,u=0", "/b", priority(0, false), 0, &[]),
        ("http://a/b,i", "/b", priority(3, true), 0, &[]),
        ("http://a/b,i,u=7", "/b", priority(7, true), 0, &[]),
        ("http://a/b,u=1,after=0.25s", "/b", priority(1, false), 250, &[]),
        ("http://a/b,after=500ms,i", "/b", priority(3, true), 500, &[]),
        ("http://a/b,u=5,at=1s,u=1", "/b", priority(5, false), 0, &[(1000, 1, false)]),
        ("http://a/b,at=2,i", "/b", None, 0, &[(2000, 3, true)]),
        ("http://a/b,u=5,i,at=1s,u=1,at=1m,i=?0", "/b", priority(5, true), 0, &[(1000, 1, true), (60_000, 1, false)]),
        ("http://a/b,c.js,u=1", "/b,c.js", priority(1, false), 0, &[]),
        ("http://a/b,c", "/b,c", None, 0, &[]),
        ("http://a/?b=1,2,u=1", "/?b=1,2", priority(1, false), 0, &[]),
        ("http://a/?b,u=/c", "/?b,u=/c", None, 0, &[]),
        ("http://a,u=2", "/", priority(2, false), 0, &[]),
    ];
    for (text, path, priority, after, changes) in cases {
        let (origin, specs) = read_resource_specs([text]).unwrap();
        assert_eq!(origin.to_string(), "http://a", "{text}");
        let changes = changes.iter().map(|&(at, urgency, incremental)| Change {
            at: milliseconds(at),
            priority: Priority { urgency, incremental },
        });
        let expected =
            ResourceSpec { path: path.to_owned(), priority, after: milliseconds(after), changes: changes.collect() };
        assert_eq!(specs, [expected], "{text}");
    }
}

#[test]
fn one_server() {
    let (origin, specs) = read_resource_specs(["https://[::1]:8443/a,u=1", "/b", "https://[::1]:8443/c?d,i"]).unwrap();
    assert_eq!(origin.to_string(), "https://[::1]:8443");
    let paths: Vec<_> = specs.iter().map(|spec| spec.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/b", "/c?d"]);
}

#[test]
fn invalid_specs_are_refused_with_a_reason() {
    let cases: [(&[&str], &str); 13] = [
        (&["/a"], r#""/a" has no server: write it in front, as in https://example.com/a"#),
        (&["ftp://a/"], r#""ftp://a/" is not one of http:// and https://"#),
        (
            &["https://a/b", "https://c/d,u=1"],
            r#""https://c/d" is of another server than https://a; all are fetched over one connection"#,
        ),
        (
            &["https://a/b", "http://a/c"],
            r#""http://a/c" is of another server than https://a; all are fetched over one connection"#,
        ),
        (&["http://a/,u=8"], r#""u=8" is not one of u=0 (most urgent) to u=7"#),
        (&["http://a/,u="], r#""u=" is not one of u=0 (most urgent) to u=7"#),
        (&["http://a/,u=+1"], r#""u=+1" is not one of u=0 (most urgent) to u=7"#),
        (&["http://a/,after=x"], r#""after=x" is without a time: write one of up to a day, as in 500ms 0.2s 10s 1m"#),
        (&["http://a/,at=25h"], r#""at=25h" is without a time: write one of up to a day, as in 500ms 0.2s 10s 1m"#),
        (&["http://a/,after=2s,at=2s,u=1"], r#""at=2s" is no later than what stands before it"#),
        (&["http://a/,at=2s,u=1,at=1s,u=2"], r#""at=1s" is no later than what stands before it"#),
        (&["http://a/,at=2s,after=1s"], r#""after=1s" is behind at=; it belongs before that"#),
        (
            &["http://a/,afer=1s"],
            r#""afer=1s" is not one of u=0…7, i, after=TIME, at=TIME; if it belongs to the URL, write its comma as %2C"#,
        ),
    ];
    for (texts, expected) in cases {
        let error = read_resource_specs(texts.iter().copied()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn times() {
    for (text, expected) in [
        ("10", Some(10_000_000)),
        ("0.2s", Some(200_000)),
        ("1.5ms", Some(1500)),
        ("7us", Some(7)),
        ("2m", Some(120_000_000)),
        ("24h", Some(86_400_000_000)),
        ("0", Some(0)),
        ("", None),
        (".", None),
        ("s", None),
        ("1.2.3s", None),
        ("-1s", None),
        ("1e3s", None),
        ("1d", None),
    ] {
        assert_eq!(duration(text), expected.map(Duration::from_micros), "{text}");
    }
}
