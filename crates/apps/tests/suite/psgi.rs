//! Perl's applications, by the perl that is installed.

use std::{collections::BTreeSet, num::NonZero, thread};

use crate::support::{Running, body, eventually, settings, wait_until};
use serow_apps::{Application, Interface};
use serow_requirements::requires;

fn run(code: &str) -> Running {
    Running::new(settings(Interface::Psgi, "app.psgi", code))
}

/// The same with one worker, which is forked from a template process that has the application loaded.
fn run_one(code: &str) -> Running {
    let (mut settings, folder) = settings(Interface::Psgi, "app.psgi", code);
    (settings.run.processes, settings.preload) = (NonZero::<usize>::MIN, true);
    Running::new((settings, folder))
}

/// An application that answers with the variables of the environment that these names match, one a line.
fn variables(pattern: &str) -> Running {
    run(&format!(
        r#"sub {{ my $env = shift; [200, [], [map "$_=$env->{{$_}}\n", grep /{pattern}/, sort keys %$env]] }}"#
    ))
}

#[test]
fn requests_become_environments() {
    requires!("program:perl");
    let running = variables("^[A-Z]");
    let head = "Host: [::1]:81\r\nX-One: 1\r\nX-One: 2\r\nX_One: 3\r\nProxy: evil\r\nCookie: a=1\r\nCookie: b=2\r\nContent-Type: a/b";
    let answer = running.exchange(format!("PUT /a%20b%2Fc%ff%zz%C3%A9?d=%20 HTTP/1.0\r\n{head}\r\n\r\n"));
    let lines: Vec<_> = body(&answer).lines().filter(|line| !line.starts_with("REMOTE_PORT=")).collect();
    let expected = [
        "CONTENT_TYPE=a/b",
        "HTTP_COOKIE=a=1; b=2",
        "HTTP_HOST=[::1]:81",
        "HTTP_X_ONE=1, 2",
        "PATH_INFO=/a b/c\u{fffd}%zzé",
        "QUERY_STRING=d=%20",
        "REMOTE_ADDR=127.0.0.1",
        "REQUEST_METHOD=PUT",
        "REQUEST_URI=/a%20b%2Fc%ff%zz%C3%A9?d=%20",
        "SCRIPT_NAME=",
        "SERVER_NAME=[::1]",
        "SERVER_PORT=81",
        "SERVER_PROTOCOL=HTTP/1.0",
    ];
    assert_eq!(lines, expected);
    let answer = running.exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(body(&answer).contains("\nPATH_INFO=\n") && body(&answer).contains("\nREQUEST_URI=*\n"), "{answer}");
    let answer = running.get("/%00?");
    assert!(body(&answer).contains("\nPATH_INFO=/\0\nQUERY_STRING=\n"), "{answer}");
}

