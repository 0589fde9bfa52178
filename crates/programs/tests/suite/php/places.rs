//! Places of requests at a php-fpm with one child: each is taken until its script ends.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use serow::{Body, Handler, Method, Request};
use serow_net::LastingWork;
use serow_programs::php::PhpSettings;
use serow_proxy::{BackgroundTasks, CheckKind, CheckSettings, HttpCheck};
use serow_requirements::requires;
use tokio::{task::LocalSet, time::timeout};

use crate::{
    answering::{body, content, wait_until},
    php::fpm::Running,
};

fn running(files: &[(&str, &str)]) -> Running {
    let always = [("hold.php", HOLD), ("other.php", "<?php echo 'other';"), ("a.txt", "text")];
    Running::with_children(1, None, &[&always, files].concat(), PhpSettings::default())
}

impl Running {
    fn waiting(&self) -> u64 {
        self.upstream.report().waiting
    }

    fn active(&self) -> u32 {
        self.upstream.servers()[0].active()
    }

    /// Makes a request, and drops it, as its client goes away, when it is where it should be. Then this is done, while the
    /// thread of the request goes on.
    fn begin_and_leave(&self, request: Request, is_there: impl Fn() -> bool, then: impl FnOnce() + Send) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        thread::scope(|scope| {
            LocalSet::new().block_on(&runtime, async {
                let mut responding = Box::pin(self.handler().call(request));
                let began = Instant::now();
                while !is_there() {
                    assert!(began.elapsed() < Duration::from_secs(20), "the request is not there");
                    let response = timeout(Duration::from_millis(1), &mut responding).await;
                    assert!(response.is_err(), "there is a response already");
                }
                drop(responding);
                let then = scope.spawn(then);
                // As a server does that stops.
                LastingWork::all_ended().await;
                then.join().unwrap();
            });
        });
    }

    /// Another request waits for the place, which is free once the script ends.
    fn has_no_place_until_the_script_ends(&self) {
        thread::scope(|scope| {
            let other = scope.spawn(|| content(&self.get("/other.php")));
            wait_until("the next request waits", || self.waiting() == 1);
            self.write("go", "");
            assert_eq!(other.join().unwrap(), "other");
        });
        fs::remove_file(self.site().join("go")).unwrap();
    }
}

#[test]
fn a_script_keeps_its_place_when_its_response_is_complete() {
    requires!("file:/usr/sbin/php-fpm*");
    let cases = [
        ("HEAD", "echo 'x';", "200", ""),
        ("GET", "http_response_code(204); echo 'x';", "204", ""),
        ("GET", "http_response_code(304); echo 'x';", "304", ""),
        ("GET", "header('Content-Length: 3'); echo 'longer';", "200", "lon"),
    ];
    for (method, script, status, expected) in cases {
        let script = format!("<?php {script} while (ob_get_level()) ob_end_flush(); flush(); ?>{HOLD}");
        let server = running(&[("index.php", &script)]);
        let answer = server.exchange(format!("{method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{script}: {answer}");
        assert_eq!(body(&answer), expected, "{script}");
        server.has_no_place_until_the_script_ends();
    }
}

fn post(target: &'static str, body: &'static str) -> Request {
    let mut request = Request::get(target);
    request.method = Method::POST;
    request.body = Body::from(body);
    request
}

#[test]
fn a_request_that_waits_is_served_though_its_client_has_gone() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = running(&[("cron.php", "<?php file_put_contents('done', file_get_contents('php://input') . '.');")]);
    for (request, expected) in [(post("/cron.php", "body"), "body."), (Request::get("/cron.php"), ".")] {
        thread::scope(|scope| {
            scope.spawn(|| server.get("/hold.php"));
            wait_until("the first script runs", || server.active() == 1);
            let then = || {
                assert_eq!(server.waiting(), 1, "{expected}");
                server.write("go", "");
                let done = server.site().join("done");
                wait_until("the script ran", || fs::read(&done).is_ok_and(|text| text == expected.as_bytes()));
                fs::remove_file(done).unwrap();
            };
            server.begin_and_leave(request, || server.waiting() == 1, then);
        });
        fs::remove_file(server.site().join("go")).unwrap();
    }
}

