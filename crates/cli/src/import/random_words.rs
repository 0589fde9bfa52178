//! Whatever words stand in a configuration, Serow accepts the settings that become of it. `FUZZING_MUTATIONS=5000` tries more.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serow_nginx_syntax::reading::Files;

use super::own_check::OwnCheck;

/// A single configuration.
struct Single(Vec<u8>);

impl Files for Single {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        if path == Path::new("nginx.conf") { Ok(self.0.clone()) } else { Err("there is none".to_owned()) }
    }

    fn matching(&self, _: &Path) -> Result<Vec<PathBuf>, String> {
        Ok(Vec::new())
    }
}

/// Words that mean something else in settings, or nothing.
const WORDS: &[&str] = &[
    "$1",
    "$2",
    "${1}x",
    "$uri",
    "$request_uri",
    "$document_root",
    "$request_filename",
    "$unknown",
    "$status",
    "$sub",
    "$kind",
    "$host",
    "$args",
    "$http_x_y",
    "$upstream_http_x",
    "$scheme://$host/x",
    "/",
    "/x#y",
    "\"/x?y\"",
    "/x%20y",
    "/a*b",
    "*",
    "/x/../y",
    "//x",
    "x",
    "'~^/(a)/(.*)$'",
    "'^/b/(?<sub>[a-z]+)'",
    "'(?i)x'",
    "'('",
    "'[a'",
    "~",
    "~*",
    "=",
    "^~",
    "@named",
    "0",
    "-1",
    "1",
    "444",
    "200",
    "99999999999999999999",
    "100000",
    "1y",
    "1M",
    "5m",
    "0s",
    "10r/s",
    "off",
    "on",
    "default",
    "none",
    "all",
    "\"\"",
    "'a b'",
    "\"quoted \\\" text\"",
    "ümlaut",
    "unix:/run/x.sock",
    "127.0.0.1:80",
    "[::1]:8080",
    "[::]:80",
    "*:80",
    "localhost:0",
    "10.0.0.0/8",
    "10.0.0.0/99",
    "http://backend",
    "http://backend/x",
    "http://127.0.0.1:9000",
    "https://x.test/$1",
    "http://unix:/run/x.sock:/y",
    ".example.com",
    "*.example.com",
    "www.example.*",
    "_",
    "$$",
    "${",
    "{",
    "x:y",
    "x,y",
    "=404",
    "a/b",
    "C:\\\\x",
];

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// A configuration in which some words are others.
    fn changed(&mut self, text: &str) -> String {
        let is_end = |letter: char| letter.is_whitespace() || ";{}".contains(letter);
        let mut words: Vec<&str> = text.split_inclusive(is_end).collect();
        for _ in 0..=self.below(3) {
            let place = self.below(words.len());
            let end = words[place].len() - words[place].chars().next_back().map_or(0, char::len_utf8);
            // The names of directives stay mostly.
            if end > 0 && (place == 0 || !words[place - 1].ends_with(['\n', ';', '{'])) {
                let (word, end) = (WORDS[self.below(WORDS.len())], &words[place][end..]);
                words.splice(place..=place, [word, end]);
            }
        }
        words.concat()
    }
}

#[test]
fn random_words_become_settings_that_serow_accepts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/nginx");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "conf")).collect();
    files.sort();
    let texts: Vec<String> = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let runs = env::var("FUZZING_MUTATIONS").map_or(200, |text| text.parse().unwrap());
    let (mut checked, mut wrong) = (0, Vec::new());
    for seed in 1..=runs {
        let mut random = Random(seed);
        let text = &texts[random.below(texts.len())];
        let text = random.changed(text);
        let files = Single(text.clone().into_bytes());
        let Ok(imported) = serow_import::nginx(Path::new("nginx.conf"), Path::new("/etc/nginx"), &files) else {
            continue;
        };
        if !imported.settings.contains("[[site]]") {
            continue;
        }
        checked += 1;
        match OwnCheck::of(&imported, Path::new("serow.toml")) {
            Ok(check) if check.defects.is_empty() => {}
            Ok(check) => wrong.push(format!("seed {seed}: {check}")),
            Err(error) => wrong.push(format!("seed {seed}: {error}")),
        }
    }
    assert!(checked > runs / 2, "{checked} of {runs} configurations are valid");
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
}
