//! How scripts in PHP are run by a php-fpm that the server starts.

use std::{
    ffi::OsStr,
    num::NonZero,
    path::{Path, PathBuf},
    time::Duration,
};

use serow_config::{
    SettingError,
    options::{ApplicationOptions, BindChoice, InterfaceChoice},
};
use serow_programs::{
    fpm::{FpmApplication, FpmSettings, is_ini_setting},
    php::{FrontController, PhpSettings, Preset},
};

use super::{process::ApplicationHost, proxy::field_names, running::run_as_written};

/// The folder of an application in PHP, and how it is served.
#[derive(Debug)]
pub struct PhpPlace {
    /// The folder that is served.
    pub root: PathBuf,
    /// Which of its scripts run.
    pub settings: PhpSettings,
    /// The application, if it is a known one.
    pub preset: Option<&'static Preset>,
}

impl PhpPlace {
    /// The application at a path: its folder, or a script, which answers all requests for which there is no file.
    ///
    /// # Errors
    ///
    /// If there is neither.
    pub fn find(path: &Path) -> Result<Self, SettingError> {
        let wrong = |text: String| SettingError::new("application", text);
        if path.is_dir() {
            return Self::of_folder(path).ok_or_else(|| {
                wrong(format!(
                    "`application`: there is no index.php in {0} or {0}/public: write the path of the script that answers \
                     requests",
                    path.display()
                ))
            });
        }
        if !path.is_file() {
            return Err(wrong(format!("`application`: there is no file {}", path.display())));
        }
        let root = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        let preset = Preset::of_root(&root.canonicalize().unwrap_or_else(|_| root.clone()));
        let mut settings = settings_of(preset);
        if name != INDEX {
            settings.front_controller = FrontController::At(name.clone());
            settings.index.insert(0, name);
        }
        Ok(Self { root, settings, preset })
    }

    /// Whether links out of the folder are usual, such as `storage` in `public` of Laravel.
    #[must_use]
    pub fn has_outer_links(&self) -> bool {
        self.preset.is_some_and(Preset::is_below_application)
    }

    /// The names of files that answer for a folder in which there is no script for that.
    #[must_use]
    pub fn pages(&self) -> Vec<String> {
        self.settings.index.iter().filter(|name| !name.ends_with(".php")).cloned().collect()
    }

    fn of_folder(folder: &Path) -> Option<Self> {
        let preset = Preset::of_folder(&folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
        let root = preset.map_or_else(|| folder.to_owned(), |preset| preset.root(folder));
        let settings = settings_of(preset);
        root.join(INDEX).is_file().then_some(Self { root, settings, preset })
    }
}

/// How an application is served, with pages that answer for folders without a script.
fn settings_of(preset: Option<&Preset>) -> PhpSettings {
    let mut settings = preset.map(Preset::settings).unwrap_or_default();
    settings.index.push(PAGE.to_owned());
    settings
}

/// The php-fpm for the scripts of this folder; children that leave may take so long to end.
pub fn php_fpm(
    name: String,
    place: &PhpPlace,
    options: ApplicationOptions,
    grace: Duration,
    host: &ApplicationHost,
) -> Result<FpmApplication, SettingError> {
    refuse_meaningless(&options)?;
    let folder = options.chdir.as_deref().unwrap_or(&place.root);
    let folder = folder.canonicalize().map_err(|error| {
        SettingError::new("chdir", format!("the folder {} cannot be used: {error}", folder.display()))
    })?;
    let mut settings = FpmSettings::new(name, folder);
    settings.program = options.interpreter.as_deref().map(|name| name.trim().to_owned());
    settings.run.processes = settings.run.processes.max(usual_processes());
    serow_config::checks::lifetime(&options)?;
    run_as_written(&mut settings.run, &options, grace, host);
    if options.processes.is_some_and(|count| count.in_memory() < LEAST_PROCESSES) {
        let text = "`processes`: PHP needs at least 2: applications send requests to themselves, which one process cannot \
                    answer while it waits for the answer";
        return Err(SettingError::new("processes", text));
    }
    settings.launcher = host.launcher.clone();
    settings.development = options.dev;
    settings.title = place.preset.map_or(settings.title, |preset| preset.title);
    settings.field_names = field_names(options.underscores_in_headers);
    for variable in &options.ini {
        if !is_ini_setting(&variable.name, &variable.value) {
            let text = format!(
                "`ini`: {:?} cannot be set: a name has letters, digits, dots, hyphens and underscores, and a value has no line \
                 breaks and no ${{",
                variable.to_string()
            );
            return Err(SettingError::new("ini", text));
        }
        settings.ini.push((variable.name.clone(), variable.value.clone()));
    }
    Ok(FpmApplication::new(settings))
}

/// Refuses settings of other applications.
fn refuse_meaningless(options: &ApplicationOptions) -> Result<(), SettingError> {
    let of_others = [
        ("interface", options.interface != InterfaceChoice::Auto),
        ("bind", options.bind != BindChoice::Port),
        ("check-path", options.check_path.is_some()),
        ("threads", options.threads.is_some()),
        ("preload", options.preload),
        ("root-path", options.root_path.is_some()),
        ("request-start", options.request_start),
        ("refork-after", !options.refork_after.is_empty()),
        ("out-of-band-gc", options.out_of_band_gc.is_some()),
        ("spawn-interval", options.spawn_interval.0 != Duration::ZERO),
        ("websocket-ping", options.websocket_ping.is_some()),
        ("max-message", options.max_message.is_some()),
        ("websocket-compression", options.websocket_compression.is_some()),
    ];
    match of_others.iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => Err(SettingError::new(key, format!("`{key}` is not for PHP: leave it out"))),
        None => Ok(()),
    }
}

/// Twice the processors: a script waits for its database about half of the time; and one process more for requests of the
/// application to itself.
fn usual_processes() -> NonZero<usize> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    NonZero::new(processors.saturating_mul(2).clamp(4, MAX_USUAL)).unwrap_or(NonZero::<usize>::MIN)
}

const LEAST_PROCESSES: usize = 2;

/// Each process takes some 30 to 60 MB with a usual application.
const MAX_USUAL: usize = 16;

const INDEX: &str = "index.php";

const PAGE: &str = "index.html";
