//! The policies of sites and routes around their handlers.

mod cors;
mod error_pages;
mod rate;

use std::{path::Path, sync::Arc};

use serow_config::{
    paths::resolved,
    tables::{
        compression::{CompressionLevel, CompressionSetting, CompressionTable},
        policies::PolicySettings,
    },
    values::{Codings, Statuses, TextOr},
};
use serow_document::{Place, Problem, Problems};
use serow_files::{Coding, CompressibleTypes, FilesSettings, Levels};
use serow_site::{Compression, ErrorPages, Page, RoutePolicy};
use serow_variables::Scope;

/// Finds out what policies mean, and notes what means nothing.
pub(crate) struct Policies<'a> {
    /// Which variables paths may name.
    pub(crate) scope: &'a Scope,
    /// The folder of the settings file.
    pub(crate) folder: &'a Path,
    pub(crate) problems: &'a Problems,
}

impl Policies<'_> {
    /// The policy of what these settings at this place belong to, inside of something with this policy.
    pub(crate) fn policy(&self, outer: &RoutePolicy, settings: &PolicySettings, place: &Place) -> Option<RoutePolicy> {
        let compression = match &settings.compress {
            Some(setting) => self.compression(setting, &place.key("compress")),
            None => Some(outer.compression.clone()),
        };
        let error_pages = self.error_pages(outer.error_pages.as_ref(), settings, place);
        let cors = match &settings.cors {
            Some(table) => self.noted(cors::of(table, &place.key("cors"))).map(|cors| Some(Arc::new(cors))),
            None => Some(outer.cors.clone()),
        };
        let security_headers = settings.security_headers.unwrap_or(outer.security_headers);
        let rate = self.noted(rate::of(outer.rate, settings, place));
        Some(RoutePolicy {
            compression: compression?,
            error_pages: error_pages?,
            cors: cors?,
            security_headers,
            // It depends on the handler: see `BodyLimits`.
            max_body: None,
            rate: rate?,
            body_timeout: settings.body_timeout.map(|span| span.0).or(outer.body_timeout),
            guard: outer.guard.clone(),
        })
    }

    /// The pages for errors: first those of these settings, then those around them.
    fn error_pages(
        &self,
        outer: Option<&Arc<ErrorPages>>,
        settings: &PolicySettings,
        place: &Place,
    ) -> Option<Option<Arc<ErrorPages>>> {
        let (mut pages, mut is_wrong) = (Vec::new(), false);
        for (statuses, page) in &settings.error_pages {
            let place = place.key("error-pages").key(statuses.as_str());
            let ranges = statuses.parse::<Statuses>().map_err(|error| error.to_string());
            let ranges = ranges.and_then(|ranges| match ranges.0.iter().all(|range| *range.0.start() >= 400) {
                true => Ok(ranges),
                false => Err(format!("{statuses:?} is not the status of an error: write one from 400 to 599")),
            });
            let ranges = self.noted(ranges.map_err(|text| Problem::of_key(place.clone(), text)));
            let page = match page {
                TextOr::Text(path) => error_pages::read(&resolved(path.as_ref(), self.folder)).map(Page::Fixed),
                TextOr::Table(table) => error_pages::routed(table, self.scope).map(Page::Routed),
            };
            let page = self.noted(page.map_err(|text| Problem::of_value(place, text)));
            match ranges.zip(page) {
                Some((ranges, page)) => pages.extend(ranges.0.into_iter().map(|range| (range.0, page.clone()))),
                None => is_wrong = true,
            }
        }
        if is_wrong {
            return None;
        }
        // A single status counts before a range that contains it.
        pages.sort_by_key(|(range, _)| range.end() - range.start());
        pages.extend(outer.into_iter().flat_map(|outer| outer.pages.iter().cloned()));
        let intercept = settings.intercept.or(outer.map(|outer| outer.intercept));
        if pages.is_empty() && settings.intercept.is_some() {
            let text = "`intercept` needs `error-pages`: name the pages";
            return self.noted(Err(Problem::of_key(place.key("intercept"), text)));
        }
        let intercept = intercept.unwrap_or_default();
        Some((!pages.is_empty()).then(|| Arc::new(ErrorPages { pages, intercept })))
    }

    fn noted<T>(&self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.add(problem)).ok()
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
                let names = table.types.as_deref().unwrap_or_default();
                if let Some(number) = names.iter().position(|name| !is_media_type(name)) {
                    let text = format!(
                        "{:?} is not a media type: write it without parameters, as in \"text/*\" or \"application/json\"",
                        names[number]
                    );
                    self.problems.add(Problem::of_value(place.key("types").element(number), text));
                    return None;
                }
                if codings(table).is_empty() {
                    let text = "all codings are off: write `compress = false`";
                    self.problems.add(Problem::of_value(place.clone(), text));
                    return None;
                }
                let smallest = table.min_size.map_or(defaults.smallest, |size| size.0);
                Compression { codings: codings(table), levels: levels(table), types: types(table), smallest }
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
                    compression.codings = codings(table);
                }
                compression.levels = levels(table);
                compression.types = types(table);
                if let Some(size) = table.min_size {
                    compression.smallest = size.0;
                }
            }
        }
    }
}

/// The codings that are not off, the preferred ones first.
fn codings(table: &CompressionTable) -> Vec<Coding> {
    let defaults = Compression::default().codings.into_iter();
    let is_on = |coding: &Coding| match coding {
        Coding::Brotli => table.brotli != Some(CompressionLevel::Off),
        Coding::Zstd => table.zstd != Some(CompressionLevel::Off),
        Coding::Gzip => table.gzip != Some(CompressionLevel::Off),
    };
    defaults.filter(is_on).collect()
}

fn levels(table: &CompressionTable) -> Levels {
    let Levels { brotli, zstd, gzip } = Levels::default();
    Levels {
        brotli: CompressionLevel::or(table.brotli, brotli).unwrap_or(brotli),
        zstd: CompressionLevel::or(table.zstd, zstd).unwrap_or(zstd),
        gzip: CompressionLevel::or(table.gzip, gzip).unwrap_or(gzip),
    }
}

fn types(table: &CompressionTable) -> CompressibleTypes {
    table.types.as_ref().map_or_else(CompressibleTypes::default, CompressibleTypes::only)
}

/// Whether this is a media type without parameters (RFC 9110 §8.3.1), perhaps with stars.
fn is_media_type(name: &str) -> bool {
    let is_token = |text: &str| !text.is_empty() && text.bytes().all(serow::is_token_byte);
    name == "*" || name.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}
