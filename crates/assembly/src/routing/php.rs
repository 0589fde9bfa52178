//! A folder of PHP scripts.

use std::path::Path;

use serow_config::{
    SettingError,
    options::{CachingOptions, ContentOptions, FolderOptions, ForwardingOptions, ListingChoice, without_options},
    paths::resolved,
    routing::route_paths::shown,
    tables::{
        php::{PhpRequestSettings, PhpSettings as PhpTableSettings, PhpTable},
        upstreams::{ProxySettings, ProxyTable},
    },
    values::Texts,
};
use serow_document::{Place, Problem};
use serow_files::Files;
use serow_message::Pattern;
use serow_programs::php::{CaselessPatterns, FrontController, PhpFolder, Preset};
use serow_router::Action;
use serow_site::Content;

use super::{EVERYTHING, Routing};
use crate::{PhpPlace, applications::OwnPhp, folder::folder_error, folder_settings, proxying::ProxyScopes};

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
        let PhpTable { settings, requests, processes, caching } = table;
        if settings.root.as_os_str().is_empty() {
            let text = "the path is empty: name a folder; \".\" is that of this file";
            return self.noted(Err(Problem::of_value(place.key("root"), text)));
        }
        let root = resolved(&settings.root, self.folder);
        let files = self.files_beside_scripts(&settings, caching, &root, (shown, place));
        let php = self.scripts(&settings, &root, place);
        let (files, php) = (files?, php?);
        let PhpTableSettings { servers, upstream, variables, root_in_php, .. } = settings;
        let is_other = !servers.is_empty() || upstream.is_some();
        let proxied = ProxyTable {
            settings: ProxySettings { servers, upstream, variables, ..ProxySettings::default() },
            forwarding: forwarding(&requests),
        };
        if is_other {
            if !processes.is_usual() {
                let text = "the table has settings of a php-fpm that Serow starts, and names another one: leave out `servers` and \
                            `upstream`, or `processes`, `ini`, `env`, `interpreter`, `queue`, `max-requests`, `memory-limit`, \
                            `dev` and the like";
                return self.noted(Err(Problem::of_key(place.clone(), text)));
            }
            let proxy = self.proxying.php(proxied, scopes, place)?;
            return Some(Action::Handle(Content::Php(Box::new(PhpFolder::new(files, proxy, php.settings)))));
        }
        if root_in_php.is_some() {
            let text =
                "the php-fpm that Serow starts sees the same folders: leave it out, or name another one with `servers`";
            return self.noted(Err(Problem::of_key(place.key("root-in-php"), text)));
        }
        let own = OwnPhp { root, processes, requests };
        let fpm = self.applications.php(own, &php, place)?;
        let proxy = self.proxying.of_application(fpm.upstream().clone(), proxied, scopes, place)?;
        Some(Action::Handle(Content::Php(Box::new(PhpFolder::new(files, proxy, php.settings)))))
    }

    /// Which scripts run: as it is written, otherwise as the application needs it.
    fn scripts(&self, settings: &PhpTableSettings, root: &Path, place: &Place) -> Option<PhpPlace> {
        let preset = match settings.preset.as_deref() {
            None | Some("auto") => Preset::of_root(&root.canonicalize().unwrap_or_else(|_| root.to_owned())),
            Some("none") => None,
            Some(name) => match Preset::named(name) {
                Some(preset) => Some(preset),
                None => {
                    let names: Vec<_> = Preset::names().collect();
                    let text = format!("there is no preset {name:?}: write auto, none, or one of {}", names.join(", "));
                    return self.noted(Err(Problem::of_value(place.key("preset"), text)));
                }
            },
        };
        let mut php = preset.map(Preset::settings).unwrap_or_default();
        if let Some(texts) = &settings.entry_points {
            let paths = self.paths(texts, &place.key("entry-points"))?;
            php.entry_points = Some(paths.iter().map(|path| Pattern::new(path)).collect());
        }
        if let Some(texts) = &settings.no_scripts {
            php.without_scripts = CaselessPatterns::new(self.paths(texts, &place.key("no-scripts"))?);
        }
        if let Some(texts) = &settings.hidden {
            php.hidden = CaselessPatterns::new(self.paths(texts, &place.key("hidden"))?);
        }
        if let Some(text) = &settings.front_controller {
            php.front_controller = self.front_controller(text, place)?;
        }
        php.index.clone_from(&settings.index);
        php.root_in_php = settings.root_in_php.as_ref().map(|path| path.trim_end_matches('/').as_bytes().to_vec());
        Some(PhpPlace { root: root.to_owned(), settings: php, preset })
    }

    /// The other files of the folder.
    fn files_beside_scripts(
        &self,
        settings: &PhpTableSettings,
        caching: CachingOptions,
        root: &Path,
        (shown, place): (&str, &Place),
    ) -> Option<Files> {
        let is_source = |ending: &str| SOURCES.contains(&ending.to_ascii_lowercase().as_str());
        if let Some(rule) = settings.media_type.iter().find(|rule| is_source(rule.ending.trim_start_matches('.'))) {
            let text = format!("a media type for {:?} would send source code: leave it out", rule.ending);
            return self.noted(Err(Problem::of_value(place.key("type"), text)));
        }
        if let Some(page) = settings.not_found.as_deref().filter(|page| is_script(page)) {
            let text =
                format!("{page:?} would be sent and not run: name it as `front-controller`, or a page in HTML here");
            return self.noted(Err(Problem::of_value(place.key("not-found"), text)));
        }
        let content = ContentOptions {
            index: settings.index.iter().filter(|name| !is_script(name)).cloned().collect(),
            listing: ListingChoice::Off,
            symlinks: settings.symlinks,
            media_type: settings.media_type.clone(),
            not_found: settings.not_found.clone(),
            ..without_options()
        };
        let wanted = caching.cache_files.in_memory();
        let cached_files = wanted.saturating_mul(self.shares.cached_files).checked_div(self.wanted_files).unwrap_or(0);
        let of_setting_error = |found: SettingError| found.problem(place);
        let folder = FolderOptions { content, caching };
        let mut folder = self.noted(folder_settings(folder, cached_files).map_err(of_setting_error))?;
        shown.clone_into(&mut folder.place);
        let files = Files::with_settings(root, folder).map_err(|error| match folder_error(&error) {
            Some(error) => of_setting_error(error),
            None => Problem::of_value(place.key("root"), error.to_string()),
        });
        self.noted(files)
    }

    /// The patterns of paths that a list has.
    fn paths<'t>(&self, texts: &'t Texts, place: &Place) -> Option<&'t [String]> {
        if let Some(wrong) = texts.0.iter().find(|text| !text.starts_with('/')) {
            let text = format!("{wrong:?} is not a path: write it as in \"/uploads/*\"");
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        Some(&texts.0)
    }

    fn front_controller(&self, text: &str, place: &Place) -> Option<FrontController> {
        match text {
            "off" => Some(FrontController::Off),
            path if is_script(path) && !path.split('/').any(|name| name == "..") => {
                Some(FrontController::At(path.trim_start_matches('/').to_owned()))
            }
            other => {
                let text = format!(
                    "{other:?} is not a script of the folder: write its path in the folder, as in \"index.php\", or \"off\""
                );
                self.noted(Err(Problem::of_value(place.key("front-controller"), text)))
            }
        }
    }
}

/// How requests are passed on.
fn forwarding(requests: &PhpRequestSettings) -> ForwardingOptions {
    ForwardingOptions {
        accel_redirect: requests.accel_redirect,
        trust: requests.trust.clone(),
        response_timeout: requests.response_timeout,
        transfer_timeout: requests.transfer_timeout,
        total_timeout: requests.total_timeout,
        // php-fpm takes no body before it is whole.
        buffer_requests: true,
        ..without_options()
    }
}

fn is_script(name: &str) -> bool {
    name.ends_with(".php")
}

/// Endings of source code, which a media type would send.
const SOURCES: [&str; 5] = ["php", "phtml", "phar", "inc", "phps"];
