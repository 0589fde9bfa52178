//! Applications below a path, in each language.

use crate::support::{Running, content, settings};
use serow_apps::Interface;
use serow_requirements::requires;

const RACK: &str = r"
require 'rack/lint'
use Rack::Lint
run ->(env) { [200, {}, [env.values_at('SCRIPT_NAME', 'PATH_INFO', 'REQUEST_URI').join(' ')]] }
";

const PSGI: &str = r#"
use Plack::Middleware::Lint;
Plack::Middleware::Lint->wrap(sub {
    my $env = shift;
    [200, ['Content-Type' => 'text/plain'], [join ' ', map { $env->{$_} } qw(SCRIPT_NAME PATH_INFO REQUEST_URI)]];
});
"#;

const WSGI: &str = r"
from wsgiref.validate import validator

@validator
def app(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [' '.join(environ[name] for name in ('SCRIPT_NAME', 'PATH_INFO', 'REQUEST_URI')).encode()]
";

/// The path includes the root, and frameworks route by the rest.
const ASGI: &str = r"
async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        return
    root, path = scope['root_path'], scope['path']
    await send({'type': 'http.response.start', 'status': 200})
    words = (root, path.removeprefix(root), scope['raw_path'].decode())
    await send({'type': 'http.response.body', 'body': ' '.join(words).encode()})
";

/// As php-fpm has it, the name of the script is below the root.
const PHP: &str = "<?php return fn (array $server): string =>
    dirname($server['SCRIPT_NAME']) . \" $server[PATH_INFO] $server[REQUEST_URI]\";";

#[test]
fn mounted_applications_get_their_root_path() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    let applications = [
        (Interface::Rack, "config.ru", RACK),
        (Interface::Psgi, "app.psgi", PSGI),
        (Interface::Wsgi, "application.py", WSGI),
        (Interface::Asgi, "application.py", ASGI),
        (Interface::PhpWorker, "app.php", PHP),
    ];
    for (interface, file, code) in applications {
        let (mut settings, folder) = settings(interface, file, code);
        settings.root_path = "/shop".to_owned();
        let running = Running::new((settings, folder));
        let below = [("/shop/cart", "/cart"), ("/shop", ""), ("/shop/", "/"), ("/%73hop/x", "/x"), ("/sho%70", "")];
        for (target, path) in below {
            assert_eq!(content(&running.get(target)), format!("/shop {path} {target}"), "{interface:?}");
        }
        // A proxy has removed the root; the path of ASGI has it nevertheless.
        let removed = if interface == Interface::Asgi { "/shop" } else { "" };
        for target in ["/shops", "/", "/SHOP/", "/a/shop/"] {
            assert_eq!(content(&running.get(target)), format!("/shop {target} {removed}{target}"), "{interface:?}");
        }
        assert_eq!(content(&running.post("/shop/x", b"abc")), "/shop /x /shop/x", "{interface:?}");
    }
}
