//! The language of an application, and its interpreter.

use std::num::NonZero;

use crate::interpreter::Interpreter;

/// The program of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// By which interface the application is called.
    pub interface: Interface,
    /// The file of the application, or for Python `module:callable`.
    pub application: String,
    /// Its interpreter.
    pub interpreter: Interpreter,
}

/// How a server calls an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interface {
    /// Ruby's, 2 and 3.
    Rack,
    /// Perl's.
    Psgi,
    /// Python's (PEP 3333).
    Wsgi,
    /// Python's for asyncio.
    Asgi,
    /// PHP's: PSR-15, Symfony, Octane or a callable, in workers that load the application once.
    PhpWorker,
}

impl Interface {
    /// The interpreter's usual name.
    #[must_use]
    pub fn interpreter(self) -> &'static str {
        match self {
            Self::Rack => "ruby",
            Self::Psgi => "perl",
            Self::Wsgi | Self::Asgi => "python3",
            Self::PhpWorker => "php",
        }
    }

    /// How many requests a worker answers at a time where nothing else is set.
    #[must_use]
    pub fn concurrency(self) -> NonZero<usize> {
        match self {
            Self::Rack | Self::Psgi | Self::Wsgi | Self::PhpWorker => NonZero::<usize>::MIN,
            Self::Asgi => MAX_CONCURRENCY,
        }
    }

    /// Whether a worker handles its requests concurrently: it then gets further messages about them, and sends window
    /// updates.
    pub(crate) fn is_concurrent(self) -> bool {
        self == Self::Asgi
    }

    /// Its name in settings and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rack => "rack",
            Self::Psgi => "psgi",
            Self::Wsgi => "wsgi",
            Self::Asgi => "asgi",
            Self::PhpWorker => "php-worker",
        }
    }

    /// The interpreter's options that make it read the bridge from its standard input and run it.
    pub(crate) fn loader(self) -> &'static [&'static str] {
        match self {
            Self::Rack => &["-e", "eval(STDIN.sysread(262144), TOPLEVEL_BINDING, 'serow.rb')"],
            Self::Psgi => &[
                "-e",
                "binmode STDIN; sysread STDIN, my $code, 262144; eval qq{#line 1 \"serow.pl\"\\n$code}; die $@ if $@",
            ],
            Self::Wsgi | Self::Asgi => &["-c", PYTHON_LOADER],
            Self::PhpWorker => &PHP_LOADER,
        }
    }

    /// The interpreter's options that print its version, or what it lacks.
    pub(crate) fn version_arguments(self) -> [&'static str; 2] {
        match self {
            Self::Rack => ["-e", "require 'rack'; puts \"ruby #{RUBY_VERSION} with Rack #{Rack.release}\""],
            Self::Psgi => ["-e", "printf qq{perl %vd\\n}, $^V"],
            Self::Wsgi | Self::Asgi => ["-c", "import sys; print('Python', sys.version.split()[0])"],
            Self::PhpWorker => ["-r", PHP_VERSION],
        }
    }

    /// The code of the bridge.
    pub(crate) fn bridge(self) -> &'static str {
        match self {
            Self::Rack => concat!(
                include_str!("../bridges/ruby/serow.rb"),
                include_str!("../bridges/ruby/hooks.rb"),
                include_str!("../bridges/ruby/environment.rb"),
                include_str!("../bridges/ruby/response.rb"),
                include_str!("../bridges/ruby/hijack.rb"),
                include_str!("../bridges/ruby/worker.rb"),
                include_str!("../bridges/ruby/start.rb"),
            ),
            Self::Psgi => concat!(include_str!("../bridges/perl/serow.pl"), include_str!("../bridges/perl/psgi.pl")),
            Self::Wsgi => {
                concat!(
                    include_str!("../bridges/python/serow.py"),
                    include_str!("../bridges/python/wsgi_response.py"),
                    include_str!("../bridges/python/wsgi.py")
                )
            }
            Self::Asgi => {
                concat!(
                    include_str!("../bridges/python/serow.py"),
                    include_str!("../bridges/python/asgi_body.py"),
                    include_str!("../bridges/python/asgi_reply.py"),
                    include_str!("../bridges/python/asgi_exchange.py"),
                    include_str!("../bridges/python/asgi_http.py"),
                    include_str!("../bridges/python/asgi_websocket.py"),
                    include_str!("../bridges/python/asgi_lifespan.py"),
                    include_str!("../bridges/python/asgi.py"),
                )
            }
            Self::PhpWorker => concat!(
                include_str!("../bridges/php/serow.php"),
                include_str!("../bridges/php/worker.php"),
                include_str!("../bridges/php/output.php"),
                include_str!("../bridges/php/ending.php"),
                include_str!("../bridges/php/exchange.php"),
                include_str!("../bridges/php/response.php"),
                include_str!("../bridges/php/request.php"),
                include_str!("../bridges/php/body.php"),
                include_str!("../bridges/php/form.php"),
                include_str!("../bridges/php/multipart.php"),
                include_str!("../bridges/php/application.php"),
                include_str!("../bridges/php/plain.php"),
                include_str!("../bridges/php/psr.php"),
                include_str!("../bridges/php/symfony.php"),
                include_str!("../bridges/php/octane.php"),
                include_str!("../bridges/php/state.php"),
                include_str!("../bridges/php/start.php"),
            ),
        }
    }
}

