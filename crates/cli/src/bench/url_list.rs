//! Several URLs of one server, with weights.
//!
//! ```text
//! # what most visitors see
//! 8 http://127.0.0.1:8080/
//! 2 http://127.0.0.1:8080/about
//! /search?q=serow
//! ```

use std::{fs, path::Path};

use serow_client::Origin;

use super::BenchError;

/// A path, and how often it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WeightedPath {
    pub(crate) weight: u32,
    pub(crate) path: String,
}

/// Reads a list. Lines that are empty or begin with `#` are passed over. The server is that of `url`, if there is one,
/// else that of the first line; the first of its URLs comes with it.
pub(crate) fn read(path: &Path, url: Option<&str>) -> Result<(String, Origin, Vec<WeightedPath>), BenchError> {
    let text = fs::read_to_string(path).map_err(|error| BenchError::File("--urls", path.to_owned(), error))?;
    let mut server = match url {
        Some(url) => Some((url.to_owned(), Origin::of_url(url).map_err(BenchError::Url)?.0)),
        None => None,
    };
    let mut paths = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |problem: String| BenchError::UrlLine(path.to_owned(), number, problem);
        let (weight, url) = match line.split_once([' ', '\t']) {
            None => (1, line),
            Some((weight, url)) => {
                let weight = weight.parse().ok().filter(|weight| (1..=MOST).contains(weight));
                let weight = weight.ok_or_else(|| {
                    wrong(format!("{line:?} is not a weight from 1 to {MOST} and a URL, as in '3 http://127.0.0.1/'"))
                })?;
                (weight, url.trim())
            }
        };
        if url.starts_with('/') && server.is_some() {
            paths.push(WeightedPath { weight, path: url.to_owned() });
            continue;
        }
        let (origin, asked) = Origin::of_url(url).map_err(|error| wrong(error.to_string()))?;
        match &server {
            Some((_, known)) if *known != origin => {
                return Err(BenchError::Servers(path.to_owned(), number, Box::new((known.clone(), origin))));
            }
            Some(_) => {}
            None => server = Some((url.to_owned(), origin)),
        }
        paths.push(WeightedPath { weight, path: asked });
    }
    match server {
        Some((url, origin)) if !paths.is_empty() => Ok((url, origin, paths)),
        _ => Err(BenchError::UrlLine(path.to_owned(), 1, "there is no URL; write one a line".to_owned())),
    }
}

/// More URLs would not be measured any better.
const MOST: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str, url: Option<&str>) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("urls");
        fs::write(&path, text).unwrap();
        let shown = |paths: Vec<WeightedPath>| {
            paths.iter().map(|one| format!("{}×{}", one.weight, one.path)).collect::<Vec<_>>().join(" ")
        };
        match read(&path, url) {
            Ok((_, origin, paths)) => Ok(format!("{origin} {}", shown(paths))),
            Err(error) => Err(error.to_string().replace(path.to_str().unwrap(), "FILE")),
        }
    }

    #[test]
    fn url_lists_are_read_with_weights() {
        let cases = [
            ("http://a/1\n\n# no\n 3\thttp://a/2 \n/3\n", None, Ok("http://a 1×/1 3×/2 1×/3")),
            ("/1\n2 /2", Some("http://b:81/x"), Ok("http://b:81 1×/1 2×/2")),
            ("", None, Err("FILE line 1: there is no URL; write one a line")),
            ("http://a/\nhttp://b/", None, Err("FILE line 2: http://b is another server than http://a; a run has one")),
            (
                "0 http://a/",
                None,
                Err(
                    "FILE line 1: \"0 http://a/\" is not a weight from 1 to 1000000 and a URL, as in '3 http://127.0.0.1/'",
                ),
            ),
            ("ftp://a/", None, Err("FILE line 1: \"ftp://a/\" is not one of http:// and https://")),
        ];
        for (text, url, expected) in cases {
            assert_eq!(listed(text, url), expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
