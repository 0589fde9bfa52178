//! PHP's applications by PSR-7, PSR-15, Symfony and Octane, with the libraries that are installed.

use std::num::NonZero;

use crate::support::{Running, content, settings, wait_until};
use serow_apps::{Application, Interface};
use serow_requirements::requires;

fn run(code: &str) -> Running {
    let (mut settings, folder) = settings(Interface::PhpWorker, "app.php", code);
    settings.run.processes = NonZero::<usize>::MIN;
    Running::new((settings, folder))
}

const NYHOLM: &str = "require 'Nyholm/Psr7/autoload.php'; use Nyholm\\Psr7\\{Response, Stream};";
const GUZZLE: &str = "require 'GuzzleHttp/Psr7/autoload.php'; use GuzzleHttp\\Psr7\\{Response, Stream};";
const SYMFONY: &str = "require 'Symfony/Component/HttpKernel/autoload.php';
use Symfony\\Component\\HttpFoundation\\{Request, Response, StreamedResponse, BinaryFileResponse, Cookie, JsonResponse};
use Symfony\\Component\\HttpKernel\\{HttpKernelInterface, TerminableInterface};";

/// A handler as PSR-15 has it; Debian has no package with the interface.
const HANDLER: &str = r#"
namespace Psr\Http\Server {
    interface RequestHandlerInterface { public function handle(\Psr\Http\Message\ServerRequestInterface $request): \Psr\Http\Message\ResponseInterface; }
}
namespace {
    LIBRARY
    return new class implements Psr\Http\Server\RequestHandlerInterface {
        public function handle(\Psr\Http\Message\ServerRequestInterface $request): \Psr\Http\Message\ResponseInterface {
            BODY
        }
    };
}"#;

const PSR_BODY: &str = r#"
    $long = str_repeat('0123456789', 100_000);
    switch ($request->getUri()->getPath()) {
        case '/long': return new Response(200, [], $long);
        case '/file': file_put_contents('long.txt', $long); return new Response(200, [], fopen('long.txt', 'r'));
        case '/pipe': return new Response(200, [], popen('printf piped', 'r'));
        case '/cookies': return new Response(404, ['Set-Cookie' => ['a=1', 'b=2']], '');
        case '/wrong': return 'text';
    }
    $fields = ['x-one' => $request->getHeaderLine('X-One'), 'type' => $request->getHeaderLine('Content-Type')];
    return new Response(200, ['Content-Type' => 'application/json'], json_encode([
        $request->getMethod(), (string) $request->getUri(), $request->getProtocolVersion(), $fields, $request->getQueryParams(),
        $request->getCookieParams(), $request->getParsedBody(), (string) $request->getBody(),
        $request->getServerParams()['REMOTE_ADDR'], $request->getRequestTarget()], JSON_UNESCAPED_SLASHES));
"#;

#[test]
fn psr_requests_reach_handlers_and_functions() {
    requires!(
        "program:php",
        "file:/usr/share/php/Nyholm/Psr7/autoload.php",
        "file:/usr/share/php/GuzzleHttp/Psr7/autoload.php"
    );
    for library in [NYHOLM, GUZZLE] {
        let handler = HANDLER.replace("LIBRARY", library).replace("BODY", PSR_BODY);
        let function = format!(
            "{library} return function (Psr\\Http\\Message\\ServerRequestInterface $request) {{ {PSR_BODY} }};"
        );
        for code in [handler, function] {
            let is_function = !code.contains("interface RequestHandlerInterface");
            let running = run(&format!("<?php {code}"));
            let head = "Host: a.example:81\r\nConnection: close\r\nX-One: 1\r\nX-One: 2\r\nCookie: a=1; b=x%20y+; a=2";
            let form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 13";
            let answer =
                running.exchange(format!("POST /x%20y?d[]=1 HTTP/1.1\r\n{head}\r\n{form}\r\n\r\nf=1&g[h]=2+3&"));
            let expected = r#"["POST","http://a.example:81/x%20y?d[]=1","1.1",{"x-one":"1, 2","type":"application/x-www-form-urlencoded"},{"d":["1"]},{"a":"1","b":"x y+"},{"f":"1","g":{"h":"2 3"}},"f=1&g[h]=2+3&","127.0.0.1","/x%20y?d[]=1"]"#;
            assert_eq!(content(&answer).replace("d%5B%5D", "d[]"), expected, "{library}");
            let long = "0123456789".repeat(100_000);
            for path in ["/long", "/file"] {
                assert!(content(&running.get(path)) == long, "{library} {path}");
            }
            assert_eq!(content(&running.get("/pipe")), "piped", "{library}");
            let answer = running.get("/cookies");
            assert!(answer.starts_with("HTTP/1.1 404 ") && answer.contains("a=1\r\n") && answer.contains("b=2\r\n"));
            assert!(running.get("/wrong").starts_with("HTTP/1.1 500 "), "{library} {is_function}");
            let answer = running.exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            assert!(content(&answer).contains("\"*\"]"), "{library}: {answer}");
        }
    }
}

