//! Folders with source code that nobody wants to publish, and that Serow cannot run as it is.

use std::{fs, path::Path};

/// Source code in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSources {
    /// The file by which it was found.
    pub file: &'static str,
    /// The subject of the code, as in `a Rust program`.
    pub kind: &'static str,
    /// How it is served: a part of a sentence.
    pub remedy: &'static str,
}

/// The source code in a folder, if there is some. A page for browsers beside it does not make it public.
#[must_use]
pub fn sources(folder: &Path) -> Option<FoundSources> {
    let found = FILES.into_iter().find(|(file, ..)| folder.join(file).is_file());
    let found = found.map(|(file, kind, remedy)| FoundSources { file, kind, remedy });
    found.or_else(|| package(folder)).or_else(|| php(folder))
}

/// A project whose pages a bundler builds, or a program.
fn package(folder: &Path) -> Option<FoundSources> {
    let has_sources = ["src", "node_modules", "app", "lib"].iter().any(|name| folder.join(name).is_dir());
    let is_project = folder.join("package.json").is_file() && has_sources;
    let is_built = folder.join("dist/index.html").is_file();
    is_project.then_some(FoundSources {
        file: "package.json",
        kind: "a Node.js project",
        remedy: if is_built { BUILT } else { UNBUILT },
    })
}

const BUILT: &str =
    "to serve the pages that it has built, write serow dist; to run a program, serow app -- node server.js";

const UNBUILT: &str = "to serve the pages that it builds, write npm run build, and then serow dist; to run a program, serow \
                       app -- node server.js";

/// Any file in PHP.
fn php(folder: &Path) -> Option<FoundSources> {
    let is_php = |name: &std::ffi::OsStr| Path::new(name).extension().is_some_and(|ending| ending == "php");
    let mut entries = fs::read_dir(folder).ok()?.flatten().take(MAX_ENTRIES);
    entries.any(|entry| is_php(&entry.file_name())).then_some(FoundSources { file: "*.php", kind: "PHP", remedy: PHP })
}

const PHP: &str =
    "to run it, write serow app with the path of the script that answers requests, such as public/index.php";

const JAVA: &str = "to run it, build it, and write serow app -- java -jar with the name of the archive";

const FILES: [(&str, &str, &str); 8] = [
    ("composer.json", "PHP", PHP),
    (
        "Cargo.toml",
        "a Rust program",
        "to run it, write cargo build --release, and then serow app -- ./target/release/ and its name",
    ),
    ("go.mod", "a Go program", "to run it, write go build, and then serow app -- ./ and its name"),
    ("mix.exs", "an Elixir application", "to run it, write serow app -- mix phx.server"),
    ("pom.xml", "a Java application", JAVA),
    ("build.gradle", "a Java application", JAVA),
    ("build.gradle.kts", "a Java application", JAVA),
    ("deno.json", "a Deno program", "to run it, write serow app -- deno task start"),
];

/// A folder with more entries is not searched to its end.
const MAX_ENTRIES: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications::tests::folder;

    #[test]
    fn pages_that_were_built_are_served_without_another_build() {
        let project = [("package.json", "{}"), ("src/main.js", "")];
        let remedy = |files: &[(&str, &str)]| sources(folder(files).path()).map(|found| found.remedy);
        assert_eq!(remedy(&project), Some(UNBUILT));
        assert_eq!(remedy(&[project[0], project[1], ("dist/index.html", "")]), Some(BUILT));
    }

    #[test]
    fn source_code_is_found_by_its_files() {
        for (files, expected) in [
            (&[("composer.json", "")][..], Some("composer.json")),
            (&[("wp-config.php", "")], Some("*.php")),
            (&[("contact.php", ""), ("index.html", "")], Some("*.php")),
            (&[("Cargo.toml", ""), ("src/main.rs", "")], Some("Cargo.toml")),
            (&[("go.mod", "")], Some("go.mod")),
            (&[("mix.exs", "")], Some("mix.exs")),
            (&[("pom.xml", "")], Some("pom.xml")),
            (&[("build.gradle", "")], Some("build.gradle")),
            (&[("package.json", "{}"), ("index.html", ""), ("src/main.js", "")], Some("package.json")),
            (&[("package.json", "{}"), ("index.html", "")], None),
            (&[("index.html", ""), ("src/a.css", "")], None),
            (&[("a.txt", "")], None),
        ] {
            assert_eq!(sources(folder(files).path()).map(|found| found.file), expected, "{files:?}");
        }
    }
}
