//! PHP's applications that are functions, by the php that is installed.

use std::{collections::BTreeSet, fs, num::NonZero};

use crate::support::{Running, body, content, settings, wait_until};
use serow_apps::{Application, Interface};
use serow_requirements::requires;

fn run(code: &str) -> Running {
    Running::new(settings(Interface::PhpWorker, "app.php", code))
}

/// The same with one worker, which is forked from a template process that has the application loaded.
fn run_one(code: &str) -> Running {
    let (mut settings, folder) = settings(Interface::PhpWorker, "app.php", code);
    (settings.run.processes, settings.preload) = (NonZero::<usize>::MIN, true);
    Running::new((settings, folder))
}

#[test]
fn requests_become_server_variables() {
    requires!("program:php");
    let running = run(r#"<?php
return function (array $server): string {
    ksort($server);
    $lines = '';
    foreach ($server as $name => $value) {
        $lines .= "$name=$value\n";
    }
    return $lines;
};
"#);
    let head = "Host: [::1]:81\r\nX-One: 1\r\nX-One: 2\r\nX_One: 3\r\nProxy: evil\r\nCookie: a=1\r\nCookie: b=2\r\nContent-Type: a/b";
    let answer = running.exchange(format!("PUT /a%20b%2Fc%ff%zz%C3%A9?d=%20 HTTP/1.0\r\n{head}\r\n\r\n"));
    let changing = ["REMOTE_PORT=", "REQUEST_TIME", "DOCUMENT_ROOT=", "SCRIPT_FILENAME="];
    let lines: Vec<_> =
        body(&answer).lines().filter(|line| !changing.iter().any(|name| line.starts_with(name))).collect();
    let expected = [
        "CONTENT_TYPE=a/b",
        "GATEWAY_INTERFACE=CGI/1.1",
        "HTTP_COOKIE=a=1; b=2",
        "HTTP_HOST=[::1]:81",
        "HTTP_X_ONE=1, 2",
        "PATH_INFO=/a b/c\u{fffd}%zzé",
        "PHP_SELF=/app.php",
        "QUERY_STRING=d=%20",
        "REMOTE_ADDR=127.0.0.1",
        "REQUEST_METHOD=PUT",
        "REQUEST_SCHEME=http",
        "REQUEST_URI=/a%20b%2Fc%ff%zz%C3%A9?d=%20",
        "SCRIPT_NAME=/app.php",
        "SERVER_ADDR=127.0.0.1",
        "SERVER_NAME=[::1]",
        "SERVER_PORT=81",
        "SERVER_PROTOCOL=HTTP/1.0",
        "SERVER_SOFTWARE=Serow",
    ];
    assert_eq!(lines, expected);
    let answer = running.exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(body(&answer).contains("\nPATH_INFO=\n") && body(&answer).contains("\nREQUEST_URI=*\n"), "{answer}");
    let answer = running.get("/%00\"%22;?");
    assert!(body(&answer).contains("\nPATH_INFO=/\0\"\";\n"), "{answer}");
}

#[test]
fn bodies_reach_the_application_and_can_be_read_again() {
    requires!("program:php");
    let running = run(r#"<?php
return function (array $server, Serow\Body $body): string {
    $stream = $body->stream();
    $first = stream_get_contents($stream);
    $same = $first === (string) $body && $first === stream_get_contents($body->stream()) ? 'same' : 'other';
    return ($server['CONTENT_LENGTH'] ?? 'none') . ' ' . strlen($first) . " $same " . $first;
};
"#);
    assert_eq!(body(&running.get("/")), "none 0 same ");
    assert_eq!(body(&running.post("/", b"")), "0 0 same ");
    assert_eq!(body(&running.post("/", b"a\0b\nc")), "5 5 same a\0b\nc");
    let chunked =
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(body(&running.exchange(chunked)), "3 3 same abc");
    for length in [65_536, 65_537, 300_000] {
        let answer = running.post("/", &vec![b'x'; length]);
        assert!(content(&answer).starts_with(&format!("{length} {length} same xxx")), "{}", &answer[..200]);
    }
}

#[test]
fn files_that_are_no_applications_are_refused_with_a_reason() {
    requires!("program:php");
    for (code, expected) in [
        ("<?php\nthrow new Exception('no');", "Exception: no in "),
        ("<?php\nfunction {", "ParseError"),
        ("<?php\nmissing();", "undefined function missing()"),
        ("<?php echo 'hello';", "app.php returns nothing and prints 5 bytes"),
        ("<html>hello</html>", "app.php returns nothing and prints 18 bytes"),
        ("<?php return 'phpinfo';", "returns a value of type string"),
        ("<?php return new stdClass();", "returns an object of stdClass"),
        ("<?php return fn (int $number) => 'x';", "an object of Closure"),
        ("<?php exit('bye');", "exit() or die() was called"),
        ("<?php trigger_error('enough', E_USER_ERROR);", "Fatal error: enough in "),
        ("<?php ini_set('memory_limit', '8M'); while (true) $all[] = str_repeat('x', 100000);", "Allowed memory size"),
    ] {
        for preload in [false, true] {
            let (mut settings, _folder) = settings(Interface::PhpWorker, "app.php", code);
            settings.preload = preload;
            let error = Application::new(settings, 1).run().unwrap_err().to_string();
            assert!(error.contains(expected), "{code} {preload}: {error}");
            let is_of_script = error.contains("an application that is loaded once");
            assert!(!is_of_script || error.contains("leave out `interface`"), "{error}");
        }
    }
}

#[test]
fn invalid_responses_are_errors_and_the_worker_continues() {
    requires!("program:php");
    let running = run_one(
        r#"<?php
return function (array $server) {
    return match (substr($server['PATH_INFO'], 1)) {
        'throw' => throw new RuntimeException('no'),
        'number' => 42, 'nothing' => null, 'pair' => [200, []], 'status' => ['200', [], ''], 'low' => [99, [], ''],
        'early' => [103, [], ''], 'high' => [1000, [], ''], 'line' => [200, ['X' => "a\r\nb: c"], ''],
        'nul' => [200, ['X' => "a\0b\0c"], ''], 'name' => [200, ["X\0Y" => 'a'], ''], 'empty' => [200, ['' => 'a'], ''],
        'list' => [200, ['a'], ''], 'nested' => [200, ['X' => [['a']]], ''], 'object' => [200, [], new stdClass()],
        'huge' => [200, ['X' => str_repeat('x', 300000)], ''], 'pieces' => [200, [], [1, 2]],
        'generator' => (function () { yield 'x'; })(), 'hollow' => (function () { return; yield; })(),
        default => (string) getmypid(),
    };
};
"#,
    );
    let process = content(&running.get("/"));
    let kinds =
        "throw number nothing pair status low early high line nul name empty list nested object huge generator hollow";
    for kind in kinds.split(' ') {
        let answer = running.get(&format!("/{kind}"));
        let expected = if kind == "line" { "HTTP/1.1 502 " } else { "HTTP/1.1 500 " };
        assert!(answer.starts_with(expected), "{kind}: {answer}");
        assert_eq!(content(&running.get("/")), process, "after {kind}");
    }
    // Its head has been sent.
    assert!(!running.get("/pieces").ends_with("0\r\n\r\n"));
    assert_eq!(content(&running.get("/")), process);
}

/// Each costs its own request only, and the worker, which is replaced.
#[test]
fn a_request_that_ends_the_process_gets_500_and_the_worker_is_replaced() {
    requires!("program:php");
    for preload in [false, true] {
        let code = r#"<?php
register_shutdown_function(fn () => file_put_contents('shutdown', "own\n", FILE_APPEND));
return function (array $server) {
    $path = $server['PATH_INFO'];
    ini_set('memory_limit', '16M');
    $path !== '/exit' || exit(3);
    $path !== '/die' || die('text');
    $path !== '/fatal' || trigger_error('enough', E_USER_ERROR);
    $path !== '/memory' || str_repeat('x', 100_000_000);
    $path !== '/missing' || require 'missing.php';
    $path !== '/syntax' || eval('class A implements NotThere {}');
    if ($path === '/late') {
        return (function () { yield [200, []]; yield 'begun'; exit; })();
    }
    return (string) getmypid();
};
"#;
        let (mut settings, folder) = settings(Interface::PhpWorker, "app.php", code);
        (settings.run.processes, settings.preload, settings.development) = (NonZero::<usize>::MIN, preload, true);
        let running = Running::new((settings, folder));
        for (path, reason, is_replaced) in [
            ("exit", "exit() or die() was called", true),
            ("die", "exit() or die() was called", true),
            ("fatal", "Fatal error: enough", true),
            ("memory", "Allowed memory size of 16777216 bytes exhausted", true),
            ("missing", "Failed opening required", false),
            ("syntax", "not found", false),
        ] {
            let process = content(&running.get("/"));
            let answer = running.get(&format!("/{path}"));
            assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains(reason), "{path}: {answer}");
            let after = content(&running.get("/"));
            assert!(after.parse::<u32>().is_ok() && (!is_replaced || after != process), "{path}: {process} {after}");
        }
        let answer = running.get("/late");
        assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
        assert!(content(&running.get("/")).parse::<u32>().is_ok());
    }
}

#[test]
fn all_kinds_of_bodies_arrive_whole() {
    requires!("program:php");
    let running = run(r#"<?php
$long = implode(' ', range(1_000_000, 1_124_999)) . ' ';
file_put_contents('long.txt', $long);
return function (array $server) use ($long) {
    $file = fopen('long.txt', 'r');
    $filtered = fopen('long.txt', 'r');
    stream_filter_append($filtered, 'string.rot13');
    switch ($server['PATH_INFO']) {
        case '/string': return [200, [], $long];
        case '/length': return [200, ['content-length' => strlen($long)], $long];
        case '/short': return [200, ['Content-Length' => '8'], $long];
        case '/list': return [200, [], str_split($long, 100_000)];
        case '/generator': return (function () use ($long) { yield [200, []]; yield from str_split($long, 7_000); })();
        case '/body': return [200, [], (function () use ($long) { yield ''; yield $long; })()];
        case '/file': return [200, [], $file];
        case '/rest': fread($file, 8); return [200, [], $file];
        case '/filtered': return [200, [], $filtered];
        case '/small': return [200, [], fopen('data:,small', 'r')];
        case '/proc': return [200, [], fopen('/proc/self/comm', 'r')];
        case '/pipe': return [200, [], popen('cat long.txt', 'r')];
        case '/none': return [204, [], null];
        case '/cached': return [304, ['ETag' => '"a"'], 'x'];
    }
};
"#);
    let long: String = (1_000_000..1_125_000).map(|number| format!("{number} ")).collect();
    for path in ["string", "length", "list", "generator", "body", "file", "filtered", "pipe"] {
        let answer = running.get(&format!("/{path}"));
        assert!(content(&answer) == long, "{path}: {}", &answer[..answer.len().min(300)]);
    }
    assert_eq!(content(&running.get("/short")), "1000000 ");
    assert!(content(&running.get("/rest")) == long[8..]);
    assert_eq!(content(&running.get("/small")), "small");
    assert!(!content(&running.get("/proc")).is_empty());
    for (path, status) in [("none", "204"), ("cached", "304")] {
        let answer = running.get(&format!("/{path}"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.ends_with("\r\n\r\n"), "{answer}");
    }
    let answer = running.exchange("HEAD /file HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(answer.contains("content-length: 1000000\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn fields_may_repeat_and_have_any_bytes() {
    requires!("program:php");
    let running = run(r#"<?php
return fn (array $server): array => [299, ['Set-Cookie' => ['a=1', 'b=2'], 'X-Bytes' => "\xff\xfe", 'X-Number' => 7, 'X-Echo' => $server['HTTP_X_ECHO']], "\0\xff"];
"#);
    let answer = running.exchange_bytes(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Echo: \xe4\xfc\r\n\r\n");
    let has = |part: &[u8]| answer.windows(part.len()).any(|window| window == part);
    for part in [
        &b"HTTP/1.1 299 "[..],
        b"a=1\r\n",
        b"b=2\r\n",
        b": \xff\xfe\r\n",
        b": 7\r\n",
        b": \xe4\xfc\r\n",
        b"\r\n\r\n\0\xff",
    ] {
        assert!(has(part), "{}: {}", part.escape_ascii(), answer.escape_ascii());
    }
}

/// A generator is destroyed, so that its `finally` runs.
#[test]
fn a_stream_ends_when_its_client_is_gone() {
    requires!("program:php");
    let running = run_one(
        r#"<?php
return function (array $server) {
    if ($server['PATH_INFO'] !== '/endless') {
        return (string) getmypid();
    }
    return (function () {
        try {
            yield [200, []];
            while (true) {
                yield str_repeat('x', 1000);
                usleep(1000);
            }
        } finally {
            touch('ended');
        }
    })();
};
"#,
    );
    let process = content(&running.get("/"));
    drop(running.begin("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n"));
    wait_until("the generator has ended", || running.folder.path().join("ended").exists());
    assert_eq!(content(&running.get("/")), process);
}

#[test]
fn workers_share_no_random_numbers_and_are_replaced_when_killed() {
    requires!("program:php");
    let (mut settings, folder) = settings(
        Interface::PhpWorker,
        "app.php",
        r#"<?php
mt_srand(1);
mt_rand();
return function (array $server) {
    if ($server['PATH_INFO'] === '/kill') {
        posix_kill(getmypid(), SIGKILL);
    }
    return getmypid() . ' ' . mt_rand();
};
"#,
    );
    settings.preload = true;
    let running = Running::new((settings, folder));
    let answers: BTreeSet<_> = (0..20).map(|_| content(&running.get("/"))).collect();
    let numbers: BTreeSet<_> = answers.iter().filter_map(|answer| answer.split(' ').nth(1)).collect();
    assert_eq!(numbers.len(), 20, "{answers:?}");
    for _ in 0..3 {
        assert!(running.post("/kill", b"").starts_with("HTTP/1.1 502 "));
        assert!(running.get("/").starts_with("HTTP/1.1 200 "));
    }
}

#[test]
fn in_development_changes_of_shared_state_are_restored() {
    requires!("program:php");
    let code = r#"<?php
date_default_timezone_set('Europe/Berlin');
return function (array $server) {
    if ($server['PATH_INFO'] === '/change') {
        chdir('/');
        date_default_timezone_set('Asia/Tokyo');
        ini_set('precision', '3');
        umask(0);
        ob_start();
        echo 'left open';
    }
    return implode(' ', [getcwd() === '/' ? 'root' : 'folder', date_default_timezone_get(), ini_get('precision'), umask(), ob_get_level()]);
};
"#;
    for development in [true, false] {
        let (mut settings, folder) = settings(Interface::PhpWorker, "app.php", code);
        (settings.run.processes, settings.development) = (NonZero::<usize>::MIN, development);
        let running = Running::new((settings, folder));
        let before = content(&running.get("/"));
        assert!(before.starts_with("folder Europe/Berlin 14 "), "{before}");
        assert_eq!(content(&running.get("/change")), "root Asia/Tokyo 3 0 2");
        let after = content(&running.get("/"));
        assert_eq!(after, if development { before } else { "root Asia/Tokyo 3 0 1".to_owned() });
    }
}

#[test]
fn reloads_load_changed_code() {
    requires!("program:php");
    let running = run("<?php return fn (array $server): string => 'old';");
    assert_eq!(content(&running.get("/")), "old");
    fs::write(running.folder.path().join("app.php"), "<?php return fn (array $server): string => 'new';").unwrap();
    running.reload().unwrap();
    assert_eq!(content(&running.get("/")), "new");
    fs::write(running.folder.path().join("app.php"), "<?php exit;").unwrap();
    assert!(running.reload().unwrap_err().contains("exit() or die()"));
    assert_eq!(content(&running.get("/")), "new");
}