#[test]
fn symfony_requests_reach_kernels_and_functions() {
    requires!("program:php", "file:/usr/share/php/Symfony/Component/HttpKernel/autoload.php");
    let body = r#"
        $long = str_repeat('0123456789', 100_000);
        switch ($request->getPathInfo()) {
            case '/long': return new Response($long);
            case '/stream': return new StreamedResponse(function () use ($long) { foreach (str_split($long, 1000) as $part) { echo $part; } });
            case '/output': return new StreamedResponse(function () { ob_start(); echo 'a'; ob_end_flush(); fwrite(fopen('php://output', 'w'), 'b'); });
            case '/fails': return new StreamedResponse(function () { echo 'a'; throw new Exception('no'); });
            case '/file': file_put_contents('long.txt', $long); return (new BinaryFileResponse('long.txt', 200, ['Content-Type' => 'text/plain']))->prepare($request);
            case '/gone': file_put_contents('gone.txt', $long); return (new BinaryFileResponse('gone.txt', 200, ['Content-Type' => 'text/plain']))->deleteFileAfterSend()->prepare($request);
            case '/cookies': $response = new Response('', 404); $response->headers->setCookie(Cookie::create('a', '1')); $response->headers->setCookie(Cookie::create('b', '2')); return $response;
            case '/process': return new Response((string) getmypid());
            case '/endless': return new StreamedResponse(function () { try { while (true) { echo str_repeat('x', 1000); usleep(1000); } } finally { touch('ended'); } });
        }
        return new JsonResponse([$request->getMethod(), $request->getUri(), $request->query->all(), $request->request->all(),
            $request->cookies->all(), $request->getContent(), $request->getClientIp(), $request->getBasePath(), $request->headers->get('X-One')]);
    "#;
    let kernel = format!(
        "<?php {SYMFONY} return new class implements HttpKernelInterface, TerminableInterface {{
            public function handle(Request $request, $type = self::MAIN_REQUEST, $catch = true) {{ {body} }}
            public function terminate(Request $request, Response $response) {{ file_put_contents('terminated', '.', FILE_APPEND); }}
        }};"
    );
    let function = format!("<?php {SYMFONY} return function (Request $request): Response {{ {body} }};");
    for code in [kernel, function] {
        let running = run(&code);
        let head = "Host: a.example:81\r\nConnection: close\r\nX-One: 1\r\nCookie: a=1; b=x%20y";
        let form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 13";
        let answer = running.exchange(format!("POST /x%20y?d[]=1 HTTP/1.1\r\n{head}\r\n{form}\r\n\r\nf=1&g[h]=2+3&"));
        let expected = r#"["POST","http:\/\/a.example:81\/x%20y?d%5B0%5D=1",{"d":["1"]},{"f":"1","g":{"h":"2 3"}},{"a":"1","b":"x y"},"f=1\u0026g[h]=2+3\u0026","127.0.0.1","","1"]"#;
        assert_eq!(content(&answer), expected);
        let long = "0123456789".repeat(100_000);
        for path in ["/long", "/stream", "/file", "/gone"] {
            assert!(content(&running.get(path)) == long, "{path}");
        }
        assert!(!running.folder.path().join("gone.txt").exists());
        assert_eq!(content(&running.get("/output")), "ab");
        let range = "GET /file HTTP/1.1\r\nHost: a\r\nConnection: close\r\nRange: bytes=100003-300002\r\n\r\n";
        let answer = running.exchange(range);
        assert!(
            answer.starts_with("HTTP/1.1 206 ") && content(&answer) == long[100_003..300_003],
            "{}",
            &answer[..300]
        );
        assert!(!running.get("/fails").ends_with("0\r\n\r\n"));
        let answer = running.get("/cookies");
        assert!(
            answer.starts_with("HTTP/1.1 404 ") && answer.contains("a=1; path=/") && answer.contains("b=2; path=/")
        );
        let process = content(&running.get("/process"));
        drop(running.begin("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n"));
        wait_until("the stream has ended", || running.folder.path().join("ended").exists());
        assert_eq!(content(&running.get("/process")), process);
        assert_eq!(running.folder.path().join("terminated").exists(), code.contains("TerminableInterface {"));
    }
}

