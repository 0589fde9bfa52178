//! How an application is run.

use std::{
    ffi::OsStr,
    num::NonZero,
    path::{Path, PathBuf},
    time::Duration,
};

use serow_apps::{ApplicationSettings, Interface, Interpreter, Program, WebSocketSettings};
use serow_config::{
    SettingError,
    checks::{self, interface_by_name},
    options::{ApplicationOptions, InterfaceChoice},
    values::{Count, Size},
};
use serow_site::Application;

use super::{process::ApplicationHost, running::run_as_written};

/// This application, which so many threads ask; workers that leave may take so long to end.
pub fn application(
    name: String,
    application: &OsStr,
    options: ApplicationOptions,
    threads: usize,
    grace: Duration,
    host: &ApplicationHost,
) -> Result<Application, SettingError> {
    checks::application(application.to_str(), &options)?;
    let (choice, folder, application) = find(application, &options)?;
    let interface = interface(choice);
    let interpreter = match &options.interpreter {
        Some(words) => Interpreter::from_command(words.split_whitespace()),
        None => Interpreter::of(interface, &folder),
    };
    let program = Program { interface, application, interpreter };
    checks::interface(&options, choice)?;
    let mut settings = ApplicationSettings::new(name, program, folder);
    settings.run.processes = NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN);
    run_as_written(&mut settings.run, &options, grace, host);
    if let Some(threads) = options.threads {
        settings.concurrency = NonZero::new(threads.in_memory()).unwrap_or(NonZero::<usize>::MIN);
    }
    if let Some(root) = &options.root_path {
        // A path without an end slash; `/` is none.
        settings.root_path = root.trim_end_matches('/').to_owned();
    }
    settings.request_start = options.request_start;
    settings.detects_asgi = options.interface == InterfaceChoice::Auto;
    settings.preload = options.preload;
    settings.out_of_band_gc = options.out_of_band_gc.map(Count::get);
    settings.refork_after = options.refork_after.iter().map(|count| count.get().into()).collect();
    settings.websocket = websocket(&options);
    settings.development = options.dev;
    Ok(Application::Bridged(serow_apps::Application::new(settings, threads)))
}

/// The interface of a choice that names one; `auto` has been decided.
fn interface(choice: InterfaceChoice) -> Interface {
    match choice {
        InterfaceChoice::Rack => Interface::Rack,
        InterfaceChoice::Psgi => Interface::Psgi,
        InterfaceChoice::Wsgi | InterfaceChoice::Auto => Interface::Wsgi,
        InterfaceChoice::Asgi => Interface::Asgi,
        InterfaceChoice::PhpWorker => Interface::PhpWorker,
    }
}

/// How WebSockets are carried.
fn websocket(options: &ApplicationOptions) -> WebSocketSettings {
    let usual = WebSocketSettings::default();
    WebSocketSettings {
        ping: options.websocket_ping.map_or(usual.ping, |ping| ping.0),
        message: options.max_message.map_or(usual.message, Size::in_memory),
        compression: options.websocket_compression.unwrap_or(usual.compression),
    }
}

/// Whether this is the name of a module in this folder, which has an application of the usual name.
fn is_module_file(text: &str, folder: &Path) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let path = folder.join(text.replace('.', "/"));
    text.split('.').all(is_name) && (path.with_extension("py").is_file() || path.join("__init__.py").is_file())
}

/// Whether this names a module of Python, as in `shop.wsgi` or `shop:app`, and not a file in this folder.
#[must_use]
pub fn is_module(text: &str, options: &ApplicationOptions, folder: &Path) -> bool {
    let is_python = match options.interface {
        InterfaceChoice::Wsgi | InterfaceChoice::Asgi => true,
        InterfaceChoice::Rack | InterfaceChoice::Psgi | InterfaceChoice::PhpWorker => false,
        InterfaceChoice::Auto => match interface_by_name(text) {
            Some(interface) => matches!(interface, InterfaceChoice::Wsgi | InterfaceChoice::Asgi),
            None => is_module_file(text, &folder.join(options.chdir.as_deref().unwrap_or(Path::new("")))),
        },
    };
    // A file for mod_wsgi, or the module `wsgi` of a package.
    let has_extension = text.ends_with(".py") || text.ends_with(".wsgi") && folder.join(text).is_file();
    let is_file = has_extension || text.contains('/') && !text.contains(':');
    is_python && !is_file
}

