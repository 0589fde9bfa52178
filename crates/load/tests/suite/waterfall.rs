//! The drawings of recordings, compared with files, and recordings of a server that does what a test wants. With
//! `BLESS=1` in the environment the files are written instead.

mod fetching;
mod peer;
mod samples;

use std::{fs, path::Path};

use serow_load::waterfall::{self, Recording};

#[test]
fn drawings() {
    each("svg", |recording| waterfall::svg(recording, None));
}

#[test]
fn texts() {
    each("txt", |recording| {
        let text = waterfall::text(recording, 80);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line:?} is too long");
        }
        text
    });
}

#[test]
fn json() {
    for (name, recording) in samples::all() {
        let text = waterfall::json(&recording);
        let value: serde_json::Value = serde_json::from_str(&text).expect("it is json");
        assert_eq!(value["bytes"], recording.bytes(), "{name}");
        assert_eq!(value["resources"].as_array().map(Vec::len), Some(recording.resources.len()));
        for (found, resource) in value["resources"].as_array().into_iter().flatten().zip(&recording.resources) {
            assert_eq!(found["path"], resource.spec.path);
            assert_eq!(found["pieces"].as_array().map(Vec::len), Some(resource.pieces.len()));
            assert_eq!(text.lines().filter(|line| line.contains(&format!("{:?}", resource.spec.path))).count(), 1);
        }
    }
}

fn each(extension: &str, draw: fn(&Recording) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/waterfall");
    for (name, recording) in samples::all() {
        let (path, found) = (folder.join(name).with_extension(extension), draw(&recording));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &found).expect("the folder is writable");
        }
        let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(found == expected, "{}\n--- found\n{found}\n--- expected\n{expected}", path.display());
    }
}
