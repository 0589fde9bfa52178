//! A folder of PHP scripts.

use serow_document::{Place, Problem};
use serow_files::Files;
use serow_message::Pattern;
use serow_php::{FrontController, PhpFolder, PhpSettings, WithoutScripts};
use serow_router::Action;
use serow_site::Content;

use super::{EVERYTHING, Routing};
use crate::{
    meaning::{paths::resolved, proxying::ProxyScopes, route_paths::shown},
    tables::{php::PhpTable, texts::Texts},
};
use serow_settings::{
    SettingError, folder_settings,
    options::{ContentOptions, FolderOptions, ForwardingOptions, ListingChoice, without_options},
};

impl Routing<'_> {
    /// The only folder of scripts of the site with this name.
    pub(super) fn only_php(
        &self,
        table: PhpTable,
        scopes: ProxyScopes<'_>,
        site: &str,
        place: &Place,
    ) -> Option<Action<Content>> {
        self.php(table, scopes, (&shown(site, None, EVERYTHING), place))
    }

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
        let is_source = |ending: &str| SOURCES.contains(&ending.to_ascii_lowercase().as_str());
        if let Some(rule) = settings.media_type.iter().find(|rule| is_source(rule.ending.trim_start_matches('.'))) {
            let text = format!("a media type for {:?} would send source code: leave it out", rule.ending);
            return self.noted(Err(Problem::of_value(place.key("type"), text)));
        }
        if let Some(page) = settings.not_found.as_deref().filter(|page| page.ends_with(".php")) {
            let text =
                format!("{page:?} would be sent and not run: name it as `front-controller`, or a page in HTML here");
            return self.noted(Err(Problem::of_value(place.key("not-found"), text)));
        }
        let entry_points = settings.entry_points.map(|texts| self.paths(texts, &place.key("entry-points")));
        let no_scripts = self.paths(settings.no_scripts.unwrap_or_default(), &place.key("no-scripts"));
        let pages = settings.index.iter().filter(|name| !name.ends_with(".php")).cloned().collect();
        let php = PhpSettings {
            entry_points: match entry_points {
                None => None,
                Some(paths) => Some(paths?.iter().map(|path| Pattern::new(path)).collect()),
            },
            without_scripts: WithoutScripts::new(no_scripts?),
            front_controller: self.front_controller(settings.front_controller.as_deref(), place)?,
            index: settings.index,
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

    /// The patterns of paths that a list has.
    fn paths(&self, texts: Texts, place: &Place) -> Option<Vec<String>> {
        if let Some(wrong) = texts.0.iter().find(|text| !text.starts_with('/')) {
            let text = format!("{wrong:?} is not a path: write it as in \"/uploads/*\"");
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        Some(texts.0)
    }

    fn front_controller(&self, text: Option<&str>, place: &Place) -> Option<FrontController> {
        match text {
            None => Some(FrontController::IfPresent),
            Some("off") => Some(FrontController::Off),
            Some(path) if path.ends_with(".php") && !path.split('/').any(|name| name == "..") => {
                Some(FrontController::At(path.trim_start_matches('/').to_owned()))
            }
            Some(other) => {
                let text = format!(
                    "{other:?} is not a script of the folder: write its path in the folder, as in \"index.php\", or \"off\""
                );
                self.noted(Err(Problem::of_value(place.key("front-controller"), text)))
            }
        }
    }
}

/// Endings of source code, which a media type would send.
const SOURCES: [&str; 5] = ["php", "phtml", "phar", "inc", "phps"];