/// Requests in flight in one event loop: one connection of a browser has up to 100, and memory sets the limit.
const MAX_CONCURRENCY: NonZero<usize> = NonZero::new(1000).unwrap();

/// The first statement after the imports keeps modules of the bridge from being found in the application's folder.
///
/// Older versions could not parse the bridge, so this reports them after reading all of the input: unread packets would
/// reach the other end as an error first.
const PYTHON_LOADER: &str = "import os, sys
sys.path[:] = [place for place in sys.path if place and os.path.realpath(place) != os.getcwd()]
code = os.read(0, 262144)
if sys.version_info < (3, 9):
    os.read(0, 262144)
    os.write(0, ('failed\\0Serow needs Python 3.9 or later, and this is ' + sys.version.split()[0]).encode())
    sys.exit(1)
exec(compile(code, 'serow.py', 'exec'), {'__name__': 'serow'})";

/// Messages of PHP go to standard error, and workers share compiled code where opcache is installed.
///
/// Streams would split a packet into pieces of 8 KiB and lose the rest, unless they are unbuffered.
const PHP_LOADER: [&str; 8] = [
    "-d",
    "display_errors=0",
    "-d",
    "log_errors=1",
    "-d",
    "opcache.enable_cli=1",
    "-r",
    "$serow = fopen('php://fd/0', 'r+');
stream_set_read_buffer($serow, 0);
$code = fread($serow, 262144);
$lack = PHP_VERSION_ID < 80100 ? 'Serow needs PHP 8.1 or later, and this is ' . PHP_VERSION : '';
foreach (['pcntl', 'sockets'] as $extension) {
    if ($lack === '' && !extension_loaded($extension)) {
        $lack = \"Serow's workers need the PHP extension $extension, which this php lacks: Debian's php-cli has it; elsewhere \"
            . \"install it (docker-php-ext-install pcntl sockets, apk add php-pcntl php-sockets, dnf install php-process)\";
    }
}
if ($lack !== '') {
    fread($serow, 262144);
    fwrite($serow, \"failed\\0$lack\");
    exit(1);
}
fclose($serow);
eval('?>' . $code);",
];

/// Prints the version, or the extensions that are missing.
const PHP_VERSION: &str = "$lacks = array_filter(['pcntl', 'sockets'], fn($name) => !extension_loaded($name));
if ($lacks) {
    fwrite(STDERR, 'this php lacks the extension ' . implode(' and the extension ', $lacks) . ', which workers need: install it');
    exit(1);
}
echo 'PHP ', PHP_VERSION, \"\\n\";";
