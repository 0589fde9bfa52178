//! Applications in Python: Django, and modules that create an application of a known framework at their top level.

use std::path::Path;

use super::{
    applications::{FoundApplication, Start},
    text_file::text_of,
};

/// Django, or else the first module with an application.
pub(super) fn applications(folder: &Path) -> Option<FoundApplication> {
    django(folder).or_else(|| {
        MODULES.into_iter().find_map(|module| {
            let file = format!("{module}.py");
            let text = text_of(&folder.join(&file))?;
            let name = callable(&text)?;
            let start = Start::Application(format!("{module}:{name}"));
            Some(FoundApplication::new(&file, "a Python application", start))
        })
    })
}

/// `manage.py` names the settings, and `startproject` has put `wsgi.py` and `asgi.py` beside them.
fn django(folder: &Path) -> Option<FoundApplication> {
    let text = text_of(&folder.join("manage.py"))?;
    let (_, behind) = text.split_once("DJANGO_SETTINGS_MODULE")?;
    // Behind the name's own quote and the comma.
    let line = behind.lines().next()?.trim_start_matches(['\'', '"']);
    let (_, value) = line.split_once(['\'', '"'])?;
    let (settings, _) = value.split_once(['\'', '"'])?;
    let package = settings.split(".settings").next().filter(|package| is_module(package))?;
    let interface = ["wsgi", "asgi"].into_iter().find(|name| {
        let path = package.replace('.', "/");
        folder.join(path).join(format!("{name}.py")).is_file()
    })?;
    let start = Start::Application(format!("{package}.{interface}:application"));
    Some(FoundApplication::new("manage.py", DJANGO, start))
}

fn is_module(name: &str) -> bool {
    let is_name = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    name.split('.').all(|part| !part.is_empty() && is_name(part))
}

/// The name of an application that is created at the top level of a module: one in a function is another matter.
fn callable(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let definition = line.strip_prefix("async def ").or_else(|| line.strip_prefix("def "));
        if let Some((name, arguments)) = definition.and_then(|definition| definition.split_once('(')) {
            let interface = ["environ, start_response", "scope, receive, send"];
            return interface.iter().any(|expected| arguments.starts_with(expected)).then_some(name.trim());
        }
        let (name, value) = line.split_once('=')?;
        let (name, value) = (name.split(':').next()?.trim_end(), value.trim_start());
        let (constructor, _) = value.split_once('(')?;
        let constructor = constructor.rsplit('.').next()?;
        (is_module(name) && !name.contains('.') && CONSTRUCTORS.contains(&constructor)).then_some(name)
    })
}

/// How a Django project is called.
pub(super) const DJANGO: &str = "a Django application";

/// In the order in which they are looked at.
const MODULES: [&str; 4] = ["wsgi", "asgi", "app", "main"];

/// Calls that create a WSGI or ASGI application in Flask, FastAPI, Starlette, Quart, Litestar, Bottle, Falcon and
/// Django.
const CONSTRUCTORS: [&str; 9] = [
    "Flask",
    "FastAPI",
    "Starlette",
    "Quart",
    "Litestar",
    "Bottle",
    "App",
    "get_wsgi_application",
    "get_asgi_application",
];
