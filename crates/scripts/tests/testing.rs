//! Tests of scripts: what they find, and what is not a test.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::{fs, path::Path};

use serow_scripts::{ScriptError, ScriptTest};

const SCRIPT: &str = "
local seen = 0
local function request(request)
  seen = seen + 1
  if request.path == '/fails' then error('broken') end
  if request.path == '/slow' then serow.sleep(0.01) end
  if request.path == '/gone' then return 410 end
  if request.path == '/fetch' then return { body = serow.fetch('http://other/').body } end
  if request.path == '/redis' then
    local found = serow.redis('MGET', 'a', 7)
    return { body = found[1] .. tostring(found[2]) .. tostring(serow.redis('GET', 'b')) }
  end
  if request.path == '/canary' then request.route = 'canary' end
  request.headers.x_client = request.client
  request.headers.x_remove = nil
  request.headers.x_seen = seen
  if request:body(10) == 'old' then request.path = '/new' end
end
local function response(request, response) response.headers.x_path = request.path end
return { request = request, response = response, log = function() return { seen = seen } end }
";

/// Runs a test, and returns a line for each problem of its cases; or why it is not a test.
async fn run(test: &str) -> Result<Vec<String>, ScriptError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules.lua"), SCRIPT).unwrap();
    fs::write(folder.path().join("a_test.lua"), test).unwrap();
    let outcomes = ScriptTest::read(&folder.path().join("a_test.lua"))?.run().await;
    let lines = outcomes.into_iter().flat_map(|outcome| {
        let name = outcome.name;
        outcome.problems.into_iter().map(move |problem| format!("{name}: {problem}")).collect::<Vec<_>>()
    });
    Ok(lines.collect())
}

#[tokio::test(flavor = "current_thread")]
async fn cases_say_what_differs() {
    for (case, expected) in [
        ("request = '/', response = 200", vec![]),
        ("request = '/', response = 404", vec!["the status is 200, expected 404"]),
        ("request = '/gone', response = 410, handled = false", vec![]),
        ("request = '/gone', handled = true", vec!["the script responded, and the handler got no request"]),
        ("request = '/', handled = false", vec!["the handler got the request"]),
        ("request = '/fails', response = 500", vec![]),
        ("request = '/slow', handler = 201, response = 201", vec![]),
        (
            "request = '/', handler = { headers = { x_a = '1' }, body = 'page' }, \
             response = { headers = { x_a = '2', x_b = '3', x_path = false }, body = 'other' }",
            vec![
                "the header field x-a is \"1\", expected \"2\"",
                "the header field x-b is missing, expected \"3\"",
                "the header field x-path is \"/\", expected missing",
                "the body is \"page\", expected \"other\"",
            ],
        ),
        (
            "request = { target = '/', client = '192.0.2.7', headers = { x_remove = '1' } }, \
             handled = { headers = { x_client = '192.0.2.7', x_remove = false, x_seen = 1, host = 'localhost' } }",
            vec![],
        ),
        (
            "request = { method = 'POST', target = '/a?q', body = 'old' }, \
             handled = { method = 'POST', target = '/new?q', body = 'old' }",
            vec![],
        ),
        (
            "request = '/', handled = { method = 'POST' }",
            vec!["the method at the handler is \"GET\", expected \"POST\""],
        ),
        ("request = '/canary', handled = { route = 'canary' }", vec![]),
        ("request = '/', handled = { route = 'a' }", vec!["the route at the handler is missing, expected \"a\""]),
        ("request = '/', log = { seen = '1' }", vec![]),
        ("request = '/', log = { seen = '2' }", vec!["the field seen of the log is \"1\", expected \"2\""]),
        ("request = '/fetch', fetch = { ['http://other/'] = { body = 'b' } }, response = { body = 'b' }", vec![]),
        ("request = '/fetch', fetch = { ['http://other/'] = false }, response = { status = 200, body = '' }", vec![]),
        (
            "request = '/redis', redis = { ['MGET a 7'] = { 'x', false }, ['GET b'] = false }, response = { body = 'xfalsenil' }",
            vec![],
        ),
        ("request = '/redis', redis = { ['MGET a 7'] = { 'x' } }, response = 500", vec![]),
        ("request = '/fetch', response = 200", vec!["the status is 500, expected 200"]),
    ] {
        let found = run(&format!("return {{ script = 'rules.lua', {{ name = 'it', {case} }} }}")).await.unwrap();
        let expected: Vec<_> = expected.iter().map(|problem| format!("it: {problem}")).collect();
        assert_eq!(found, expected, "{case}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn cases_run_in_their_order_in_one_state() {
    let found = run("return { script = 'rules.lua',
        { request = '/', log = { seen = '1' } }, { request = '/', log = { seen = '2' } }, { request = '/', response = 1 } }");
    assert_eq!(found.await.unwrap(), ["case 3: the status is 200, expected 1"]);
}

#[tokio::test(flavor = "current_thread")]
async fn an_invalid_test_is_refused() {
    for (test, expected) in [
        ("return 1", "a_test.lua: a test returns a table with `script` and cases, not number"),
        ("return {}", "a_test.lua: the test names no script: write script = \"rules.lua\""),
        (
            "return { script = 'rules.lua' }",
            "a_test.lua: the test has no case: write { request = \"/old\", response = { status = 301 } }",
        ),
        (
            "return { script = 'rules.lua', cases = {} }",
            "a_test.lua: \"cases\" does not belong in a test: there are `script`, a path, and cases, tables",
        ),
        (
            "return { script = 'rules.lua', { request = '/' } }",
            "a_test.lua: \"case 1\": the case expects nothing: write `response`, `handled` or `log`",
        ),
        (
            "return { script = 'rules.lua', { request = '/', respnse = 200 } }",
            "a_test.lua: \"case 1\": \"respnse\" is not a part of a case: there are name, request, handler, fetch, redis, handled, \
             response, log",
        ),
        (
            "return { script = 'rules.lua', { name = 'n', response = 200 } }",
            "a_test.lua: \"n\": `request`: it is missing: write a target, as in request = \"/old\"",
        ),
        (
            "return { script = 'rules.lua', { request = { target = '/', port = 1 }, response = 200 } }",
            "a_test.lua: \"case 1\": `request`: \"port\" is not a part of it: there are method, target, headers, body, client, \
             scheme",
        ),
        (
            "return { script = 'rules.lua', { request = 'a b', response = 200 } }",
            "a_test.lua: \"case 1\": `request`: \"a b\" is not a target: write a path, encoded",
        ),
        (
            "return { script = 'rules.lua', { request = '/', response = { headers = { a = true } } } }",
            "a_test.lua: \"case 1\": `response`: the header field a is text, or false where it must be missing, not boolean",
        ),
        (
            "return { script = 'missing.lua', { request = '/', response = 200 } }",
            "missing.lua: No such file or directory (os error 2)",
        ),
        ("return {{", "a_test.lua:1: unexpected symbol near '<eof>'"),
    ] {
        let error = run(test).await.unwrap_err().to_string();
        assert!(error.ends_with(expected), "{test}: {error}");
    }
}

/// The tests beside the examples.
#[tokio::test(flavor = "current_thread")]
async fn the_examples_pass_their_tests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts");
    let mut cases = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().ends_with("_test.lua") {
            let outcomes = ScriptTest::read(&path).unwrap().run().await;
            let failed: Vec<_> = outcomes.iter().filter(|outcome| !outcome.problems.is_empty()).collect();
            assert!(failed.is_empty(), "{}: {failed:?}", path.display());
            cases += outcomes.len();
        }
    }
    assert!(cases >= 6, "{cases}");
}
