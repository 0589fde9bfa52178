//! Settings files: what they mean, or what is wrong with them. Each file of `tests/configuration/` is a case: a settings
//! file, a line of dashes, and what `serow check --explain` says of it. `SEROW_WRITE=1` writes what it says.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Output,
};

use crate::running::serow;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationList, CertificateRevocationListParams, CertifiedIssuer,
    IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose,
};
use tempfile::TempDir;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/configuration");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
/// A guide whose settings files are complete.
const FROM_NGINX: &str = include_str!("../../../../docs/from-nginx.md");
/// A folder of scripts that stand for the interpreters that a machine may have.
const INTERPRETERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interpreters");
/// An ECDSA key of RFC 7517, Appendix A.1.
const KEYS: &str = r#"{"keys": [{"kty": "EC", "crv": "P-256", "kid": "1",
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;
const DASHES: &str = "----------\n";

/// A folder with what the cases and examples name.
fn surroundings() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["public", "app", "assets", "errors"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("index.html"), "<h1>Hello</h1>").unwrap();
    }
    fs::create_dir(folder.path().join("scripts")).unwrap();
    for name in ["ab", "canonical_host", "maintenance"] {
        let path = format!("{}/../../examples/scripts/{name}.lua", env!("CARGO_MANIFEST_DIR"));
        fs::copy(path, folder.path().join(format!("scripts/{name}.lua"))).unwrap();
    }
    for (name, content) in [("404.html", "<h1>Missing</h1>"), ("sorry.html", "<h1>Sorry</h1>"), ("busy.json", "{}")] {
        fs::write(folder.path().join("errors").join(name), content).unwrap();
    }
    for (name, host) in [("site", "example.com"), ("other", "other.example")] {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![host.to_owned()]).unwrap().self_signed(&key).unwrap();
        fs::write(folder.path().join(format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(folder.path().join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
    let read = |name| fs::read(folder.path().join(name)).unwrap();
    fs::write(folder.path().join("both.pem"), [read("site.pem"), read("site.key")].concat()).unwrap();
    fs::write(folder.path().join("app/config.ru"), "").unwrap();
    fs::create_dir(folder.path().join("bundled")).unwrap();
    for name in ["config.ru", "Gemfile"] {
        fs::write(folder.path().join("bundled").join(name), "").unwrap();
    }
    fs::write(folder.path().join("token.txt"), "0123456789abcdef\n").unwrap();
    fs::write(folder.path().join("eab.key"), "c2VjcmV0\n").unwrap();
    let key = "key \"serow\" {\n\talgorithm hmac-sha256;\n\tsecret \"c2VjcmV0\";\n};\n";
    fs::write(folder.path().join("dns.key"), key).unwrap();
    for (name, mode) in [("store.secret", 0o600), ("open.secret", 0o644)] {
        let path = folder.path().join(name);
        fs::write(&path, "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    for (name, text) in [
        ("sites/b.toml", "[[site]]\nhosts = \"b.example\"\nfiles = { root = \"public\" }\n"),
        (
            "sites/a.toml",
            "[[site]]\nhosts = \"a.example\"\nproxy = { upstream = \"a\" }\n\n[[upstream]]\nname = \"a\"\nservers = \"127.0.0.1:1\"\n",
        ),
        ("sites/.hidden.toml", "nonsense"),
        ("wrong/a.toml", "[[site]]\nhosts = \"a.example\"\nfiles = { rot = \"public\" }\n"),
        ("wrong/b.toml", "[[site]]\nhosts = \"b.example\nfiles = { root = \"public\" }\n"),
        ("wrong/c.toml", "listen = 80\n"),
        ("nested/a.toml", "include = [\"../sites/*.toml\", \"a.toml\"]\n"),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::write(folder.path().join("users.htpasswd"), "alice:{SHA}W8r/fyL/UzygmbNAjq2HbA67qac=\n").unwrap();
    let des = "# users\nbob:rqXexS6ZhobKA\n";
    fs::write(folder.path().join("des.htpasswd"), des).unwrap();
    fs::write(folder.path().join("clear.htpasswd"), "bob:open sesame\n").unwrap();
    fs::write(folder.path().join("jwks.json"), KEYS).unwrap();
    fs::write(folder.path().join("blocked.txt"), "198.51.100.0/24\n").unwrap();
    fs::write(folder.path().join("text.txt"), "nothing of use").unwrap();
    fs::set_permissions(folder.path().join("text.txt"), Permissions::from_mode(0o640)).unwrap();
    for (name, mode) in [("secret", 0o600), ("tickets.secret", 0o640), ("public.secret", 0o644)] {
        fs::write(folder.path().join(name), [7; 48]).unwrap();
        fs::set_permissions(folder.path().join(name), Permissions::from_mode(mode)).unwrap();
    }
    fs::write(folder.path().join("other.crl"), revocation_list().pem().unwrap()).unwrap();
    folder
}

/// The list of an authority.
fn revocation_list() -> CertificateRevocationList {
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.key_usages = vec![KeyUsagePurpose::CrlSign];
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
    let list = CertificateRevocationListParams {
        this_update: rcgen::date_time_ymd(2020, 1, 1),
        next_update: rcgen::date_time_ymd(2120, 1, 1),
        crl_number: 1.into(),
        issuing_distribution_point: None,
        revoked_certs: Vec::new(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    list.signed_by(&authority).unwrap()
}

#[cfg(feature = "scripts")]
#[test]
fn tests_of_scripts_say_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let script = "return { request = function(r) if r.path == '/e' then error('broken') end return 410 end }";
    write("rules.lua", script);
    write("good.lua", "return { script = 'rules.lua', { request = '/', response = 410 } }");
    write("bad.lua", "return { script = 'rules.lua', { name = 'the page', request = '/e', response = 410 } }");
    let run = |files: &[&str]| {
        let arguments = files.iter().flat_map(|file| ["--script-test", file]);
        let output = serow(["check"]).args(arguments).current_dir(folder.path()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let good = "good.lua: 1 of 1 cases passed, rules.lua\n";
    assert_eq!(run(&["good.lua"]), (Some(0), good.to_owned(), String::new()));
    let (code, printed, said) = run(&["good.lua", "bad.lua"]);
    let bad = "bad.lua: 0 of 1 cases passed, rules.lua\n  the page: the status is 500, expected 410\n";
    assert_eq!((code, printed), (Some(1), format!("{good}{bad}")));
    assert!(said.contains("rules.lua:1: broken") && said.ends_with("serow: 1 of 2 cases failed\n"), "{said}");
    let (code, _, said) = run(&["missing.lua"]);
    assert_eq!((code, said.matches('\n').count()), (Some(1), 1), "{said}");
    assert!(said.contains("missing.lua: No such file"), "{said}");
    let both = serow(["check", "-c", "a.toml", "--script-test", "good.lua"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

/// Runs `serow check --explain` for a settings file in a folder.
fn check(folder: &Path, text: impl AsRef<[u8]>) -> Output {
    fs::write(folder.join("serow.toml"), text).unwrap();
    serow(["check", "--explain"]).current_dir(folder).env("PATH", INTERPRETERS).output().unwrap()
}

/// The same without the numbers of lines in notes, which are others where a file is explained once more.
fn without_lines(said: &str) -> String {
    let without = |line: &str| match line.split_once("# note: serow.toml:") {
        Some(("", rest)) => format!("# note: {}\n", rest.split_once(": ").unwrap().1),
        _ => format!("{line}\n"),
    };
    said.lines().map(without).collect()
}

/// Its output, on whichever stream is the right one.
fn said(output: Output) -> String {
    let (said, silent) = match output.status.code() {
        Some(0) => (output.stdout, output.stderr),
        Some(2) => (output.stderr, output.stdout),
        other => panic!("{other:?} {output:?}"),
    };
    assert!(silent.is_empty());
    String::from_utf8(said).unwrap().replace(INTERPRETERS, "/usr/bin")
}

/// The settings files of a folder and the like.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

#[test]
fn cases() {
    let folder = surroundings();
    let mut differing = Vec::new();
    for file in files(CASES) {
        let case = fs::read_to_string(&file).unwrap();
        let (input, expected) = case.split_once(DASHES).unwrap_or((&case, ""));
        let said = said(check(folder.path(), input));
        if env::var_os("SEROW_WRITE").is_some() {
            fs::write(&file, format!("{input}{DASHES}{said}")).unwrap();
        } else if said != expected {
            differing.push(format!("{}:\n{said}", file.display()));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn an_explanation_means_the_same_as_its_file() {
    let folder = surroundings();
    let mut right = 0;
    for file in files(CASES) {
        let case = fs::read_to_string(&file).unwrap();
        let (_, expected) = case.split_once(DASHES).unwrap();
        if expected.starts_with("# serow.toml is valid") {
            let said = said(check(folder.path(), expected));
            assert_eq!(without_lines(&said), without_lines(expected), "{}", file.display());
            right += 1;
        }
    }
    assert!(right > 15, "{right} are right");
}

#[test]
fn files_that_are_not_valid_text_are_refused() {
    let folder = surroundings();
    let cases: [(&[u8], &str); 4] = [
        (b"workers = 2\n# \xe4\n", "serow: serow.toml:2: this line is not written in UTF-8: save the file in UTF-8\n"),
        (b"\xff\xfew\0o\0", "serow: serow.toml is written in UTF-16: save it in UTF-8\n"),
        (b"\0\0\0\0", "serow.toml:1:5: "),
        (b"", "serow.toml: there is no site"),
    ];
    for (bytes, expected) in cases {
        let said = said(check(folder.path(), bytes));
        assert!(said.starts_with(expected), "{said}");
    }
    let with_mark = b"\xef\xbb\xbfworkers = 0\n";
    assert!(said(check(folder.path(), with_mark)).starts_with("serow.toml:1:11: "));
    let without_end = "[[site]]\nfiles = { root = \"public\" }\nworkers = 1";
    assert!(said(check(folder.path(), without_end)).starts_with("serow.toml:3:1: unknown key `workers` here"));
}

#[test]
fn an_unreadable_settings_file_is_refused_in_one_line() {
    let folder = surroundings();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    symlink("loop.toml", path("loop.toml")).unwrap();
    let cases = [
        (path("none.toml"), format!("there is no settings file {}: name it with -c, or write one", path("none.toml"))),
        (path("public"), format!("{0} is a folder: name the file, as in {0}/serow.toml", path("public"))),
        (path("loop.toml"), format!("cannot read the settings file {}: ", path("loop.toml"))),
        ("/dev/zero".to_owned(), "/dev/zero is larger than 16M, which no settings file is".to_owned()),
        (path("a\nb"), format!("there is no settings file {}", path(r"a\nb"))),
    ];
    for (file, expected) in cases {
        let output = serow(["check", "-c", &file]).output().unwrap();
        let line = said(output);
        assert!(line.starts_with(&format!("serow: {expected}")) && line.matches('\n').count() == 1, "{line}");
    }
}

#[test]
fn the_file_is_named_as_it_was_given() {
    let folder = surroundings();
    fs::write(folder.path().join("serow.toml"), "workers = 0").unwrap();
    let file = folder.path().join("serow.toml");
    let output = serow(["check", "--config", file.to_str().unwrap()]).current_dir("/").output().unwrap();
    assert!(said(output).starts_with(&format!("{}:1:11: `workers`: 0 is not", file.display())));
    // Paths are relative to the folder of the file, not to where the command runs.
    fs::write(&file, "tls = \"site.pem,site.key\"\n[[site]]\nfiles = { root = \"public\" }\n").unwrap();
    let output = serow(["check", "--config", file.to_str().unwrap()]).current_dir("/").output().unwrap();
    assert!(said(output).ends_with("serow.toml is valid: 1 listener, 1 site, 1 route\n"));
}

#[test]
fn a_missing_interpreter_or_program_is_reported() {
    let folder = surroundings();
    let cases = [
        ("application = \"app/config.ru\"", "app/config.ru: ruby cannot be started: No such file or directory"),
        (
            "application = \"app/config.ru\", interpreter = \"/bin/false\"",
            "app/config.ru: /bin/false (as configured) cannot run the application (exit status: 1):\n",
        ),
        ("command = [\"no-such-program\"]", "no-such-program: there is no program no-such-program: install it"),
        ("command = [\"./index.html\"], chdir = \"app\"", "index.html: there is no program ./index.html: install"),
    ];
    for (app, expected) in cases {
        fs::write(folder.path().join("serow.toml"), format!("[[site]]\napp = {{ {app} }}\n")).unwrap();
        let output = serow(["check"]).current_dir(folder.path()).env("PATH", "/nowhere").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with(&format!("serow: {expected}")), "{said}");
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
    }
}

#[test]
fn the_settings_files_of_the_guide_from_nginx_are_right() {
    let folder = surroundings();
    fs::write(folder.path().join("public/404.html"), "<h1>Not found</h1>").unwrap();
    let files: Vec<_> = FROM_NGINX.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    for file in &files {
        // A machine may have no such user.
        let said = said(check(folder.path(), file.replace("user = \"www-data\"\n", "")));
        assert!(said.starts_with("# serow.toml is valid: "), "{file}\n{said}");
    }
    // Each of the others is beside the nginx.conf that it replaces.
    assert_eq!(files.len(), 1 + FROM_NGINX.matches("```nginx\n").count());
}

#[test]
fn the_examples_are_right() {
    let folder = surroundings();
    let files = files(EXAMPLES);
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let explained = said(check(folder.path(), &text));
        assert!(explained.starts_with("# serow.toml is valid: "), "{}: {explained}", file.display());
        let again = said(check(folder.path(), &explained));
        assert_eq!(without_lines(&again), without_lines(&explained), "{}", file.display());
    }
    assert!(files.len() >= 5);
    // The smallest needs nothing that is not beside it.
    let output = serow(["check", "-c", &format!("{EXAMPLES}/serow.toml")]).output().unwrap();
    assert!(output.status.success());
}
