//! Applications in PHP.

use std::path::Path;

use serow_assembly::PhpPlace;

use super::applications::{FoundApplication, Start};

/// The application in PHP in a folder, if there is one: a known one, or an `index.php`, there or in `public`.
pub(super) fn application(folder: &Path) -> Option<FoundApplication> {
    let place = PhpPlace::find(folder).ok()?;
    let root = place.root.strip_prefix(folder).ok()?.to_str()?;
    let (file, root) = match root {
        "" => ("index.php".to_owned(), ".".to_owned()),
        root => (format!("{root}/index.php"), root.to_owned()),
    };
    let kind = place.preset.map_or("an application in PHP", |preset| preset.title);
    Some(FoundApplication::new(&file, kind, Start::Php(root)))
}
