//! Scripts as clients see them: requests in, responses out.
#![allow(clippy::unwrap_used, clippy::too_many_lines, reason = "a test fails by it; cases are long lists")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

use std::{path::PathBuf, time::Duration};

use serow_message::{Body, Request, RequestHead, Response, Target, TrustedProxies, Version};
use serow_scripts::{Begun, RouteChoice, Script, ScriptError, ScriptLimits, Servers};

/// A script in a folder of its own.
struct Loaded {
    script: Script,
    _folder: tempfile::TempDir,
}

fn path_of(text: &str) -> (PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.lua");
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("words.txt"), "one two").unwrap();
    std::fs::write(folder.path().join("names.lua"), "return { admin = 'Anna' }").unwrap();
    (path, folder)
}

fn read(text: &str, limits: ScriptLimits) -> Result<Loaded, ScriptError> {
    let (path, folder) = path_of(text);
    let script = Script::read(&path, limits, TrustedProxies::default(), Servers::default())?;
    Ok(Loaded { script, _folder: folder })
}

fn limits(milliseconds: u64) -> ScriptLimits {
    ScriptLimits { time: Duration::from_millis(milliseconds), ..ScriptLimits::default() }
}

/// A script whose function `request` has this body; a test machine may stand still for a while.
fn request_function(body: &str) -> Loaded {
    read(&format!("local function request(request)\n{body}\nend\nreturn {{ request = request }}"), limits(2000))
        .unwrap()
}

fn request(target: &str, fields: &[(&str, &str)], body: impl Into<Body>) -> Request {
    let target = Target::parse(target.to_owned().into(), false).unwrap();
    let mut headers = serow_message::Headers::new();
    for (name, value) in fields {
        headers.append(*name, value).unwrap();
    }
    let head = RequestHead { method: "GET".parse().unwrap(), target, version: Version::HTTP_11, headers };
    Request::new(head, body.into(), serow_message::Connection::default())
}

