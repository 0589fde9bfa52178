//! Python's frameworks for asyncio, unchanged, as Debian has them.

use std::{
    io::{Read, Write},
    net::TcpStream,
    num::NonZero,
    time::Duration,
};

use crate::support::{Running, content, settings};
use serow_apps::Interface;
use serow_requirements::requires;

fn run(code: &str) -> Running {
    let (mut settings, folder) = settings(Interface::Asgi, "main.py", code);
    settings.run.processes = NonZero::<usize>::MIN;
    Running::new((settings, folder))
}

fn post(running: &Running, path: &str, media_type: &str, body: &str) -> String {
    running.exchange(format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {media_type}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    ))
}

/// Sends `hello` over a WebSocket, and waits for an answer that contains it.
fn say_hello(running: &Running, path: &str) -> String {
    let mut connection = TcpStream::connect(running.address()).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    // Masked with zeros, and behind the request at once.
    connection.write_all(&[request.as_bytes(), b"\x81\x85\0\0\0\0hello"].concat()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"hello") {
        let mut byte = [0];
        connection.read_exact(&mut byte).unwrap();
        answer.extend_from_slice(&byte);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn starlette_answers() {
    requires!("python:starlette");
    let running = run(r#"
import contextlib, time
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute

done = []

async def hello(request):
    return PlainTextResponse(f'Hello, {request.path_params["name"]}! {request.query_params["a"]}')

async def form(request):
    return JSONResponse({'field': (await request.json())['field']})

async def stream(request):
    async def pieces():
        for piece in ('one,', 'two'):
            yield piece
    return StreamingResponse(pieces(), background=BackgroundTask(done.append, 'background'))

def in_a_thread(request):
    return PlainTextResponse(' '.join(done))

async def file(request):
    return FileResponse(__file__)

async def upload(request):
    return PlainTextResponse(str(len(await request.body())))

async def echo(websocket):
    await websocket.accept()
    await websocket.send_text('you said ' + await websocket.receive_text())

async def fail(request):
    raise ValueError('on purpose')

class Marked(BaseHTTPMiddleware):
    async def dispatch(self, request, call_next):
        response = await call_next(request)
        response.headers['x-marked'] = 'yes'
        return response

app = Starlette(
    routes=[
        Route('/hello/{name}', hello), Route('/form', form, methods=['POST']), Route('/stream', stream),
        Route('/thread', in_a_thread), Route('/file', file), Route('/upload', upload, methods=['POST']), Route('/fail', fail),
        WebSocketRoute('/echo', echo),
    ],
    middleware=[Middleware(Marked), Middleware(GZipMiddleware)],
    on_startup=[lambda: done.append('started')],
)
"#);
    let hello = running.get("/hello/J%C3%BCrgen?a=b");
    assert_eq!(content(&hello), "Hello, Jürgen! b");
    assert!(hello.contains("x-marked: yes"), "{hello}");
    let form = post(&running, "/form", "application/json", r#"{"field": "a b"}"#);
    assert_eq!(content(&form), r#"{"field":"a b"}"#);
    assert_eq!(content(&running.get("/stream")), "one,two");
    assert!(content(&running.get("/thread")).contains("started"));
    assert!(content(&running.get("/file")).contains("FileResponse(__file__)"));
    assert_eq!(content(&running.post("/upload", &vec![0; 1_000_000])), "1000000");
    assert!(running.get("/fail").starts_with("HTTP/1.1 500 "));
    assert!(running.get("/missing").starts_with("HTTP/1.1 404 "));
    assert!(say_hello(&running, "/echo").contains("you said hello"));
}

#[test]
fn fastapi_answers() {
    requires!("python:fastapi");
    let running = run(r#"
from fastapi import Depends, FastAPI, WebSocket
from pydantic import BaseModel

class Item(BaseModel):
    name: str
    price: float

app = FastAPI()

def who(name: str = 'nobody'):
    yield name

@app.get('/hello')
def hello(name: str = Depends(who)):
    return {'hello': name}

@app.post('/items/{number}')
async def item(number: int, item: Item):
    return {'number': number, 'name': item.name, 'double': item.price * 2}

@app.websocket('/echo')
async def echo(websocket: WebSocket):
    await websocket.accept()
    async for text in websocket.iter_text():
        await websocket.send_text('you said ' + text)
"#);
    assert_eq!(content(&running.get("/hello?name=somebody")), r#"{"hello":"somebody"}"#);
    let item = post(&running, "/items/7", "application/json", r#"{"name": "a", "price": 1.5}"#);
    assert_eq!(content(&item), r#"{"number":7,"name":"a","double":3.0}"#);
    assert!(post(&running, "/items/x", "application/json", "{}").starts_with("HTTP/1.1 422 "));
    assert!(content(&running.get("/openapi.json")).contains("/items/{number}"));
    assert!(say_hello(&running, "/echo").contains("you said hello"));
}

#[test]
fn quart_answers() {
    requires!("python:quart");
    let running = run(r#"
from quart import Quart, request, websocket
app = Quart(__name__)
started = []

@app.before_serving
async def start():
    started.append('started')

@app.get('/hello/<name>')
async def hello(name):
    return f'Hello, {name}! {request.args["a"]} {started}'

@app.post('/form')
async def form():
    return {'field': (await request.form)['field']}

@app.get('/stream')
async def stream():
    async def pieces():
        yield b'one,'
        yield b'two'
    return pieces(), 200

@app.websocket('/echo')
async def echo():
    await websocket.send('you said ' + await websocket.receive())
"#);
    assert_eq!(content(&running.get("/hello/J%C3%BCrgen?a=b")), "Hello, Jürgen! b ['started']");
    let form = post(&running, "/form", "application/x-www-form-urlencoded", "field=a+b");
    assert_eq!(content(&form).replace([' ', '\n'], ""), r#"{"field":"ab"}"#);
    assert_eq!(content(&running.get("/stream")), "one,two");
    assert!(say_hello(&running, "/echo").contains("you said hello"));
}

#[test]
fn django_answers() {
    requires!("python:django");
    let running = run(r#"
import asyncio
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=['localhost'], SECRET_KEY='of the test',
                   MIDDLEWARE=['django.middleware.common.CommonMiddleware'])

async def hello(request, name):
    await asyncio.sleep(0)
    return HttpResponse(f'Hello, {name}! {request.GET["a"]} {request.META["HTTP_X_ONE"]}')

def form(request):
    return JsonResponse({'field': request.POST['field']})

def upload(request):
    return HttpResponse(str(len(request.body)))

urlpatterns = [path('hello/<name>', hello), path('form', form), path('upload', upload)]
app = get_asgi_application()
"#);
    let request =
        "GET /hello/J%C3%BCrgen?a=b HTTP/1.1\r\nHost: localhost\r\nX-One: 1\r\nX_One: 2\r\nConnection: close\r\n\r\n";
    assert_eq!(content(&running.exchange(request)), "Hello, Jürgen! b 1");
    let form = post(&running, "/form", "application/x-www-form-urlencoded", "field=a+b");
    assert_eq!(content(&form), r#"{"field": "a b"}"#);
    assert_eq!(content(&running.post("/upload", &vec![0; 1_000_000])), "1000000");
    assert!(running.get("/missing").starts_with("HTTP/1.1 404 "));
}
