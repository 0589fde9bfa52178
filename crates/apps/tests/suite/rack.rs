//! Ruby's applications, by the ruby that is installed.

use std::time::Duration;

use crate::support::{Running, content, eventually, settings};
use serow_apps::{Application, Interface};
use serow_requirements::requires;

/// Every application is watched by Rack's own judge, which raises where anything is not as it should be.
fn run(code: &str) -> Running {
    Running::new(settings(Interface::Rack, "config.ru", &format!("require 'rack/lint'\nuse Rack::Lint\n{code}")))
}

#[test]
fn a_request_and_its_body_reach_the_application() {
    requires!("ruby:rack");
    let running = run(r#"
run ->(env) do
  [200, {'content-type' => 'text/plain'}, [env['REQUEST_METHOD'], ' ', env['PATH_INFO'], '?', env['QUERY_STRING'], ' ',
    env['HTTP_X_ONE'].to_s, ' ', env['HTTP_PROXY'].inspect, ' ', env['rack.input'].read]]
end
"#);
    assert_eq!(content(&running.get("/a%20b?c=d")), "GET /a%20b?c=d  nil ");
    let fields = "X-One: 1\r\nX-One: 2\r\nX_One: 3\r\nProxy: evil";
    let request =
        format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\nConnection: close\r\nContent-Length: 5\r\n\r\na\0b\0c");
    assert_eq!(content(&running.exchange(request)), "POST /? 1, 2 nil a\0b\0c");
    let chunks = "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n";
    let head =
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n";
    assert_eq!(content(&running.exchange([head, chunks].concat())), "POST /?  nil abcde");
    let long = vec![b'x'; 300_000];
    let answer = running.post("/", &long);
    assert_eq!(content(&answer).len(), "POST /?  nil ".len() + long.len());
}

#[test]
fn unusual_requests_get_valid_environments() {
    requires!("ruby:rack");
    let running = run(r#"
NAMES = %w[REQUEST_METHOD SCRIPT_NAME PATH_INFO QUERY_STRING SERVER_NAME SERVER_PORT SERVER_PROTOCOL HTTP_VERSION]
run ->(env) { [200, {}, [env.values_at(*NAMES).join(' ')]] }
"#);
    let port = running.address().port();
    let cases = [
        ("GET /%00%2F%C3%BC? HTTP/1.1\r\nHost: a", "GET  /%00%2F%C3%BC  a 80 HTTP/1.1 HTTP/1.1".to_owned()),
        ("OPTIONS * HTTP/1.1\r\nHost: a:81", "OPTIONS    a 81 HTTP/1.1 HTTP/1.1".to_owned()),
        ("GET / HTTP/1.1\r\nHost: [::1]:82", "GET  /  [::1] 82 HTTP/1.1 HTTP/1.1".to_owned()),
        ("GET / HTTP/1.0", format!("GET  /  localhost {port} HTTP/1.0 HTTP/1.0")),
        ("GET http://b:83/x?y HTTP/1.1\r\nHost: b:83", "GET  /x y b 83 HTTP/1.1 HTTP/1.1".to_owned()),
        ("PURGE /x HTTP/1.1\r\nHost: a\r\nVersion: 7", "PURGE  /x  a 80 HTTP/1.1 HTTP/1.1".to_owned()),
        ("HEAD /x HTTP/1.1\r\nHost: a", String::new()),
    ];
    for (request, expected) in cases {
        let answer = running.exchange(format!("{request}\r\nConnection: close\r\n\r\n"));
        assert_eq!(content(&answer), expected, "{request}: {answer}");
    }
}

/// Those that are kept are 256: requests of more shapes than that come and go, and each is seen as it is.
#[test]
fn unlimited_request_shapes_are_answered() {
    requires!("ruby:rack");
    let running = run(r#"
run ->(env) do
  names = env.keys.grep(/HTTP_X/).sort
  [200, {}, [env.values_at('REQUEST_METHOD', 'SERVER_PORT', 'CONTENT_LENGTH').join(' '), *names.map { |name| " #{name}=#{env[name]}" }]]
end
"#);
    for round in 0..2 {
        for number in (0..300).step_by(if round == 0 { 1 } else { 37 }) {
            let head = format!("GET / HTTP/1.1\r\nHost: a:{}\r\nX-{number}: {round}", 1 + number % 7);
            let answer = running.exchange(format!("{head}\r\nConnection: close\r\n\r\n"));
            assert_eq!(content(&answer), format!("GET {}  HTTP_X_{number}={round}", 1 + number % 7), "{answer}");
        }
    }
    // Whether a shape comes for the first time, is compiled, or is known: the environment is the same.
    let all = run(r#"
run ->(env) { [200, {}, [env.reject { |name, _| name =~ /\Arack\.|REMOTE_PORT/ }.sort.inspect, env.keys.sort.join(' ')]] }
"#);
    let fields = "Version: 7\r\nX-Some: a\r\nCookie: b\r\nContent-Length: 0\r\n";
    let request = format!("GET /path?query HTTP/1.1\r\nHost: a:81\r\n{fields}Connection: close\r\n\r\n");
    // Two workers, of which each sees it three times at least.
    let answers: Vec<_> = (0..12).map(|_| content(&all.exchange(&request))).collect();
    assert!(
        answers[0].contains("HTTP_X_SOME") && answers[0].contains(r#"["HTTP_VERSION", "HTTP/1.1"]"#),
        "{}",
        answers[0]
    );
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    // Characters of tokens with which Ruby's texts would begin code.
    let answer = running.exchange("M#$0' / HTTP/1.1\r\nHost: a\r\nX#$0'`|~%&*+^!: 1\r\nConnection: close\r\n\r\n");
    assert_eq!(content(&answer), "M#$0' 80  HTTP_X#$0'`|~%&*+^!=1", "{answer}");
    let fields: Vec<_> = (10..100).map(|number| format!("X-{number}: {number}")).collect();
    let expected: Vec<_> = (10..100).map(|number| format!(" HTTP_X_{number}={number}")).collect();
    let head =
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n{}", fields.join("\r\n"));
    assert_eq!(content(&running.exchange(format!("{head}\r\n\r\nabc"))), format!("POST 80 3{}", expected.concat()));
}

#[test]
fn a_failure_is_a_response_and_the_worker_goes_on() {
    requires!("ruby:rack");
    let running = run("n = 0\nrun ->(env) { raise 'no' if (n += 1) == 1; [200, {}, [\"#{n}\"]] }\n");
    let answers: Vec<_> = (0..6).map(|_| running.get("/")).collect();
    let count = |begin: &str| answers.iter().filter(|answer| answer.starts_with(begin)).count();
    // Each of the two workers fails once at most, whichever of them answers the rest.
    let failed = count("HTTP/1.1 500 ");
    assert!((1..=2).contains(&failed) && count("HTTP/1.1 200 ") == 6 - failed, "{answers:?}");
}

#[test]
fn crashed_workers_are_replaced_and_safe_requests_retried() {
    requires!("ruby:rack");
    let running = run(r#"
run ->(env) do
  path = env['PATH_INFO']
  if path == '/die' && !File.exist?('died')
    File.write('died', '')
    exit!(1)
  end
  exit!(1) if path == '/always'
  [200, {}, [path]]
end
"#);
    assert_eq!(content(&running.get("/die")), "/die");
    assert!(running.get("/always").starts_with("HTTP/1.1 502 "));
    assert!(running.post("/always", b"").starts_with("HTTP/1.1 502 "));
    assert_eq!(content(&running.get("/well")), "/well");
}

#[test]
fn a_worker_that_takes_too_long_is_replaced() {
    requires!("ruby:rack");
    let (mut settings, folder) = settings(
        Interface::Rack,
        "config.ru",
        "run ->(env) { sleep if env['PATH_INFO'] == '/hang'; [200, {}, ['.']] }",
    );
    settings.run.timeout = Duration::from_secs(1);
    let running = Running::new((settings, folder));
    assert!(running.get("/hang").starts_with("HTTP/1.1 504 "));
    assert_eq!(content(&running.get("/")), ".");
}

#[test]
fn load_errors_have_a_backtrace() {
    requires!("ruby:rack");
    for (code, expected) in [("run no_such_thing\n", "no_such_thing"), ("(", "config.ru")] {
        let (settings, _folder) = settings(Interface::Rack, "config.ru", code);
        let error = Application::new(settings, 1).run().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn new_code_takes_over_and_broken_code_does_not() {
    requires!("ruby:rack");
    let running = run("run ->(env) { [200, {}, ['one']] }\n");
    let file = running.folder.path().join("config.ru");
    std::fs::write(&file, "raise 'broken'").unwrap();
    assert!(running.reload().unwrap_err().contains("broken"));
    assert_eq!(content(&running.get("/")), "one");
    std::fs::write(&file, "run ->(env) { [200, {}, ['two']] }\n").unwrap();
    running.reload().unwrap();
    assert_eq!(content(&running.get("/")), "two");
}

#[test]
fn the_spawn_interval_separates_starts() {
    requires!("ruby:rack");
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", "run ->(env) { [200, {}, ['.']] }");
    settings.run.spawn_interval = Duration::from_millis(300);
    let began = std::time::Instant::now();
    let running = Running::new((settings, folder));
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!((running.application.counts().workers, &*content(&running.get("/"))), (2, "."));
}

#[test]
fn the_limit_of_open_files_applies_to_workers() {
    requires!("ruby:rack");
    let (mut settings, folder) =
        settings(Interface::Rack, "config.ru", "run ->(env) { [200, {}, [Process.getrlimit(:NOFILE)[0].to_s]] }");
    settings.run.open_files = Some(321);
    assert_eq!(content(&Running::new((settings, folder)).get("/")), "321");
}

#[test]
fn development_reloads_changed_files_and_shows_errors() {
    requires!("ruby:rack");
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", "run ->(env) { [200, {}, ['one']] }\n");
    settings.development = true;
    let running = Running::new((settings, folder));
    assert_eq!(content(&running.get("/")), "one");
    let write = |code: &str| std::fs::write(running.folder.path().join("config.ru"), code).unwrap();
    let becomes = |expected: &str| {
        eventually(|| Some(running.get("/")).filter(|answer| !answer.contains(expected)).map_or(Ok(()), Err));
    };
    write("run ->(env) { [200, {}, ['two']] }\n");
    becomes("\r\n\r\ntwo");
    write("run ->(env) { raise 'it is <broken>' }\n");
    becomes("it is &lt;broken&gt;");
    write("raise 'while it is loaded'\n");
    write("run ->(env) { [200, {}, ['three']] }\n");
    becomes("\r\n\r\nthree");
}

#[test]
fn whole_addresses_are_paths_to_the_application() {
    requires!("ruby:rack");
    let running =
        run("run ->(env) { [200, {}, [env['REQUEST_URI'], ' ', env['PATH_INFO'], ' ', env['QUERY_STRING']]] }\n");
    let cases = [("http://a", "/ / "), ("http://a?b", "/?b / b"), ("http://a/b?c", "/b?c /b c"), ("/b?c", "/b?c /b c")];
    for (target, expected) in cases {
        let answer = running.exchange(format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assert_eq!(content(&answer), expected, "{target}");
    }
}

/// To compile a shape costs much, so it is done for those that come again, and those that are kept do not all go at
/// once.
#[test]
fn shapes_are_compiled_when_they_come_again_and_give_way_one_by_one() {
    requires!("ruby:rack");
    let (mut settings, folder) = settings(
        Interface::Rack,
        "config.ru",
        "run ->(env) { [200, {}, [env['rack.hijack'].instance_variable_get(:@attendant).instance_variable_get(:@shapes).size.to_s]] }\n",
    );
    settings.run.processes = std::num::NonZero::<usize>::MIN;
    let running = Running::new((settings, folder));
    let ask = |name: &str| -> usize {
        let answer = running.exchange(format!("GET / HTTP/1.1\r\nHost: a\r\n{name}: 1\r\nConnection: close\r\n\r\n"));
        content(&answer).parse().unwrap()
    };
    let once: Vec<_> = (0..300).map(|number| ask(&format!("x-once-{number}"))).collect();
    assert!(once.iter().all(|kept| *kept == 0), "{once:?}");
    let twice: Vec<_> = (0..300).map(|number| [ask(&format!("x-{number}")), ask(&format!("x-{number}"))][1]).collect();
    let expected: Vec<_> = (1..=300).map(|count: usize| count.min(256)).collect();
    assert_eq!(twice, expected);
}
