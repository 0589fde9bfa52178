//! Forms with files, which PHP itself does not read in workers.

use std::{fs, num::NonZero};

use crate::support::{Running, content, settings, wait_until};
use serow_apps::Interface;
use serow_requirements::requires;

fn run(code: &str) -> Running {
    let (mut settings, folder) = settings(Interface::PhpWorker, "app.php", code);
    settings.run.processes = NonZero::<usize>::MIN;
    fs::create_dir(folder.path().join("uploads")).unwrap();
    let folder_of_uploads = folder.path().join("uploads").to_str().unwrap().to_owned();
    let php = [
        "php",
        "-d",
        &format!("upload_tmp_dir={folder_of_uploads}"),
        "-d",
        "upload_max_filesize=200K",
        "-d",
        "post_max_size=1M",
    ];
    settings.program.interpreter = serow_apps::Interpreter::from_command(php);
    Running::new((settings, folder))
}

fn post(running: &Running, boundary: &str, body: &[u8]) -> String {
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary={boundary}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    running.exchange([head.as_bytes(), body].concat())
}

fn field(name: &str, value: &str) -> Vec<u8> {
    format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").into_bytes()
}

fn file(name: &str, file: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\nContent-Type: text/x\r\n\r\n"
    );
    [head.as_bytes(), content, b"\r\n"].concat()
}

const PLAIN: &str = r#"<?php
return function (array $server, Serow\Body $body): string {
    $files = $body->files();
    array_walk_recursive($files, function (&$value, $key) use (&$sums) {
        if ($key === 'tmp_name') {
            $value = $value === '' ? '' : strlen(file_get_contents($value)) . ' ' . md5_file($value);
        }
    });
    return json_encode([$body->fields(), $files]);
};
"#;

#[test]
fn fields_and_files_are_nested_as_php_nests_them() {
    requires!("program:php");
    let running = run(PLAIN);
    let fields =
        [field("a", "1"), field("b[x][]", "2\r\n--"), field("b[x][]", "3"), field("c.d", ""), b"--b--\r\n".to_vec()];
    assert_eq!(content(&post(&running, "b", &fields.concat())), r#"[{"a":"1","b":{"x":["2\r\n--","3"]},"c_d":""},[]]"#);
    let files = [file("f", "C:\\\\dir\\\\a.txt", b"abc"), file("g[]", "", b""), b"--b--".to_vec()];
    let answer = content(&post(&running, "b", &files.concat()));
    let expected = r#"[[],{"f":{"name":"a.txt","full_path":"C:\\\\dir\\\\a.txt","type":"text\/x","tmp_name":"3 900150983cd24fb0d6963f7d28e17f72","error":0,"size":3},"g":[{"name":"","full_path":"","type":"text\/x","tmp_name":"","error":4,"size":0}]}]"#;
    assert_eq!(answer, expected);
    wait_until("files are deleted", || fs::read_dir(running.folder.path().join("uploads")).unwrap().count() == 0);
}

/// Delimiters lie at any place of the pieces that are read, and content looks like them.
#[test]
fn files_of_any_length_arrive_whole() {
    requires!("program:php");
    let running = run(PLAIN);
    for length in [0, 1, 65_400, 65_500, 65_536, 131_000, 200_000] {
        let content_of_file: Vec<u8> = b"\r\n--\r\n--a".iter().copied().cycle().take(length).collect();
        let body = [file("f", "a", &content_of_file), field("last", "1"), b"--b--\r\n".to_vec()].concat();
        let answer = content(&post(&running, "b", &body));
        assert!(
            answer.contains(&format!(r#""tmp_name":"{length} "#)) && answer.contains(r#"{"last":"1"}"#),
            "{length}: {answer}"
        );
    }
}

#[test]
fn forms_beyond_limits_and_malformed_ones_are_refused() {
    requires!("program:php");
    let running = run(PLAIN);
    let many: Vec<u8> = (0..30).flat_map(|number| file(&format!("f{number}"), "a", b"x")).chain(*b"--b--").collect();
    assert_eq!(content(&post(&running, "b", &many)).matches("\"size\":1").count(), 20, "max_file_uploads");
    let long = [file("f", "a", &[b'x'; 210_000]), b"--b--".to_vec()].concat();
    assert!(content(&post(&running, "b", &long)).contains(r#""error":1,"size":0"#), "upload_max_filesize");
    let parts: Vec<u8> = (0..2_100).flat_map(|_| field("a", "1")).chain(*b"--b--").collect();
    let boundary = "b".repeat(71);
    for (boundary, body, status) in [
        ("b", field("a", &"x".repeat(1_100_000)), "413"),
        ("b", parts, "413"),
        ("b", field("a", "1"), "400"),
        ("b", file("f", "a", b"begun"), "400"),
        ("b", [file("f", "a", b"whole"), file("g", "b", b"begun")].concat(), "400"),
        ("b", b"no delimiter".to_vec(), "400"),
        ("b", b"--bx\r\n\r\n--b--".to_vec(), "400"),
        ("b", [b"--b\r\nX: ".to_vec(), vec![b'x'; 20_000], b"\r\n\r\n\r\n--b--".to_vec()].concat(), "400"),
        (&boundary, b"x".to_vec(), "400"),
        ("", b"x".to_vec(), "400"),
    ] {
        let answer = post(&running, boundary, &body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{boundary} {}: {answer}", body.len());
    }
    assert_eq!(content(&post(&running, "b", b"--b--")), "[[],[]]");
    wait_until("files are deleted", || fs::read_dir(running.folder.path().join("uploads")).unwrap().count() == 0);
}

#[test]
fn frameworks_get_uploaded_files_that_they_can_move() {
    requires!(
        "program:php",
        "file:/usr/share/php/Nyholm/Psr7/autoload.php",
        "file:/usr/share/php/GuzzleHttp/Psr7/autoload.php",
        "file:/usr/share/php/Symfony/Component/HttpKernel/autoload.php"
    );
    let psr = "return function (Psr\\Http\\Message\\ServerRequestInterface $request) {
        $file = $request->getUploadedFiles()['f'][0];
        $file->moveTo('moved');
        return new Response(200, [], $file->getClientFilename() . ' ' . file_get_contents('moved') . json_encode($request->getParsedBody()));
    };";
    let applications = [
        format!("<?php require 'Nyholm/Psr7/autoload.php'; use Nyholm\\Psr7\\Response; {psr}"),
        format!("<?php require 'GuzzleHttp/Psr7/autoload.php'; use GuzzleHttp\\Psr7\\Response; {psr}"),
        "<?php require 'Symfony/Component/HttpKernel/autoload.php'; use Symfony\\Component\\HttpFoundation\\{Request, Response};
        return function (Request $request) {
            $file = $request->files->get('f')[0];
            $file->move('.', 'moved');
            return new Response($file->getClientOriginalName() . ' ' . file_get_contents('moved') . json_encode($request->request->all()));
        };"
        .to_owned(),
    ];
    for code in applications {
        let running = run(&code);
        let body = [file("f[]", "a b.txt", b"content"), field("x", "1"), b"--b--\r\n".to_vec()].concat();
        assert_eq!(content(&post(&running, "b", &body)), r#"a b.txt content{"x":"1"}"#, "{code}");
    }
}