/// The handler: it describes what it gets, in the header of its response.
async fn describe(request: Request) -> Response {
    let head = format!("{} {}", request.method, request.target);
    let fields = request
        .headers
        .iter()
        .map(|(name, value)| format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
    let fields = fields.collect::<Vec<_>>().join(",");
    let body = request.body.collect(1 << 20).await.unwrap();
    let text = format!("{head} [{fields}] {}", String::from_utf8_lossy(&body));
    Response::text(text).with("x-handler", "yes")
}

async fn respond(script: &Script, request: Request) -> Response {
    let begun = match script.begin(request, RouteChoice::Open) {
        Ok(begun) => begun,
        Err(waiting) => waiting.await,
    };
    match begun {
        Begun::Respond(response) => response,
        Begun::Handle(request, None) => describe(request).await,
        Begun::Handle(request, Some(watched)) => watched.finish(describe(request).await).await,
    }
}

/// The status and the body, and the fields but for those of text.
async fn shown(response: Response) -> String {
    let status = response.status.as_u16();
    let fields: String = response
        .headers
        .iter()
        .filter(|(name, _)| !name.eq_ignore_ascii_case(b"content-type"))
        .map(|(name, value)| format!(" {}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
        .collect();
    let body = response.body.collect(1 << 20).await.unwrap();
    format!("{status}{fields} {}", String::from_utf8_lossy(&body))
}

#[tokio::test(flavor = "current_thread")]
async fn requests_are_read_and_changed() {
    let fields = [
        ("host", "Example.com"),
        ("User-Agent", "curl"),
        ("cookie", "a=1; b=\"2\"; a=3"),
        ("x-list", "1"),
        ("x-list", "2"),
    ];
    for (body, expected) in [
        ("return request.method .. 1", "500"),
        ("return { body = request.method }", "200 GET"),
        ("return { body = request.path }", "200 /a c/d"),
        ("return { body = request.target }", "200 /a%20c/x/../d?q=1%20+2&q=3&r"),
        ("return { body = request.query }", "200 q=1%20+2&q=3&r"),
        ("return { body = request.arguments.q .. '|' .. request.arguments.r }", "200 1  2|"),
        ("return { body = request.host }", "200 example.com"),
        ("return { body = request.headers['USER-AGENT'] .. request.headers.user_agent }", "200 curlcurl"),
        ("return { body = request.headers['x-list'] .. '|' .. #request:header_values('x-list') }", "200 1, 2|2"),
        ("return { body = tostring(request.headers.missing) .. #request:all_headers() }", "200 nil5"),
        ("return { body = request.cookies.a .. request.cookies.b }", "200 12"),
        ("return { body = tostring(request.tls) .. request.scheme .. tostring(request.client) }", "200 nilhttpnil"),
        ("return { body = request.priority.urgency .. tostring(request.priority.incremental) }", "200 3false"),
        ("return { body = request:body() }", "200 hello"),
        ("return { body = tostring(request:body(4)) }", "200 nil"),
        ("return { body = request:body(1e300) }", "200 hello"),
        ("return { body = request:body(-1) }", "500"),
        ("request.notes.a = 1; return { body = '' .. request.notes.a }", "200 1"),
        ("return 403", "403"),
        (
            "return { status = 302, headers = { location = '/x', set_cookie = { 'a=1', 'b=2' } } }",
            "302 location=/x set-cookie=a=1 set-cookie=b=2",
        ),
        (
            "",
            "200 x-handler=yes GET /a%20c/x/../d?q=1%20+2&q=3&r [host=Example.com,User-Agent=curl,cookie=a=1; b=\"2\"; a=3,x-list=1,x-list=2] hello",
        ),
        (
            "request.path = '/n w?'; request.query = 'z'; for _, n in ipairs { 'x-list', 'cookie', 'user-agent' } do request.headers[n] = nil end",
            "200 x-handler=yes GET /n%20w%3F?z [host=Example.com] hello",
        ),
        (
            "request.method = 'POST'; request.host = 'b'; request:add_header('x-b', 1); request.headers.x_list = nil; request.headers.cookie = 'c'; request:body(2); request.path = '/'; request.query = ''; request.headers['user-agent'] = nil",
            "200 x-handler=yes POST / [host=b,x-b=1,cookie=c] hello",
        ),
        ("request.host = 'a b'", "500"),
        ("request.method = 'CONNECT'", "500"),
        ("request.path = 'x'", "500"),
        ("request.query = 'a b'", "500"),
        ("request.headers['content-length'] = '1'", "500"),
        ("request.headers['x-a'] = 'a\\r\\nb: c'", "500"),
        ("request.headers.connection = 'close'", "500"),
        ("return 'text'", "500"),
        ("return { status = 99 }", "500"),
        ("return { status = 204, body = 'x' }", "500"),
        ("return { statos = 200 }", "500"),
        ("return true", "500"),
        ("coroutine.yield()", "500"),
        ("request.nothing = 1", "500"),
        ("request.body = 'x'", "500"),
    ] {
        let loaded = request_function(body);
        let asked = request("/a%20c/x/../d?q=1%20+2&q=3&r", &fields, "hello");
        let found = shown(respond(&loaded.script, asked).await).await;
        if expected == "500" || expected == "403" {
            assert!(found.starts_with(expected), "{body}: {found}");
        } else {
            assert_eq!(found.trim_end(), expected, "{body}");
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn responses_are_changed() {
    let script = |body: &str| {
        let text = format!("return {{ response = function(request, response)\n{body}\nend }}");
        read(&text, limits(2000)).unwrap()
    };
    for (body, expected) in [
        ("", "200 x-handler=yes GET / [] hello"),
        ("response.status = 404", "404 x-handler=yes GET / [] hello"),
        ("response.headers.x_handler = nil; response:add_header('x-a', request.path)", "200 x-a=/ GET / [] hello"),
        ("response.body = response:body():upper()", "200 x-handler=yes GET / [] HELLO"),
        ("response.body = tostring(response:body(3))", "200 x-handler=yes nil"),
        (
            "response.body = request.method .. response.status .. response.headers['content-type']",
            "200 x-handler=yes GET200text/plain; charset=utf-8",
        ),
        ("response:body(3)", "200 x-handler=yes GET / [] hello"),
        ("serow.sleep(0); response.status = 201", "201 x-handler=yes GET / [] hello"),
        ("response.status = 304", "500"),
        ("response.status = 101", "500"),
        ("response.headers['transfer-encoding'] = 'x'", "500"),
        ("request.path = '/x'", "500"),
        ("request:body()", "500"),
        ("return { status = 200 }", "500"),
        ("error('oh')", "500"),
        ("error({})", "500"),
        ("error()", "500"),
    ] {
        let loaded = script(body);
        let found = shown(respond(&loaded.script, request("/", &[], "hello")).await).await;
        if expected == "500" {
            assert!(found.starts_with(expected), "{body}: {found}");
        } else {
            assert_eq!(found.trim_end(), expected, "{body}");
        }
    }
}

/// A script that runs without end, or that grows without end, fails for its own client, and no other client notices.
#[tokio::test(flavor = "current_thread")]
async fn limits_hold() {
    for body in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() while true do end end) end",
        "local function f() return f() end f()",
        "local function f() return 1 + f() end f()",
        "for _ = 1, 1e9 do coroutine.wrap(function() end)() end",
        "coroutine.wrap(function() while true do pcall(function() while true do end end) end end)()",
        "local co = coroutine.create(function() while true do end end) while true do coroutine.resume(co) co = coroutine.create(function() while true do end end) end",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local t = {} for i = 1, 1e9 do t[i] = coroutine.create(function() end) end",
        "while true do pcall(string.rep, 'x', 1e9) end",
        "local t = setmetatable({}, { __index = function(t, k) return t[k + 1] end }) return t[1]",
        "table.sort({ 1, 2, 3 }, function() while true do end end)",
        "('x'):rep(100):gsub('x', function() while true do end end)",
        "error(setmetatable({}, { __tostring = function() while true do end end }))",
        "local function f() error(f) end xpcall(f, function() f() end) error('end')",
        "serow.json.encode((function() local t = {} t[1] = t return t end)())",
        "while true do serow.sleep(0) end",
        "return ('a'):rep(5000):match('.-.-.-.-.-b')",
        "return ('a'):rep(30):find(('a?'):rep(30) .. ('a'):rep(31))",
        "return ('('):rep(5000):gsub('%b()', '')  and ('a'):rep(3000):gsub('.-.-.-b', '')",
        "while true do pcall(string.match, ('a'):rep(5000), '.-.-.-.-b') end",
        "load('while true do end')()",
        "return load(string.rep('(', 1e5))()",
    ] {
        let text = format!(
            "return {{ request = function(request)\nif request.path == '/good' then return {{ body = 'good' }} end\n{body}\nend }}"
        );
        let loaded = read(&text, limits(50)).unwrap();
        let began = std::time::Instant::now();
        let found = shown(respond(&loaded.script, request("/", &[], "")).await).await;
        assert!(found.starts_with("500"), "{body}: {found}");
        assert!(began.elapsed() < Duration::from_secs(5), "{body}: {:?}", began.elapsed());
        let found = shown(respond(&loaded.script, request("/good", &[], "")).await).await;
        assert_eq!(found, "200 good", "{body}");
    }
}

/// A script that keeps a request finds nothing in it later.
#[tokio::test(flavor = "current_thread")]
async fn nothing_of_a_request_outlives_it() {
    let loaded = request_function(
        "if kept then local ok, text = pcall(function() return kept.path end) return { body = tostring(ok) .. text } end\n\
         kept = request; kept.notes.self = kept; return { body = 'kept' }",
    );
    assert_eq!(shown(respond(&loaded.script, request("/secret", &[], "")).await).await, "200 kept");
    let found = shown(respond(&loaded.script, request("/", &[], "")).await).await;
    assert!(found.contains("false") && found.contains("the request has ended"), "{found}");
}

/// Clients that leave while their script waits leave nothing behind.
#[tokio::test(flavor = "current_thread")]
async fn a_client_may_leave_while_its_script_waits() {
    let loaded = request_function("if request.path == '/wait' then serow.sleep(30) end return { body = 'here' }");
    for _ in 0..1000 {
        let Err(waiting) = loaded.script.begin(request("/wait", &[], ""), RouteChoice::Open) else {
            panic!("it does not wait")
        };
        let waited = tokio::time::timeout(Duration::ZERO, waiting).await;
        assert!(waited.is_err());
    }
    assert_eq!(shown(respond(&loaded.script, request("/", &[], "")).await).await, "200 here");
}

#[test]
fn wrong_scripts_are_refused_with_the_place() {
    for (text, expected) in [
        ("return {", "rules.lua:1: unexpected symbol near '<eof>'"),
        ("local x = 1\nlocal y = 2 +* 2", "rules.lua:2:14: unexpected symbol near '*'"),
        ("local x = 1\nlocal y = = 2", "rules.lua:2: unexpected symbol near '='"),
        (
            "return 1",
            "rules.lua: a script returns a table of functions, not number: write return { request = request } at its end",
        ),
        (
            "return {}",
            "rules.lua: the script has no function for requests: return a table with request, response or log",
        ),
        ("return { request = 1 }", "rules.lua: request is not a function, but number"),
        (
            "return { reqest = error }",
            "rules.lua: \"reqest\" is not a function that Serow calls: there are setup, request, response and log",
        ),
        ("error('oh')", "rules.lua:1: oh"),
        (
            "local function f()\n  local x = nil\n  return x.y\nend\nf()",
            "rules.lua:3: attempt to index local 'x' (a nil value)",
        ),
        ("require('missing')", "rules.lua:1: require \"missing\": "),
        (
            "require('../rules')",
            "rules.lua:1: require \"../rules\": \"///rules.lua\" is not below the folder of the script",
        ),
        (
            "require('/etc/passwd')",
            "rules.lua:1: require \"/etc/passwd\": \"/etc/passwd.lua\" is not below the folder of the script",
        ),
        (
            "return { request = function() end, setup = function(config) config:read('/etc/passwd') end }",
            "rules.lua:1: \"/etc/passwd\" is not below the folder of the script",
        ),
        ("serow.regex('(')", "rules.lua:1: serow.regex \"(\": regex parse error: ( ^ error: unclosed group"),
        ("\u{1b}LJ\u{2}", "rules.lua: this is compiled code: Serow runs text, which it can limit"),
    ] {
        let error = read(text, limits(2000)).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

/// Scripts have no function that could reach the system, native code or other states.
#[tokio::test(flavor = "current_thread")]
async fn nothing_reaches_the_system() {
    for name in [
        "io",
        "package",
        "debug",
        "jit",
        "ffi",
        "dofile",
        "loadfile",
        "newproxy",
        "collectgarbage",
        "module",
        "print",
        "os.execute",
        "os.exit",
        "os.getenv",
        "os.remove",
        "os.rename",
        "os.tmpname",
        "os.setlocale",
        "string.dump",
    ] {
        let loaded = request_function(&format!("return {{ body = tostring({name}) }}"));
        assert_eq!(shown(respond(&loaded.script, request("/", &[], "")).await).await, "200 nil", "{name}");
    }
    let loaded = request_function("return { body = tostring(load('\\27LJ\\2')) .. tostring(pcall(require, 'names')) }");
    let found = shown(respond(&loaded.script, request("/", &[], "")).await).await;
    assert!(found.starts_with("500") || found == "200 nilfalse", "{found}");
}

#[tokio::test(flavor = "current_thread")]
async fn files_below_the_folder_are_read_while_the_script_is_loaded() {
    let loaded = read(
        "local names, words = require('names')\n\
         return { setup = function(config) words = config:read('words.txt') end,\n\
         request = function() return { body = names.admin .. ' ' .. words .. (require('names') == names and '!' or '') } end }",
        limits(2000),
    );
    let loaded = loaded.unwrap();
    assert_eq!(shown(respond(&loaded.script, request("/", &[], "")).await).await, "200 Anna one two!");
}

#[tokio::test(flavor = "current_thread")]
async fn the_library_computes() {
    for (body, expected) in [
        ("serow.base64.encode('a\\0b?>')", "YQBiPz4="),
        ("serow.base64.encode_url('a\\0b?>')", "YQBiPz4"),
        ("serow.base64.decode('YQBiPz4=') == 'a\\0b?>'", "true"),
        ("serow.base64.decode('YQBiPz4') == 'a\\0b?>'", "true"),
        ("serow.base64.decode('!')", "nil"),
        ("serow.hex.encode(serow.sha256('abc'))", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("serow.hex.encode(serow.sha1('abc'))", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "serow.hex.encode(serow.hmac('key', 'The quick brown fox jumps over the lazy dog'))",
            "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
        ),
        ("serow.hex.decode('zz')", "nil"),
        ("serow.equal('a', 'a'), serow.equal('a', 'b'), serow.equal('a', 'ab')", "true false false"),
        ("#serow.random(16)", "16"),
        ("serow.url.encode('a b&c/ä')", "a%20b%26c/%C3%A4"),
        ("serow.url.decode('a%20b+c%26')", "a b c&"),
        ("serow.json.encode({ a = { 1, 2.5, 'x' }, b = serow.json.null })", "{\"a\":[1,2.5,\"x\"],\"b\":null}"),
        ("serow.json.decode('{\"a\":[1,{\"b\":true}]}').a[2].b", "true"),
        ("serow.json.decode('{')", "nil EOF while parsing an object at line 1 column 1"),
        ("serow.json.decode('null') == serow.json.null", "true"),
        ("serow.regex('^/u/(?P<id>[0-9]+)$'):match('/u/42').id", "42"),
        ("serow.regex('x'):test('axb'), serow.regex('x'):match('y')", "true nil"),
        ("serow.regex('(a)(b)'):replace('abab', '$2$1')", "baba"),
        ("serow.time() > 1e9", "true"),
        ("serow.shared.incr('n' .. tostring({})), serow.shared.get('missing')", "1 nil"),
        ("(function() serow.shared.set('k', 'v', 10) return serow.shared.get('k') end)()", "v"),
        ("select(2, pcall(serow.shared.set, 'k', {}))", "rules.lua:2: serow.shared keeps texts and numbers, not table"),
        (
            "(function() local co = coroutine.wrap(function() serow.sleep(0) coroutine.yield(1) serow.sleep(0) return 2 end) return co(), co() end)()",
            "1 2",
        ),
        ("pcall(serow.sleep, 1e9)", "false a script may wait for 60 seconds at most at a time"),
        ("pcall(serow.fetch, 'http://a/')", "false there is no other server here"),
        (
            "pcall(serow.fetch, { url = 'http://a/', metod = 'x' })",
            "false serow.fetch does not know \"metod\": it takes url, method, headers, body, timeout and max_body",
        ),
    ] {
        let loaded = request_function(&format!(
            "local t = {{ n = select('#', {body}), {body} }} for i = 1, t.n do t[i] = tostring(t[i]) end return {{ body = table.concat(t, ' ', 1, t.n) }}"
        ));
        let found = shown(respond(&loaded.script, request("/", &[], "")).await).await;
        assert!(found.starts_with(&format!("200 {expected}")), "{body}: {found}");
    }
}
