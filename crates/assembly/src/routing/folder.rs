//! The folder of a site or a route.

use std::sync::Arc;

use serow_config::{
    SettingError, checks,
    paths::resolved,
    routing::route_paths::shown,
    tables::{
        compression::CompressionSetting,
        handlers::{FilesTable, MissingChoice},
    },
};
use serow_document::{Place, Problem};
use serow_files::{Files, Listing, Rewrite};
use serow_router::Action;
use serow_site::Content;
use serow_webdav::{Dav, DavSite, PathScope};

use super::{EVERYTHING, Routing};
use crate::{
    dav_scopes::DavScope, folder::folder_error, folder_settings, policies::Policies, route_numbers::trusted,
    write_settings,
};

impl Routing<'_> {
    /// The only folder of the site with this name.
    pub(super) fn only_files(
        &self,
        table: FilesTable,
        compression: Option<&CompressionSetting>,
        site: &str,
        place: &Place,
    ) -> Option<Action<Content>> {
        self.files(table, (EVERYTHING, None), compression, (&shown(site, None, EVERYTHING), place))
    }

    pub(super) fn files(
        &self,
        table: FilesTable,
        (path, scope): (&str, Option<&Arc<DavScope>>),
        compression: Option<&CompressionSetting>,
        (shown, place): (&str, &Place),
    ) -> Option<Action<Content>> {
        let FilesTable { settings, folder } = table;
        self.noted(checks::served_folder(&settings, &folder, path, place))?;
        let is_next = settings.missing == MissingChoice::Next;
        let write = write_settings(&folder.content);
        // It leaves the path of the route out of the path of a file.
        let stripped = settings.strip_prefix.then(|| Rewrite::new(&format!("{}/*", path.trim_end_matches("/*")), "/*"));
        let root = resolved(&settings.root, self.folder);
        // Each folder gets its part of what may be kept open.
        let wanted = folder.caching.cache_files.in_memory();
        let cached_files = wanted.saturating_mul(self.shares.cached_files).checked_div(self.wanted_files).unwrap_or(0);
        let of_setting_error = |found: SettingError| found.problem(place);
        let codings = folder.content.compress.clone();
        let mut settings = self.noted(folder_settings(folder, cached_files).map_err(of_setting_error))?;
        Policies::compress_folder(compression, &codings, &mut settings);
        shown.clone_into(&mut settings.place);
        let prefix = if stripped.is_some() { path.trim_end_matches("/*") } else { "" };
        settings.rewrite.extend(stripped);
        if is_next {
            // The listing of a folder would hide a page of the application.
            settings.listing = Listing::Off;
        }
        let files = Files::with_settings(&root, settings).map_err(|error| match folder_error(&error) {
            Some(error) => of_setting_error(error),
            None => Problem::of_value(place.key("root"), error.to_string()),
        });
        let files = self.noted(files)?;
        let files = match write {
            Some(write) => {
                let scope = scope.cloned().map(|scope| scope as Arc<dyn PathScope>);
                let site = DavSite { scope, trusted: trusted(self.trust) };
                Content::Dav(Box::new(Dav::in_site(files, write, prefix.as_bytes(), site)))
            }
            None => Content::Files(files),
        };
        Some(if is_next { Action::Try(files) } else { Action::Handle(files) })
    }
}