#[test]
fn mounted_symfony_applications_know_their_base_path() {
    requires!("program:php", "file:/usr/share/php/Symfony/Component/HttpKernel/autoload.php");
    let code = format!(
        "<?php {SYMFONY} return fn (Request $request) => new Response($request->getBasePath() . ' ' . $request->getPathInfo());"
    );
    let (mut settings, folder) = settings(Interface::PhpWorker, "app.php", &code);
    settings.root_path = "/shop".to_owned();
    let running = Running::new((settings, folder));
    for (target, expected) in [("/shop/cart", "/shop /cart"), ("/shop/", "/shop /")] {
        assert_eq!(content(&running.get(target)), expected, "{target}");
    }
}

/// `public/index.php` as Symfony's recipe has it, with the loader that symfony/runtime writes.
#[test]
fn the_front_controller_of_symfony_runtime_is_loaded_once() {
    requires!(
        "program:php",
        "file:/usr/share/php/Symfony/Component/HttpKernel/autoload.php",
        "file:/usr/share/php/Symfony/Component/Runtime/autoload.php"
    );
    let (mut settings, folder) = settings(Interface::PhpWorker, "unused.php", "");
    let vendor = folder.path().join("vendor");
    std::fs::create_dir_all(vendor.join("composer")).unwrap();
    std::fs::create_dir(folder.path().join("public")).unwrap();
    let autoload = "<?php require_once 'Symfony/Component/HttpKernel/autoload.php'; require_once 'Symfony/Component/Runtime/autoload.php';
require_once __DIR__ . '/composer/ClassLoader.php';
return new Composer\\Autoload\\ClassLoader();";
    let runtime =
        "<?php if (true === (require_once __DIR__.'/autoload.php') || empty($_SERVER['SCRIPT_FILENAME'])) { return; }
exit('this runs the application itself');";
    let loader = "<?php namespace Composer\\Autoload; class ClassLoader {}";
    let index = "<?php use Symfony\\Component\\HttpFoundation\\{Request, Response}; use Symfony\\Component\\HttpKernel\\HttpKernelInterface;
require_once dirname(__DIR__).'/vendor/autoload_runtime.php';
return function (array $context) {
    return new class($context['APP_ENV']) implements HttpKernelInterface {
        private int $count = 0;
        public function __construct(private string $environment) {}
        public function handle(Request $request, $type = 1, $catch = true): Response { return new Response($this->environment . ++$this->count); }
    };
};";
    for (name, text) in [
        ("vendor/autoload.php", autoload),
        ("vendor/autoload_runtime.php", runtime),
        ("vendor/composer/ClassLoader.php", loader),
        ("public/index.php", index),
        ("composer.json", "{}"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    settings.program.application = "public/index.php".to_owned();
    settings.run.processes = NonZero::<usize>::MIN;
    settings.run.environment.push(("APP_ENV".into(), "prod".into()));
    let running = Running::new((settings, folder));
    assert_eq!(content(&running.get("/")), "prod1");
    assert_eq!(content(&running.get("/")), "prod2");
}

/// Octane's classes as its documentation has them: the library is not in Debian.
const OCTANE: &str = r#"
namespace Illuminate\Contracts\Foundation { interface Application {} }
namespace Illuminate\Foundation { class Application implements \Illuminate\Contracts\Foundation\Application { function basePath() { return '/base'; } } }
namespace Illuminate\Http { class Request extends \Symfony\Component\HttpFoundation\Request { static function createFromBase($base) {
    return (new static)->duplicate($base->query->all(), $base->request->all(), [], $base->cookies->all(), [], $base->server->all()); } } }
"#;
const OCTANE_WORKER: &str = r#"
namespace Laravel\Octane\Contracts { interface Client {
    public function marshalRequest(\Laravel\Octane\RequestContext $context): array;
    public function respond(\Laravel\Octane\RequestContext $context, \Laravel\Octane\OctaneResponse $response): void;
    public function error(\Throwable $e, \Illuminate\Foundation\Application $app, \Illuminate\Http\Request $request, \Laravel\Octane\RequestContext $context): void;
} }
namespace Laravel\Octane {
    class RequestContext { function __construct(public array $data = []) {} }
    class OctaneResponse { function __construct(public $response, public ?string $outputBuffer = null) {} }
    class ApplicationFactory { function __construct(public string $basePath) {} }
    class Worker {
        private bool $booted = false;
        function __construct(private ApplicationFactory $factory, private Contracts\Client $client) {}
        function boot() { $this->booted = true; }
        function handle(\Illuminate\Http\Request $request, RequestContext $context) {
            try {
                if ($request->getPathInfo() === '/fails') { throw new \Exception('no'); }
                $text = $this->factory->basePath . ' ' . $request->getPathInfo() . ' ' . json_encode($this->booted);
                $this->client->respond($context, new OctaneResponse(new \Symfony\Component\HttpFoundation\Response($text), 'printed'));
                file_put_contents('terminated', '.', FILE_APPEND);
            } catch (\Throwable $e) {
                $this->client->error($e, new \Illuminate\Foundation\Application(), $request, $context);
            }
        }
        function terminate() {}
    }
}
"#;

#[test]
fn laravel_runs_with_octane_only() {
    requires!("program:php", "file:/usr/share/php/Symfony/Component/HttpKernel/autoload.php");
    let code = |octane: &str| {
        let require = "namespace { require 'Symfony/Component/HttpKernel/autoload.php'; }";
        format!("<?php {require} {OCTANE} {octane} namespace {{ return new Illuminate\\Foundation\\Application(); }}")
    };
    let running = run(&code(OCTANE_WORKER));
    assert_eq!(content(&running.get("/page")), "/base /page true");
    assert!(running.get("/fails").starts_with("HTTP/1.1 500 "));
    assert_eq!(content(&running.get("/page")), "/base /page true");
    let (settings, _folder) = settings(Interface::PhpWorker, "app.php", &code(""));
    let error = Application::new(settings, 1).run().unwrap_err().to_string();
    assert!(error.contains("composer require laravel/octane"), "{error}");
}

#[test]
fn a_missing_library_is_reported_with_its_package() {
    requires!("program:php");
    let code = "<?php
namespace Psr\\Http\\Message { interface ServerRequestInterface {} interface RequestInterface {} interface Mine extends RequestInterface {} }
namespace { return fn (Psr\\Http\\Message\\Mine $request) => 1; }";
    let (settings, _folder) = settings(Interface::PhpWorker, "app.php", code);
    let error = Application::new(settings, 1).run().unwrap_err().to_string();
    assert!(error.contains("composer require nyholm/psr7"), "{error}");
}
