//! Python's applications that are run by the other one of its interfaces.

use crate::support::{Answering, Running, content, settings};
use serow_apps::{Application, Interface};
use serow_requirements::requires;

#[test]
fn the_wrong_interface_is_reported_at_load() {
    requires!("python:flask", "python:starlette");
    let cases = [
        (Interface::Wsgi, "async def app(scope, receive, send): pass"),
        (Interface::Wsgi, "class App:\n    async def __call__(self, scope, receive, send): pass\napp = App()"),
        (
            Interface::Wsgi,
            "import functools\nasync def made(a, scope, receive, send): pass\napp = functools.partial(made, 1)",
        ),
        (Interface::Wsgi, "from starlette.applications import Starlette\napp = Starlette()"),
        (Interface::Asgi, "def app(environ, start_response): pass"),
        (Interface::Asgi, "class App:\n    def __call__(self, environ, start_response): pass\napp = App()"),
        (Interface::Asgi, "class app:\n    def __init__(self, environ, start_response): pass"),
        (Interface::Asgi, "from flask import Flask\napp = Flask('app')"),
    ];
    for (interface, code) in cases {
        let other = match interface {
            Interface::Asgi => "app:app is a WSGI application: say --interface wsgi",
            _ => "app:app is an ASGI application: say --interface asgi",
        };
        for preload in [false, true] {
            let (mut settings, _folder) = settings(interface, "app.py", code);
            settings.preload = preload;
            let error = Application::new(settings, 1).run().unwrap_err().to_string();
            assert!(error.contains(other), "{code}, preload {preload}: {error}");
        }
    }
}

#[test]
fn ambiguous_callables_run_by_the_given_interface() {
    requires!("program:/usr/bin/python3");
    let wsgi = "start_response('200 OK', [])\n    return [b'well']";
    let cases = [
        (Interface::Wsgi, format!("def app(*arguments):\n    environ, start_response = arguments\n    {wsgi}")),
        (Interface::Wsgi, format!("def app(environ, start_response, more=None):\n    {wsgi}")),
        (Interface::Asgi, format!("{ASGI}app = lambda *arguments: answer(*arguments)")),
        (Interface::Asgi, format!("{ASGI}def app(scope, receive, send):\n    return answer(scope, receive, send)")),
        // A wrapped callable may be for the other interface.
        (
            Interface::Asgi,
            format!(
                "{ASGI}import functools\ndef inner(environ, start_response): pass\n\
                 app = functools.wraps(inner)(lambda *arguments: answer(*arguments))"
            ),
        ),
    ];
    for (interface, code) in cases {
        let running = Running::new(settings(interface, "app.py", &code));
        assert_eq!(crate::support::content(&running.get("/")), "well", "{code}");
    }
}

const ASGI: &str = "async def answer(scope, receive, send):
    assert scope['type'] == 'http'
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'well'})
";

/// Without a configured interface it is detected, also for handlers that were created before.
#[test]
fn an_application_of_asgi_is_called_by_that_where_the_interface_may_be_either() {
    requires!("program:/usr/bin/python3");
    let code = "async def app(scope, receive, send):\n    assert scope['type'] == 'http'\n    \
                await send({'type': 'http.response.start', 'status': 200})\n    \
                await send({'type': 'http.response.body', 'body': scope['path'].encode()})\n";
    for preload in [false, true] {
        let (mut settings, _folder) = settings(Interface::Wsgi, "app.py", code);
        (settings.detects_asgi, settings.preload) = (true, preload);
        let application = Application::new(settings, 1);
        let answering = Answering::new(application.handler());
        let _workers = application.run().unwrap();
        assert_eq!(application.settings().program.interface, Interface::Asgi);
        assert_eq!(application.settings().concurrency, Interface::Asgi.concurrency());
        assert_eq!(content(&answering.get("/path")), "/path");
        assert_eq!(application.counts().workers, 2);
        drop(answering);
    }
}

#[test]
fn an_application_of_wsgi_stays_one_where_the_interface_may_be_either() {
    requires!("program:/usr/bin/python3");
    let code = "def app(environ, start_response):\n    start_response('200 OK', [])\n    return [b'wsgi']\n";
    let (mut settings, folder) = settings(Interface::Wsgi, "app.py", code);
    settings.detects_asgi = true;
    let running = Running::new((settings, folder));
    assert_eq!(content(&running.get("/")), "wsgi");
    assert_eq!(running.application.settings().program.interface, Interface::Wsgi);
}