#[test]
fn bodies_reach_the_application_and_can_be_read_again() {
    requires!("program:perl");
    let running = run(r#"
sub {
    my $env = shift;
    my ($input, $length) = @$env{'psgi.input', 'CONTENT_LENGTH'};
    my $read = $input->read(my $first, $length // 10) // -1;
    $input->seek(0, 0);
    my $again = join '', $input->getlines;
    $input->close;
    return [200, [], [$length // 'none', ' ', $read, ' ', $first eq $again ? 'same' : 'other', ' ', $again]];
}
"#);
    assert_eq!(body(&running.get("/")), "none 0 same ");
    assert_eq!(body(&running.get("/")), "none 0 same ");
    assert_eq!(body(&running.post("/", b"")), "0 0 same ");
    assert_eq!(body(&running.post("/", b"a\0b\nc")), "5 5 same a\0b\nc");
    let chunked =
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(body(&running.exchange(chunked)), "3 3 same abc");
    let answer = running.post("/", &vec![b'x'; 300_000]);
    assert!(body(&answer).starts_with("300000 300000 same xxx"), "{}", &body(&answer)[..40]);
}

#[test]
fn load_errors_name_file_and_line() {
    requires!("program:perl");
    for (code, expected) in [
        ("\ndie 'no';\n", "no at "),
        ("use strict;\nsub { $x }\n", "app.psgi line 2"),
        ("\nuse No::Such::Module;\n", "app.psgi line 2"),
        ("{ a => 1 }\n", "is to be a code reference"),
        ("0\n", "is to be a code reference, and is '0'"),
        ("my $app;\n", "is to be a code reference, and is undefined"),
    ] {
        for preload in [false, true] {
            let (mut settings, _folder) = settings(Interface::Psgi, "app.psgi", code);
            settings.preload = preload;
            let error = Application::new(settings, 1).run().unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("app.psgi"), "{error}");
        }
    }
}

#[test]
fn invalid_responses_are_errors_and_the_worker_continues() {
    requires!("program:perl");
    let running = run(r#"
my %responses = (
    die => sub { die "no\n" }, object => sub { die bless {}, 'Failure' }, number => sub { 42 }, nothing => sub { undef },
    wide => sub { [200, [], ["\x{263a}"]] }, long => sub { [200, [], ["\x{263a}" x 100_000]] },
    line => sub { [200, [X => "a\r\nb: c"], ['']] }, nul => sub { [200, [X => "a\0b\0c"], ['']] },
    name => sub { [200, ["X\0Y" => 'a'], ['']] }, odd => sub { [200, ['X'], ['']] }, status => sub { ['abc', [], ['']] },
    text => sub { [200, [], 'text'] }, silent => sub { sub { } }, huge => sub { [200, [X => 'x' x 300_000], ['']] },
);
sub { my $env = shift; ($responses{substr $env->{PATH_INFO}, 1} || sub { [200, [], ['well']] })->() }
"#);
    let kinds = "die object number nothing wide long line nul name odd status text silent huge";
    for kind in kinds.split(' ') {
        let answer = running.get(&format!("/{kind}"));
        let expected = if matches!(kind, "status" | "name") { "HTTP/1.1 50" } else { "HTTP/1.1 500 " };
        assert!(answer.starts_with(expected), "{kind}: {answer}");
        assert_eq!(body(&running.get("/")), "well", "after {kind}");
    }
}

#[test]
fn files_and_long_bodies_arrive_whole() {
    requires!("program:perl");
    let running = run(r#"
my $long = join '', map sprintf('%07d ', $_), 1 .. 125_000;
sub write_to { my ($file) = @_; print $file $long; $file->flush; seek $file, 0, 0; $file }
open my $made, '>', 'long.txt' or die $!;
write_to($made);
require File::Temp;
package Named { our @ISA = 'IO::Handle'; sub path { 'long.txt' } }
package Loud { our @ISA = 'IO::File'; sub getline { my $line = shift->SUPER::getline; defined $line ? uc $line : undef } }
sub {
    my $env = shift;
    my $path = $env->{PATH_INFO};
    open my $file, '<', 'long.txt' or die $!;
    return [200, [], [$long]] if $path eq '/long';
    return [200, [], [map "$_ ", split ' ', $long]] if $path eq '/many';
    return [200, [], $file] if $path eq '/file';
    return [200, [], bless $file, 'Named'] if $path eq '/path';
    return [200, [], bless $file, 'Loud'] if $path eq '/loud';
    return [200, [], write_to(File::Temp->new)] if $path eq '/gone';
    if ($path eq '/held') {
        $env->{holder} = File::Temp->newdir;
        open my $made, '+>', "$env->{holder}/file" or die $!;
        return [200, [], write_to($made)];
    }
    seek $file, $path eq '/end' ? 999_992 : 800_000, 0;
    return [200, $path eq '/part' ? ['Content-Length' => 160] : [], $file];
}
"#);
    let long: String = (1..=125_000).map(|number| format!("{number:07} ")).collect();
    for path in ["/long", "/many", "/file", "/path", "/loud", "/gone", "/held"] {
        let answer = running.get(path);
        let is_whole = answer.contains("content-length: 1000000\r\n") && body(&answer) == long;
        assert!(is_whole || unchunked(&answer) == long, "{path}: {}", &answer[..200]);
    }
    for (path, expected) in [("/rest", 800_000..1_000_000), ("/part", 800_000..800_160), ("/end", 999_992..1_000_000)] {
        assert_eq!(body(&running.get(path)), &long[expected], "{path}");
    }
    let answer = running.exchange("HEAD /file HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(answer.contains("content-length: 1000000\r\n") && body(&answer).is_empty(), "{answer}");
}

#[test]
fn responses_of_other_kinds() {
    requires!("program:perl");
    let running = run(r#"
package Pieces { sub new { bless [@_[1 .. $#_]] } sub getline { shift @{$_[0]} } sub close { } }
my %responses = (
    pieces => sub { [200, [], Pieces->new('a', '', 'b' x 100_000, 'c')] },
    late   => sub { sub { $_[0]->([200, [], ['late']]) } },
    writer => sub { sub { my $writer = $_[0]->([200, []]); $writer->write($_) for 'a', '', 'b'; $writer->close } },
    open   => sub { sub { $_[0]->([200, []])->write('open') } },
    none   => sub { [204, [], []] },
    same   => sub { [304, [ETag => '"a"'], []] },
    fields => sub { [200, ['Set-Cookie' => 'a=1', 'Set-Cookie' => 'b=2'], ["\xe9", "a\0b"]] },
    empty  => sub { [200, [], []] },
);
sub { my $env = shift; $responses{substr $env->{PATH_INFO}, 1}->($env) }
"#);
    assert_eq!(unchunked(&running.get("/pieces")), format!("a{}c", "b".repeat(100_000)));
    assert_eq!(body(&running.get("/late")), "late");
    assert_eq!(unchunked(&running.get("/writer")), "ab");
    assert_eq!(unchunked(&running.get("/open")), "open");
    assert_eq!(body(&running.get("/none")), "");
    assert!(running.get("/same").starts_with("HTTP/1.1 304 "));
    assert!(running.get("/empty").contains("content-length: 0\r\n"));
    let answer = running.exchange_bytes("GET /fields HTTP/1.0\r\n\r\n");
    assert!(answer.ends_with(b"\r\n\r\n\xe9a\0b"), "{}", answer.escape_ascii());
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n"), "{text}");
}

#[test]
fn a_body_is_closed_behind_its_response() {
    requires!("program:perl");
    let (mut settings, folder) = settings(
        Interface::Psgi,
        "app.psgi",
        r#"
package Waiting;
sub new { bless [@_[1 .. $#_]] }
sub getline { shift @{$_[0]} }
sub close { select undef, undef, undef, 0.01 until -e 'go'; unlink 'go'; die "after the response\n" }
package main;
my %responses = (
    whole => sub { [200, [], Waiting->new('a', 'b')] },
    late => sub { sub { $_[0]->([200, [], Waiting->new('a', 'b')]) } },
    next => sub { [200, [], ['next']] },
);
sub { $responses{substr $_[0]{PATH_INFO}, 1}->() }
"#,
    );
    settings.run.processes = std::num::NonZero::<usize>::MIN;
    let running = Running::new((settings, folder));
    for path in ["/whole", "/late"] {
        let answer = running.get(path);
        assert!(answer.ends_with("\r\n0\r\n\r\n") && unchunked(&answer) == "ab", "{path}: {answer}");
        std::fs::write(running.folder.path().join("go"), "").unwrap();
        assert_eq!(body(&running.get("/next")), "next", "{path}");
    }
}

/// The body of a response in chunks.
fn unchunked(response: &str) -> String {
    let mut rest = body(response);
    let mut whole = String::new();
    while let Some((size, behind)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        whole.push_str(&behind[..size]);
        rest = behind[size..].trim_start_matches("\r\n");
    }
    whole
}

#[test]
fn a_response_that_breaks_off_is_not_taken_for_whole() {
    requires!("program:perl");
    let running = run(r#"
sub {
    my $env = shift;
    return [200, [], ["$$"]] if $env->{PATH_INFO} eq '/';
    return sub {
        $_[0]->([200, []])->write('begun');
        return if $env->{PATH_INFO} eq '/end';
        $env->{PATH_INFO} eq '/exit' ? exit 3 : die "no\n";
    };
}
"#);
    let whole = running.get("/end");
    assert!(whole.ends_with("\r\nbegun\r\n0\r\n\r\n"), "{whole}");
    for path in ["/die", "/exit"] {
        let answer = running.get(path);
        assert!(!answer.ends_with("0\r\n\r\n"), "{path}: {answer}");
    }
    assert!(body(&running.get("/")).parse::<u32>().is_ok());
}

#[test]
fn applications_notice_disconnected_clients() {
    requires!("program:perl");
    let running = run(r#"
package Endless { sub new { bless {} } sub getline { select undef, undef, undef, 0.01; 'x' x 1000 } sub close { main::tell('pieces') } }
sub main::tell { open my $told, '>', $_[0] or die $! }
sub {
    my $env = shift;
    my $path = substr $env->{PATH_INFO}, 1;
    return [200, [], [-e $1 ? 'told' : 'not yet']] if $path =~ /(\w+)\?/;
    return [200, [], Endless->new] if $path eq 'pieces';
    return sub {
        my $writer = $_[0]->([200, []]);
        eval { while (1) { $writer->write('x' x 1000); select undef, undef, undef, 0.01 } };
        main::tell('writer');
        die $@;
    };
}
"#);
    for path in ["writer", "pieces"] {
        drop(running.begin(&format!("GET /{path} HTTP/1.1\r\nHost: a\r\n\r\n")));
        wait_until(path, || body(&running.get(&format!("/{path}%3F"))) == "told");
    }
}

#[test]
fn cleanup_handlers_run_after_the_response() {
    requires!("program:perl");
    let running = run_one(
        r#"
my $count = 0;
sub {
    my $env = shift;
    my $path = $env->{PATH_INFO};
    push @{$env->{'psgix.cleanup.handlers'}}, sub { $count++ if $_[0]{PATH_INFO} eq $path } if $path ne '/';
    die "no\n" if $path eq '/die';
    return sub { $_[0]->([200, [], ['late']]) } if $path eq '/late';
    if ($path eq '/hint') {
        $env->{'psgix.informational'}->(103, [Link => '</a.css>; rel=preload']);
        return [200, [], ['hinted']];
    }
    return [200, [], [$count]];
}
"#,
    );
    for path in ["/one", "/die", "/late", "/one"] {
        running.get(path);
    }
    assert_eq!(body(&running.get("/")), "4");
    let answer = running.get("/hint");
    assert!(
        answer.starts_with("HTTP/1.1 103 ") && answer.contains("rel=preload") && answer.ends_with("hinted"),
        "{answer}"
    );
}

#[test]
fn a_worker_that_wants_to_leave_leaves() {
    requires!("program:perl");
    let running = run_one(
        r#"
END { open my $ended, '>>', 'ended'; print $ended "$$ $?\n" }
sub { my $env = shift; $env->{'psgix.harakiri.commit'} = 1; [200, [], [$$]] }
"#,
    );
    // A request sent ahead to the draining worker is not lost, though it must not be retried.
    let pids: BTreeSet<String> = thread::scope(|scope| {
        let asking: Vec<_> = (0..20).map(|_| scope.spawn(|| body(&running.post("/", b"x")).to_owned())).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(pids.len(), 20, "{pids:?}");
    // A worker leaves after its response: the last ones may still be about to.
    let ended = eventually(|| {
        let ended = std::fs::read_to_string(running.folder.path().join("ended")).unwrap_or_default();
        if ended.lines().count() == 20 { Ok(ended) } else { Err(ended) }
    });
    assert!(ended.lines().all(|line| line.ends_with(" 0")), "{ended}");
}

#[test]
fn applications_are_loaded_as_plackup_loads_them() {
    requires!("program:perl");
    let running = run(r#"
use FindBin;
my @seen = (__PACKAGE__ =~ /^Plack::Sandbox::/ ? 'sandbox' : __PACKAGE__, __FILE__, "$FindBin::Bin/app.psgi", $ENV{PLACK_ENV}, scalar @ARGV);
sub { [200, [], ["@seen ", rand]] }
"#);
    let file = running.folder.path().join("app.psgi");
    let (file, answers) = (file.display(), [running.get("/"), running.get("/")]);
    assert!(body(&answers[0]).starts_with(&format!("sandbox {file} {file} deployment 0 0.")), "{}", answers[0]);
    assert_ne!(body(&answers[0]), body(&answers[1]));
    // An object that can be called will do.
    let running =
        run("package Callable { use overload '&{}' => sub { sub { [200, [], ['called']] } } } bless {}, 'Callable'");
    assert_eq!(body(&running.get("/")), "called");
}

#[test]
fn mojolicious_runs_unchanged() {
    requires!("perl:Mojolicious");
    let running = run(r#"
use Mojolicious::Lite -signatures;
app->log->level('fatal');
get '/' => sub ($c) { $c->render(text => 'Hello ' . ($c->param('name') // 'you')) };
post '/echo' => sub ($c) { $c->render(data => $c->req->body) };
get '/pieces' => sub ($c) { $c->res->headers->content_length(2); $c->write(a => sub ($c, @) { $c->write('b') }) };
get '/chunks' => sub ($c) { $c->write_chunk(a => sub ($c, @) { $c->write_chunk(b => sub ($c, @) { $c->finish }) }) };
get '/file' => sub ($c) { $c->reply->file($c->app->home->child('app.psgi')) };
app->start;
"#);
    assert_eq!(body(&running.get("/?name=W%C3%B6rld")), "Hello Wörld");
    let long = vec![b'x'; 300_000];
    assert_eq!(body(&running.post("/echo", &long)).len(), long.len());
    assert_eq!(body(&running.get("/pieces")), "ab");
    assert_eq!(unchunked(&running.get("/chunks")), "ab");
    assert!(body(&running.get("/file")).contains("Mojolicious::Lite"));
    assert!(running.get("/none").starts_with("HTTP/1.1 404 "));
}

#[test]
fn dancer_runs_unchanged() {
    requires!("perl:Dancer2");
    let running = run(r#"
package Site;
use Dancer2;
set charset => 'UTF-8';
set log     => 'error';
set logger  => 'null';
get '/' => sub { 'Hello ' . query_parameters->get('name') };
post '/echo' => sub { request->body };
get '/late' => sub { delayed { content 'a'; content 'b'; done } };
get '/file' => sub { send_file(config->{appdir} . '/app.psgi', system_path => 1) };
get '/fail' => sub { die "no\n" };
Site->to_app;
"#);
    assert_eq!(body(&running.get("/?name=W%C3%B6rld")), "Hello Wörld");
    let long = vec![b'x'; 300_000];
    assert_eq!(body(&running.post("/echo", &long)).len(), long.len());
    assert_eq!(unchunked(&running.get("/late")), "ab");
    assert!(running.get("/file").contains("use Dancer2;"));
    assert!(running.get("/fail").starts_with("HTTP/1.1 500 "));
}

#[test]
fn middleware_of_plack_runs_unchanged() {
    requires!("perl:Plack");
    let running = run(r#"
use Plack::Builder;
use Plack::App::File;
builder {
    enable 'Lint';
    enable 'Runtime';
    enable 'Head';
    enable 'ConditionalGET';
    enable 'SimpleContentFilter', filter => sub { s/World/Wörld/ };
    enable 'Static', path => qr{^/app}, root => '.';
    mount '/below' => sub { my $env = shift; [200, ['Content-Type' => 'text/plain'], ["$env->{SCRIPT_NAME} $env->{PATH_INFO}"]] };
    mount '/late'  => sub { sub { my $writer = $_[0]->([200, ['Content-Type' => 'text/plain']]); $writer->write('late'); $writer->close } };
    mount '/files' => Plack::App::File->new(root => '.')->to_app;
    mount '/'      => sub { [200, ['Content-Type' => 'text/plain', ETag => '"a"'], ['Hello World']] };
};
"#);
    let answer = running.get("/");
    assert!(answer.contains("X-Runtime: ") && body(&answer) == "Hello Wörld", "{answer}");
    let request = "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"a\"\r\nConnection: close\r\n\r\n";
    assert!(running.exchange(request).starts_with("HTTP/1.1 304 "));
    assert_eq!(body(&running.get("/below/a%20b")), "/below /a b");
    assert_eq!(unchunked(&running.get("/late")), "late");
    for path in ["/app.psgi", "/files/app.psgi"] {
        let answer = running.get(path);
        assert!(answer.contains("use Plack::Builder;"), "{path}: {answer}");
    }
}

#[test]
fn development_errors_have_a_stack_trace() {
    requires!("program:perl");
    let (mut settings, folder) = settings(
        Interface::Psgi,
        "app.psgi",
        r#"sub inner { eval { die "caught\n" }; die "no\n" }
sub outer { inner(7) }
sub { outer() }
"#,
    );
    settings.development = true;
    let running = Running::new((settings, folder));
    let answer = running.get("/");
    let page = body(&answer);
    assert!(page.contains("no\n    inner called at") && page.contains("app.psgi line 2\n"), "{answer}");
    assert!(!page.contains("caught") && !page.contains("serow.pl"), "{answer}");
}

#[test]
fn settings_of_perl_for_files_are_not_for_sockets() {
    requires!("program:perl");
    let (mut settings, folder) = settings(
        Interface::Psgi,
        "app.psgi",
        "sub { my $env = shift; $env->{'psgi.input'}->read(my $body, 10); [200, [], [length $body, $body]] }",
    );
    settings.run.environment.push(("PERL_UNICODE".into(), "SDA".into()));
    let running = Running::new((settings, folder));
    assert_eq!(body(&running.post("/", "é".as_bytes())), "2é");
}

#[test]
fn another_protocol_is_spoken_at_a_socket() {
    requires!("program:perl");
    let running = run(r#"
sub {
    my $env = shift;
    my $socket = $env->{'psgix.io'};
    return [200, [], [defined $socket ? 'offered' : 'none']] if $env->{PATH_INFO} ne '/echo';
    return sub {
        syswrite $socket, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
        while (sysread $socket, my $text, 100) {
            syswrite $socket, uc $text;
            last if $text =~ /bye/;
        }
    };
}
"#);
    let asking = "Host: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
    let answer = running.exchange(format!("GET /echo HTTP/1.1\r\n{asking}hello, bye"));
    assert!(answer.starts_with("HTTP/1.1 101 ") && answer.ends_with("HELLO, BYE"), "{answer}");
    let answer =
        running.exchange(format!("GET / HTTP/1.1\r\n{}", asking.replace("Upgrade\r\nU", "Upgrade, close\r\nU")));
    assert_eq!(body(&answer), "offered");
    assert_eq!(body(&running.get("/")), "none");
}

#[test]
fn crashed_workers_are_replaced_and_safe_requests_retried() {
    requires!("program:perl");
    let running = run(r#"
sub {
    my $env = shift;
    my $path = $env->{PATH_INFO};
    if ($path eq '/killed' && !-e 'died') { open my $died, '>', 'died'; kill 9, $$ }
    exit 1 if $path eq '/always';
    return [200, [], [$path]];
}
"#);
    assert_eq!(body(&running.get("/killed")), "/killed");
    assert!(running.post("/always", b"").starts_with("HTTP/1.1 502 "));
    assert!(running.get("/always").starts_with("HTTP/1.1 502 "));
    assert_eq!(body(&running.get("/well")), "/well");
}

#[test]
fn new_code_takes_over_and_broken_code_does_not() {
    requires!("program:perl");
    let running = run("sub { [200, [], ['one']] }\n");
    let file = running.folder.path().join("app.psgi");
    std::fs::write(&file, "die 'broken'").unwrap();
    assert!(running.reload().unwrap_err().contains("broken"));
    assert_eq!(body(&running.get("/")), "one");
    std::fs::write(&file, "sub { [200, [], ['two']] }\n").unwrap();
    running.reload().unwrap();
    assert_eq!(body(&running.get("/")), "two");
}

/// Values that contain NUL, the separator on the way to the server, must not add fields.
#[test]
fn names_of_fields_that_are_empty_or_have_a_nul_are_failures() {
    requires!("program:perl");
    let running = run(r#"
my %names = (empty => '', nul => "x-a\0b\0x-c", end => "x-a\0\0");
sub {
    my ($env) = @_;
    my $body = $env->{PATH_INFO} eq '/long' ? 'x' x 70_000 : 'body';
    return [200, ['x-first' => '', $names{ $env->{QUERY_STRING} } => 'injected'], [$body]];
};
"#);
    for path in ["/short", "/long"] {
        for name in ["empty", "nul", "end"] {
            let answer = running.get(&format!("{path}?{name}"));
            assert!(answer.starts_with("HTTP/1.1 500 ") && !answer.contains("injected"), "{path} {name}: {answer}");
        }
    }
}
