//! Static sites in a folder.

use std::path::Path;

/// The folder with the pages of a static site: this one, or the one into which a generator writes.
pub(super) fn static_folder(folder: &Path) -> Option<&'static str> {
    STATIC_FOLDERS.into_iter().find(|name| folder.join(name).join("index.html").is_file())
}

/// This folder, and those of Vite, Create React App, Hugo, Jekyll and Next.js. A built site comes before its sources:
/// the page of a Vite project beside them needs Vite's own server.
const STATIC_FOLDERS: [&str; 6] = ["dist", "build", "public", "_site", "out", "."];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications::tests::folder;

    #[test]
    fn pages_that_were_built_come_before_their_sources() {
        let sources = ("index.html", "");
        assert_eq!(static_folder(folder(&[sources]).path()), Some("."));
        assert_eq!(static_folder(folder(&[sources, ("dist/index.html", "")]).path()), Some("dist"));
        assert_eq!(static_folder(folder(&[("public/a.txt", "")]).path()), None);
    }
}
