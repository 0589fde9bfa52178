//! Python's frameworks, unchanged, as Debian has them.

use std::{fs, num::NonZero, path::Path};

use crate::support::{Running, body, settings};
use serow_apps::Interface;
use serow_requirements::requires;

fn run(code: &str) -> Running {
    let (mut settings, folder) = settings(Interface::Wsgi, "main.py", code);
    settings.run.processes = NonZero::<usize>::MIN;
    Running::new((settings, folder))
}

fn post_form(running: &Running, path: &str, form: &str) -> String {
    running.exchange(format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    ))
}

#[test]
fn flask_answers() {
    requires!("python:flask");
    let code = r#"
from flask import Flask, Response, request, send_file, session, stream_with_context
app = Flask(__name__)
app.secret_key = 'of the test'

@app.get('/hello/<name>')
def hello(name): return f'Hello, {name}! {request.args.get("a")} {request.url}'

@app.post('/form')
def form():
    session['field'] = request.form['field']
    return {'field': request.form['field']}

@app.get('/session')
def kept(): return session['field']

@app.get('/stream')
def stream(): return Response(stream_with_context(f'{number} {request.path},' for number in range(3)))

@app.get('/file')
def file(): return send_file(__file__, mimetype='text/plain')

@app.post('/upload')
def upload():
    file = request.files['file']
    return f'{file.filename} {len(file.read())}'
"#;
    let running = run(code);
    assert_eq!(body(&running.get("/hello/J%C3%BCrgen?a=b")), "Hello, Jürgen! b http://localhost/hello/Jürgen?a=b");
    let response = post_form(&running, "/form", "field=a+b");
    assert_eq!(body(&response), "{\"field\":\"a b\"}\n", "{response}");
    let cookie = response.split("Set-Cookie: ").nth(1).and_then(|rest| rest.split(';').next()).unwrap();
    let request = format!("GET /session HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
    assert_eq!(body(&running.exchange(request)), "a b");
    assert!(body(&running.get("/stream")).contains("0 /stream,"));
    let response = running.get("/file");
    assert_eq!(body(&response), code, "{response}");
    assert!(response.contains("content-length: "));
    let part = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n";
    let content = format!("{part}{}\r\n--x--\r\n", "y".repeat(200_000));
    let head = "POST /upload HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=x";
    let response = running.exchange(format!("{head}\r\nContent-Length: {}\r\n\r\n{content}", content.len()));
    assert_eq!(body(&response), "a.txt 200000");
    assert!(running.get("/missing").starts_with("HTTP/1.1 404 "));
}

#[test]
fn bottle_answers() {
    requires!("python:bottle");
    let code = r#"
from bottle import default_app, get, post, request, response, static_file
@get('/hello/<name>')
def hello(name):
    response.set_cookie('a', 'b')
    return f'Hello, {name}!'
@post('/form')
def form(): return request.forms.field
@get('/stream')
def stream():
    yield 'one,'
    yield 'two'
@get('/file')
def file(): return static_file('main.py', root='.')
app = default_app()
"#;
    let running = run(code);
    let response = running.get("/hello/J%C3%BCrgen");
    assert!(body(&response) == "Hello, Jürgen!" && response.contains("Set-Cookie: a=b\r\n"), "{response}");
    assert_eq!(body(&post_form(&running, "/form", "field=a%20b")), "a b");
    assert_eq!(body(&running.get("/stream")), "4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n");
    assert_eq!(body(&running.get("/file")), code);
}

/// A project as `django-admin startproject project` lays it out, with an application of it.
fn write_project(folder: &Path) {
    let project = folder.join("project");
    fs::create_dir(&project).unwrap();
    let settings = "
from pathlib import Path
BASE_DIR = Path(__file__).resolve().parent.parent
SECRET_KEY = 'of the test'
DEBUG = False
ALLOWED_HOSTS = ['localhost']
ROOT_URLCONF = 'project.urls'
INSTALLED_APPS = ['django.contrib.contenttypes', 'django.contrib.auth', 'django.contrib.sessions', 'django.contrib.messages']
MIDDLEWARE = ['django.middleware.security.SecurityMiddleware', 'django.contrib.sessions.middleware.SessionMiddleware',
    'django.middleware.common.CommonMiddleware', 'django.middleware.csrf.CsrfViewMiddleware']
TEMPLATES = [{'BACKEND': 'django.template.backends.django.DjangoTemplates', 'DIRS': [BASE_DIR]}]
DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': BASE_DIR / 'db.sqlite3'}}
WSGI_APPLICATION = 'project.wsgi.application'
";
    let urls = "
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

def users(request):
    call_command('migrate', verbosity=0)
    User.objects.get_or_create(username='somebody')
    return render(request, 'page.html', {'users': User.objects.all()})

@csrf_exempt
def form(request): return HttpResponse(request.POST['field'])
def strict(request): return HttpResponse('never')
def stream(request): return StreamingHttpResponse(iter(['one,', 'two']))
def file(request): return FileResponse(open('page.html', 'rb'))
urlpatterns = [path('users/<name>', lambda request, name: HttpResponse(f'Hello, {name}!')), path('users', users),
    path('form', form), path('strict', strict), path('stream', stream), path('file', file)]
";
    let wsgi = "
import os
from django.core.wsgi import get_wsgi_application
os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'project.settings')
application = get_wsgi_application()
";
    let files = [
        ("project/__init__.py", ""),
        ("project/settings.py", settings),
        ("project/urls.py", urls),
        ("project/wsgi.py", wsgi),
        ("page.html", PAGE),
    ];
    files.iter().for_each(|(name, content)| fs::write(folder.join(name), content).unwrap());
}

const PAGE: &str = "<ul>{% for user in users %}<li>{{ user.username }}</li>{% endfor %}</ul>\n";

#[test]
fn django_answers() {
    requires!("python:django");
    for (application, preload) in [("project.wsgi", false), ("project/wsgi.py", true)] {
        let (mut settings, folder) = settings(Interface::Wsgi, "unused.py", "");
        write_project(folder.path());
        settings.program.application = application.to_owned();
        settings.preload = preload;
        settings.run.processes = NonZero::<usize>::MIN;
        let running = Running::new((settings, folder));
        assert_eq!(body(&running.get("/users/J%C3%BCrgen")), "Hello, Jürgen!");
        assert_eq!(body(&running.get("/users")), "<ul><li>somebody</li></ul>\n");
        assert_eq!(body(&post_form(&running, "/form", "field=a+b")), "a b");
        assert!(post_form(&running, "/strict", "field=a").starts_with("HTTP/1.1 403 "));
        assert_eq!(body(&running.get("/stream")), "4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n");
        let response = running.get("/file");
        assert!(body(&response) == PAGE && response.contains("content-length: "), "{response}");
        assert!(running.get("/missing").starts_with("HTTP/1.1 404 "));
        let request = "GET /users HTTP/1.1\r\nHost: elsewhere\r\nConnection: close\r\n\r\n";
        assert!(running.exchange(request).starts_with("HTTP/1.1 400 "));
    }
}
