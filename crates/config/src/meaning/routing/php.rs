//! A folder of PHP scripts.

use serow_document::{Place, Problem};
use serow_files::Files;
use serow_message::Pattern;
use serow_php::{FrontController, PhpFolder, PhpSettings};
use serow_router::Action;
use serow_site::Content;

use super::Routing;
use crate::{
    meaning::{paths::resolved, proxying::ProxyScopes},
    tables::{php::PhpTable, texts::Texts},
};
use serow_settings::{
    SettingError, folder_settings,
    options::{ContentOptions, FolderOptions, ForwardingOptions, ListingChoice, without_options},
};

impl Routing<'_> {
    pub(super) fn php(
        &self,
        table: PhpTable,
        scopes: ProxyScopes<'_>,
        (shown, place): (&str, &Place),
    ) -> Option<Action<Content>> {
        let PhpTable { settings, requests, caching } = table;
        if settings.root.as_os_str().is_empty() {
            let text = "the path is empty: name a folder; \".\" is that of this file";
            return self.noted(Err(Problem::of_value(place.key("root"), text)));
        }
        let patterns = |key: &str, texts: Option<&Texts>| self.patterns(texts, &place.key(key));
        let entry_points = patterns("entry-points", settings.entry_points.as_ref());
        let no_scripts = patterns("no-scripts", settings.no_scripts.as_ref());
        let (scripts, pages) = settings.index.into_iter().partition(|name| name.ends_with(".php"));
        let php = PhpSettings {
            entry_points: entry_points?,
            without_scripts: no_scripts?.unwrap_or_default(),
            front_controller: self.front_controller(settings.front_controller.as_deref(), place)?,
            index: scripts,
            root_in_php: settings.root_in_php.map(|path| path.trim_end_matches('/').as_bytes().to_vec()),
        };
        let forwarding = ForwardingOptions {
            accel_redirect: requests.accel_redirect,
            trust: requests.trust,
            response_timeout: requests.response_timeout,
            transfer_timeout: requests.transfer_timeout,
            total_timeout: requests.total_timeout,
            // php-fpm takes no body before it is whole.
            buffer_requests: true,
            ..without_options()
        };
        let servers = self.proxying.php((settings.servers, settings.upstream), forwarding, scopes, place);
        let content = ContentOptions {
            index: pages,
            listing: ListingChoice::Off,
            symlinks: settings.symlinks,
            media_type: settings.media_type,
            not_found: settings.not_found,
            ..without_options()
        };
        let wanted = caching.cache_files.in_memory();
        let cached_files = wanted.saturating_mul(self.shares.cached_files).checked_div(self.wanted_files).unwrap_or(0);
        let of_setting_error = |found: SettingError| found.problem(place);
        let folder = FolderOptions { content, caching };
        let mut folder = self.noted(folder_settings(folder, cached_files).map_err(of_setting_error))?;
        shown.clone_into(&mut folder.place);
        let root = resolved(&settings.root, self.folder);
        let files = Files::with_settings(&root, folder).map_err(|error| match SettingError::of_folder(&error) {
            Some(error) => of_setting_error(error),
            None => Problem::of_value(place.key("root"), error.to_string()),
        });
        let php = PhpFolder::new(self.noted(files)?, servers?, php);
        Some(Action::Handle(Content::Php(Box::new(php))))
    }

    /// Patterns of paths, in lower case where `key` says so.
    fn patterns(&self, texts: Option<&Texts>, place: &Place) -> Option<Option<Vec<Pattern>>> {
        let Some(texts) = texts else { return Some(None) };
        if let Some(wrong) = texts.0.iter().find(|text| !text.starts_with('/')) {
            let text = format!("{wrong:?} is not a path: write it as in \"/uploads/*\"");
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        Some(Some(texts.0.iter().map(|text| Pattern::new(text)).collect()))
    }

    fn front_controller(&self, text: Option<&str>, place: &Place) -> Option<FrontController> {
        match text {
            None => Some(FrontController::IfPresent),
            Some("off") => Some(FrontController::Off),
            Some(path) if path.ends_with(".php") => Some(FrontController::At(path.trim_start_matches('/').to_owned())),
            Some(other) => {
                let text =
                    format!("{other:?} is not a script: write its path in the folder, as in \"index.php\", or \"off\"");
                self.noted(Err(Problem::of_value(place.key("front-controller"), text)))
            }
        }
    }
}