#[test]
fn a_script_keeps_its_place_when_its_client_goes_away() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = running(&[]);
    for request in [post("/hold.php", "body"), Request::get("/hold.php")] {
        server.begin_and_leave(request, || server.active() == 1, || server.has_no_place_until_the_script_ends());
    }
}

/// PHP notices that its client has gone when it writes.
#[test]
fn an_endless_script_ends_after_its_client_went_away() {
    requires!("file:/usr/sbin/php-fpm*");
    let endless = "<?php register_shutdown_function(fn() => touch(__DIR__ . '/ended')); set_time_limit(0);
        while (true) { echo 'x'; while (ob_get_level()) ob_end_flush(); flush(); usleep(1000); }";
    let after_hold = format!("{HOLD}{}", endless.replace("<?php", ""));
    let server = running(&[("endless.php", endless), ("later.php", &after_hold)]);
    let ended = server.site().join("ended");
    drop(server.begin("GET /endless.php HTTP/1.1\r\nHost: a\r\n\r\n"));
    wait_until("the script ended", || ended.exists());
    fs::remove_file(&ended).unwrap();
    let then = || {
        server.write("go", "");
        wait_until("the script ended", || ended.exists());
        wait_until("the place is free", || server.active() == 0);
    };
    server.begin_and_leave(Request::get("/later.php"), || server.active() == 1, then);
}

#[test]
fn health_checks_use_the_ping_path() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = running(&[]);
    let script = server.site().join("other.php");
    for (path, body, error) in [
        ("/ping", Some("pong"), None),
        ("/ping", None, None),
        ("/pin", None, Some("status 404 instead of 200 to 399")),
        ("/ping", Some("ping"), Some("the body does not contain \"ping\"")),
        (script.to_str().unwrap(), Some("other"), None),
    ] {
        let check = HttpCheck { path: path.to_owned(), body: body.map(str::to_owned), ..HttpCheck::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let checked = runtime.block_on(async {
            let settings =
                CheckSettings { timeout: Duration::from_secs(20), ..CheckSettings::new(CheckKind::Http(check)) };
            server.upstream.check_once(server.upstream.servers()[0].settings(), &settings).await
        });
        assert_eq!(checked.err().as_deref(), error, "{path} {body:?}");
    }
}

/// Each check comes while the only child has a request: none of them would be answered in time.
#[test]
fn a_server_whose_children_all_have_requests_stays_up() {
    requires!("file:/usr/sbin/php-fpm*");
    let kind = CheckKind::Http(HttpCheck { path: "/ping".to_owned(), ..HttpCheck::default() });
    let (interval, timeout) = (Duration::from_millis(20), Duration::from_millis(200));
    let check = CheckSettings { interval, timeout, fall: 1, ..CheckSettings::new(kind) };
    let server = Running::with_children(1, Some(check), &[("hold.php", HOLD)], PhpSettings::default());
    let _checks = BackgroundTasks::start(vec![server.upstream.clone()]).unwrap();
    thread::scope(|scope| {
        let held = scope.spawn(|| server.get("/hold.php"));
        wait_until("the script runs", || server.active() == 1);
        let checks = || server.upstream.report().servers.remove(0).check.unwrap();
        let before = checks().rise;
        wait_until("there were checks", || checks().rise >= before + 3 || checks().fall > 0);
        assert_eq!(checks().fall, 0);
        server.write("go", "");
        assert!(held.join().unwrap().starts_with("HTTP/1.1 200 "));
    });
}

/// Waits for a file.
const HOLD: &str = "<?php while (!file_exists(__DIR__ . '/go')) { usleep(1000); clearstatcache(); } ";
