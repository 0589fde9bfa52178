//! A folder and how it is served: what all clones of a handler have in common.

use std::path::{Path, PathBuf};

use serow_message::{Headers, KnownHeader};

use crate::{
    clock::Clock,
    error::FilesError,
    examined::MissingLog,
    freshness::Freshness,
    media_type::MediaTypes,
    request_path::{Hidden, RequestPath},
    root::Root,
    settings::FilesSettings,
    withheld::Withheld,
};

/// A folder, and what the settings mean for it.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) root: PathBuf,
    pub(crate) settings: FilesSettings,
    pub(crate) media_types: MediaTypes,
    pub(crate) withheld: Withheld,
    pub(crate) missing_log: MissingLog,
    pub(crate) clock: Clock,
    pub(crate) fallback: Option<RequestPath>,
    pub(crate) not_found: Option<RequestPath>,
}

impl Site {
    /// A relative path counts from the working directory of this moment.
    pub(crate) fn new(root: &Path, settings: FilesSettings) -> Result<Self, FilesError> {
        Root::open(root, settings.symlinks)?;
        let absolute = std::path::absolute(root).map_err(|error| FilesError::Unreadable(root.to_owned(), error))?;
        check(&settings)?;
        Ok(Self {
            root: absolute,
            media_types: MediaTypes::new(&settings.media_types, &settings.default_media_type),
            withheld: Withheld::of(&settings),
            missing_log: MissingLog::default(),
            clock: Clock::default(),
            fallback: page("fallback", settings.fallback.as_deref())?,
            not_found: page("not_found", settings.not_found.as_deref())?,
            settings,
        })
    }
}

/// A path of the settings; hidden names are the owner's to serve.
fn page(setting: &'static str, path: Option<&str>) -> Result<Option<RequestPath>, FilesError> {
    let Some(text) = path else { return Ok(None) };
    match RequestPath::from_decoded(text.as_bytes(), Hidden::Serve) {
        Ok(path) if !path.is_folder() => Ok(Some(path)),
        _ => Err(FilesError::Path { setting, value: text.to_owned() }),
    }
}

/// Whether all text in the settings can stand where it will.
fn check(settings: &FilesSettings) -> Result<(), FilesError> {
    for name in &settings.index {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(FilesError::Path { setting: "index", value: name.clone() });
        }
    }
    for ending in &settings.extensions {
        if !ending.starts_with('.') || ending.len() == 1 || ending.contains(['/', '\0']) {
            return Err(FilesError::Path { setting: "extensions", value: ending.clone() });
        }
    }
    let media_types = settings.media_types.iter().map(|(_, value)| ("media_types", value));
    let directives = settings.freshness.iter().filter_map(|rule| match &rule.freshness {
        Freshness::Directives(text) => Some(("freshness", text)),
        _ => None,
    });
    let default = std::iter::once(("default_media_type", &settings.default_media_type));
    for (setting, value) in media_types.chain(directives).chain(default) {
        if Headers::new().append(KnownHeader::ContentType, value).is_err() {
            return Err(FilesError::Text { setting, value: value.clone() });
        }
    }
    Ok(())
}
