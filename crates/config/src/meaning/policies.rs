//! What sites and routes do around their handlers.

use serow_files::{Coding, CompressibleTypes, FilesSettings, Levels};
use serow_site::{Compression, RoutePolicy};

use crate::{
    diagnostics::problem::{Problem, Problems},
    place::Place,
    tables::{
        compression::{CompressionLevel, CompressionSetting, CompressionTable},
        policies::PolicySettings,
    },
    values::Codings,
};

/// Finds out what policies mean, and notes what means nothing.
pub(crate) struct Policies<'a> {
    pub(crate) problems: &'a Problems,
}

impl Policies<'_> {
    /// The policy of what these settings at this place belong to, inside of something with this policy.
    pub(crate) fn policy(&self, outer: &RoutePolicy, settings: &PolicySettings, place: &Place) -> Option<RoutePolicy> {
        let compression = match &settings.compress {
            Some(setting) => self.compression(setting, &place.key("compress"))?,
            None => outer.compression.clone(),
        };
        Some(RoutePolicy { compression })
    }

    /// How responses are compressed, if they are.
    fn compression(&self, setting: &CompressionSetting, place: &Place) -> Option<Option<Compression>> {
        let defaults = Compression::default();
        let compression = match setting {
            CompressionSetting::Codings(codings) => {
                let codings = codings.clone().or(defaults.codings);
                Compression { codings, ..Compression::default() }
            }
            CompressionSetting::Table(table) => {
                let types = table.types.as_deref().unwrap_or_default();
                if let Some(number) = types.iter().position(|name| !is_media_type(name)) {
                    let text = format!(
                        "{:?} is not a media type: write it without parameters, as in \"text/*\" or \"application/json\"",
                        types[number]
                    );
                    self.problems.add(Problem::of_value(place.key("types").element(number), text));
                    return None;
                }
                let codings = table.codings();
                if codings.is_empty() {
                    let text = "all codings are off: write `compress = false`";
                    self.problems.add(Problem::of_value(place.clone(), text));
                    return None;
                }
                let smallest = table.min_size.map_or(defaults.smallest, |size| size.0);
                Compression { codings, levels: table.levels(), types: table.types(), smallest }
            }
        };
        Some((!compression.codings.is_empty()).then_some(compression))
    }

    /// Has a folder compress as the site or route around it says, unless the folder says itself that it does not, or in
    /// which codings.
    pub(crate) fn compress_folder(policy: Option<&CompressionSetting>, own: &Codings, settings: &mut FilesSettings) {
        let Some(compression) = &mut settings.compression else { return };
        match policy {
            None | Some(CompressionSetting::Codings(Codings::On)) => {}
            Some(CompressionSetting::Codings(Codings::Off)) => settings.compression = None,
            Some(CompressionSetting::Codings(Codings::Only(codings))) => {
                if *own == Codings::On {
                    compression.codings.clone_from(codings);
                }
            }
            Some(CompressionSetting::Table(table)) => {
                if *own == Codings::On {
                    compression.codings = table.codings();
                }
                compression.levels = table.levels();
                compression.types = table.types();
                if let Some(size) = table.min_size {
                    compression.smallest = size.0;
                }
            }
        }
    }
}

impl CompressionTable {
    /// The codings that are not off, the preferred ones first.
    fn codings(&self) -> Vec<Coding> {
        let defaults = Compression::default().codings.into_iter();
        let is_on = |coding: &Coding| match coding {
            Coding::Brotli => self.brotli != Some(CompressionLevel::Off),
            Coding::Zstd => self.zstd != Some(CompressionLevel::Off),
            Coding::Gzip => self.gzip != Some(CompressionLevel::Off),
        };
        defaults.filter(is_on).collect()
    }

    fn levels(&self) -> Levels {
        let Levels { brotli, zstd, gzip } = Levels::default();
        Levels {
            brotli: CompressionLevel::or(self.brotli, brotli).unwrap_or(brotli),
            zstd: CompressionLevel::or(self.zstd, zstd).unwrap_or(zstd),
            gzip: CompressionLevel::or(self.gzip, gzip).unwrap_or(gzip),
        }
    }

    fn types(&self) -> CompressibleTypes {
        self.types.as_ref().map_or_else(CompressibleTypes::default, CompressibleTypes::only)
    }
}

/// Whether this is a media type without parameters (RFC 9110 §8.3.1), perhaps with stars.
fn is_media_type(name: &str) -> bool {
    let is_token = |text: &str| !text.is_empty() && text.bytes().all(serow::is_token_byte);
    name == "*" || name.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}