/// How to run a file that is a program which serves HTTP itself.
fn program_instead(text: &str, folder: &Path) -> String {
    let path = folder.join(text);
    let uses_mojolicious = || std::fs::read_to_string(&path).is_ok_and(|text| text.contains("Mojolicious"));
    let words = match Path::new(text).extension().and_then(OsStr::to_str) {
        Some("js" | "mjs" | "cjs") => format!("node {text}"),
        Some("ts") => format!("npx tsx {text}"),
        Some("go") => format!("go run {text}"),
        Some("rb") => format!("ruby {text}"),
        Some("pl") if uses_mojolicious() => format!("perl {text} daemon -l http://127.0.0.1:{{port}}"),
        Some("pl") => format!("perl {text}"),
        _ if !path.exists() => return format!("here is neither a file {text} nor a module {text}.py"),
        _ if text.contains('/') => text.to_owned(),
        _ => format!("./{text}"),
    };
    format!("a program that serves HTTP itself is run by: serow app -- {words}")
}

/// By which interface, in which folder, and by which name there the application is called.
fn find(application: &OsStr, options: &ApplicationOptions) -> Result<(InterfaceChoice, PathBuf, String), SettingError> {
    let wrong = |text: String| SettingError::new("application", text);
    let Some(text) = application.to_str() else {
        return Err(wrong(format!("`application` {application:?} is not written in UTF-8: rename the file")));
    };
    let interface = match (options.interface, interface_by_name(text)) {
        (InterfaceChoice::Auto, Some(by_name)) => by_name,
        (InterfaceChoice::Auto, None) if is_module(text, options, Path::new("")) => InterfaceChoice::Wsgi,
        (InterfaceChoice::Auto, None) => {
            return Err(wrong(format!(
                "the interface of `application` {text:?} is unknown: name config.ru, app.psgi or module:callable, or write \
                 `interface`; {}",
                program_instead(text, options.chdir.as_deref().unwrap_or(Path::new("")))
            )));
        }
        (chosen, _) => chosen,
    };
    let path = Path::new(text);
    let is_module = is_module(text, options, Path::new(""));
    let folder_of_file = if is_module { Path::new("") } else { path.parent().unwrap_or(Path::new("")) };
    let folder = options.chdir.clone().unwrap_or_else(|| folder_of_file.to_owned());
    let folder = std::path::absolute(if folder.as_os_str().is_empty() { Path::new(".") } else { &folder })
        .and_then(|folder| folder.canonicalize())
        .map_err(|error| {
            SettingError::new("chdir", format!("the folder {} cannot be used: {error}", folder.display()))
        })?;
    if is_module {
        return Ok((interface, folder, text.to_owned()));
    }
    let file = path.canonicalize().map_err(|error| wrong(format!("`application` {text:?} cannot be read: {error}")))?;
    if file.is_dir() {
        return Err(wrong(format!("`application` {text:?} is a folder: name the file in it")));
    }
    // By the name it was given, where that is in the folder: people know it by that in backtraces.
    let name = file.strip_prefix(&folder).unwrap_or(&file);
    Ok((interface, folder, name.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serow_config::options::without_options;

    #[test]
    fn a_module_without_a_callable_is_found_by_its_file() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["wapp.py", "shop/__init__.py", "shop/web.py", "mojo.pl", "plain.pl", "server"] {
            let text = if file == "mojo.pl" { "use Mojolicious::Lite;" } else { "" };
            std::fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let options = ApplicationOptions { chdir: Some(folder.path().to_owned()), ..without_options() };
        for name in ["wapp", "shop", "shop.web"] {
            let (interface, _, application) = find(OsStr::new(name), &options).unwrap();
            assert_eq!((interface, &*application), (InterfaceChoice::Wsgi, name));
        }
        for (name, expected) in [
            ("wap", "here is neither a file wap nor a module wap.py"),
            ("mojo.pl", "serow app -- perl mojo.pl daemon -l http://127.0.0.1:{port}"),
            ("plain.pl", "serow app -- perl plain.pl"),
            ("server", "serow app -- ./server"),
        ] {
            let error = find(OsStr::new(name), &options).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}");
        }
    }
}
