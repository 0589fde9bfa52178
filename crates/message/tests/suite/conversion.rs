//! Requests and responses there and back through the `http` crate's types.
#![allow(clippy::unwrap_used)]

use std::{
    collections::VecDeque,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Uri};
use http_body::{Frame, SizeHint};
use serow_message::{
    Body, BodyKind, Connection, Headers, KnownHeader, Method, Peer, PendingUpgrade, Priority, Request, RequestContext,
    RequestHead, Response, Scheme, StatusCode, Target, Version,
};

fn request(method: Method, target: &'static str) -> Request {
    let target = Target::parse(target.into(), method == Method::CONNECT).unwrap();
    let mut headers = Headers::new();
    for (name, value) in [("X-Twice", &b"1"[..]), ("x-other", b"caf\xe9\xff"), ("x-twice", b"2"), ("host", b"a")] {
        headers.append(name, value).unwrap();
    }
    let peer: SocketAddr = "192.0.2.1:1000".parse().unwrap();
    let connection = Connection::new(Peer::Tcp(peer), None, Scheme::Https);
    Request::new(RequestHead { method, target, version: Version::HTTP_10, headers }, "body".into(), connection)
}

fn there(request: Request) -> http::Request<Body> {
    request.into()
}

fn back(request: http::Request<Body>) -> Request {
    request.try_into().unwrap()
}

#[test]
fn a_request_comes_back_as_it_went() {
    let mut original = request(Method::PUT, "/a/b?c=%20d&e");
    original.extensions.insert(17u8);
    let (pending, upgrade) = PendingUpgrade::channel();
    let converted = there(original.with_upgrade(upgrade));
    let twice: Vec<_> = converted.headers().get_all("x-twice").iter().collect();
    assert_eq!(twice, [&HeaderValue::from_static("1"), &HeaderValue::from_static("2")]);
    assert_eq!(converted.headers()["x-other"].as_bytes(), b"caf\xe9\xff");
    let context = converted.extensions().get::<RequestContext>().unwrap();
    assert_eq!(context.connection().scheme(), Scheme::Https);
    assert_eq!(converted.uri().path_and_query().unwrap(), "/a/b?c=%20d&e");

    let mut returned = back(converted);
    assert_eq!((&returned.method, returned.version), (&Method::PUT, Version::HTTP_10));
    assert_eq!(returned.target.as_str(), "/a/b?c=%20d&e");
    assert_eq!(returned.headers.get_all("x-twice").collect::<Vec<_>>(), [b"1", b"2"]);
    assert_eq!(returned.headers.get("x-other"), Some(&b"caf\xe9\xff"[..]));
    assert_eq!(returned.extensions.get::<u8>(), Some(&17));
    assert_eq!(returned.connection().scheme(), Scheme::Https);
    assert!(matches!(returned.body.kind(), BodyKind::Bytes(bytes) if bytes == "body"));
    assert!(!pending.is_abandoned());
    assert!(returned.upgrade().is_some());
    assert!(pending.is_abandoned());
}

#[test]
fn a_service_knows_the_priority_of_the_request() {
    for (field, expected) in [
        (None, Priority::DEFAULT),
        (Some("u=1, i"), Priority { urgency: 1, incremental: true }),
        (Some("i=?1;"), Priority::DEFAULT),
    ] {
        let mut original = request(Method::GET, "/");
        if let Some(field) = field {
            original.headers.append("priority", field).unwrap();
        }
        let converted = there(original);
        assert_eq!(converted.extensions().get::<RequestContext>().unwrap().priority(), expected, "{field:?}");
        let returned = back(converted);
        assert_eq!(returned.extensions.get::<RequestContext>().map(RequestContext::priority), None);
        assert_eq!(returned.headers.get_str("priority"), field);
    }
}

#[test]
fn a_priority_in_the_extensions_of_a_response_becomes_its_field() {
    for field in [None, Some("u=1")] {
        let mut response = http::Response::new(Body::empty());
        if let Some(field) = field {
            response.headers_mut().insert("priority", HeaderValue::from_static(field));
        }
        response.extensions_mut().insert(Priority { urgency: 6, incremental: false });
        let converted = Response::from(response);
        assert_eq!(converted.headers.get_all("priority").collect::<Vec<_>>(), [b"u=6"]);
        assert_eq!(converted.extensions.get::<Priority>(), None);
    }
}

#[test]
fn every_form_of_target_survives() {
    for (method, target) in [
        (Method::GET, "/"),
        (Method::GET, "//double//slash"),
        (Method::GET, "/a?"),
        (Method::GET, "http://b:8080/x?y=z"),
        (Method::OPTIONS, "*"),
        (Method::CONNECT, "b:443"),
        (Method::CONNECT, "[::1]:443"),
    ] {
        let returned = back(there(request(method, target)));
        assert_eq!(returned.target.as_str(), target);
    }
}

#[test]
fn a_request_of_untrusted_text_is_a_result() {
    assert_eq!(Request::try_get("/a?b".to_owned()).unwrap().target.as_str(), "/a?b");
    for target in ["", "a", "/a b", "/a\r\nb", "/a#b"] {
        assert!(Request::try_get(target).is_err(), "{target:?}");
    }
}

#[test]
fn a_target_that_http_does_not_know_is_encoded() {
    let converted = there(request(Method::GET, "/a<b>|^`?\\"));
    assert_ne!(converted.uri(), &Uri::default(), "it must not become another path");
    assert!(converted.uri().path().starts_with("/a"), "{}", converted.uri());
}

#[test]
fn a_response_comes_back_as_it_went() {
    let mut original = Response::text("body").status(StatusCode::IM_A_TEAPOT).with("x-twice", "1").with("X-Twice", "2");
    original.extensions.insert("note");
    let converted: http::Response<Body> = original.into();
    assert_eq!(converted.headers().get_all("x-twice").iter().count(), 2);
    let returned: Response = converted.into();
    assert_eq!(returned.status, StatusCode::IM_A_TEAPOT);
    assert_eq!(returned.headers.get_all("x-twice").collect::<Vec<_>>(), [b"1", b"2"]);
    assert_eq!(returned.headers.get_str(KnownHeader::ContentType), Some("text/plain; charset=utf-8"));
    assert_eq!(returned.extensions.get::<&str>(), Some(&"note"));
    assert!(matches!(returned.body.kind(), BodyKind::Bytes(_)));
}

#[test]
fn our_own_body_stays_what_it_is_and_one_without_a_length_becomes_a_stream() {
    /// Says nothing of its length.
    struct Foreign(Option<Bytes>);
    impl http_body::Body for Foreign {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Ready(self.0.take().map(|data| Ok(http_body::Frame::data(data))))
        }
    }
    let response: Response = http::Response::new(Foreign(Some("abc".into()))).into();
    assert!(matches!(response.body.kind(), BodyKind::Stream(_)));
    assert_eq!(response.body.length(), None);
    let response: Response = http::Response::new(Body::empty()).into();
    assert!(matches!(response.body.kind(), BodyKind::Empty));
}

/// A foreign body that says how long it is, and gives these frames.
struct Sized {
    frames: VecDeque<Option<Result<Frame<Bytes>, &'static str>>>,
    length: u64,
}

impl Sized {
    fn response(frames: &[Option<Result<Frame<Bytes>, &'static str>>], length: u64) -> Response {
        let copy = |frame: &Frame<Bytes>| match (frame.data_ref(), frame.trailers_ref()) {
            (Some(data), _) => Frame::data(data.clone()),
            (_, Some(trailers)) => Frame::trailers(trailers.clone()),
            _ => unreachable!(),
        };
        let copied = |frame: &Result<Frame<Bytes>, &'static str>| frame.as_ref().map(copy).map_err(|error| *error);
        let frames = frames.iter().map(|frame| frame.as_ref().map(copied)).collect();
        http::Response::new(Self { frames, length }).into()
    }
}

impl http_body::Body for Sized {
    type Data = Bytes;
    type Error = &'static str;

    /// `None` stands for one that is not there yet.
    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = match self.frames.pop_front() {
            Some(None) => return Poll::Pending,
            next => next.flatten(),
        };
        if let Some(Ok(frame)) = &next {
            self.length -= frame.data_ref().map_or(0, Bytes::len) as u64;
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

/// All that a stream gives, without waiting.
fn streamed(body: Body) -> (Vec<u8>, bool, bool) {
    let BodyKind::Stream(mut stream) = body.into_kind() else { panic!("it is no stream") };
    let (mut data, mut has_trailers, mut has_failed) = (Vec::new(), false, false);
    loop {
        match stream.as_mut().poll_frame(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Pending => {}
            Poll::Ready(None) => return (data, has_trailers, has_failed),
            Poll::Ready(Some(Err(_))) => has_failed = true,
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(piece) => data.extend_from_slice(&piece),
                Err(_) => has_trailers = true,
            },
        }
    }
}

#[test]
fn a_foreign_body_that_is_there_becomes_bytes_and_another_one_loses_nothing() {
    let data = |text: &'static str| Some(Ok(Frame::data(Bytes::from_static(text.as_bytes()))));
    let trailers = || Some(Ok(Frame::trailers(http::HeaderMap::new())));

    let whole = Sized::response(&[data("abc")], 3);
    let BodyKind::Bytes(bytes) = whole.body.kind() else { panic!("it is there") };
    assert_eq!(bytes, "abc");

    for (frames, length, expected) in [
        (vec![data("abc"), data("def")], 6, (&b"abcdef"[..], false, false)),
        (vec![None, data("abc")], 3, (b"abc", false, false)),
        (vec![data("abc"), None, data("def")], 6, (b"abcdef", false, false)),
        (vec![data("abc"), trailers()], 3, (b"abc", true, false)),
        (vec![trailers()], 0, (b"", true, false)),
        (vec![Some(Err("lost"))], 3, (b"", false, true)),
        (vec![data("a"), Some(Err("lost"))], 3, (b"a", false, true)),
    ] {
        let response = Sized::response(&frames, length);
        assert_eq!(response.body.length(), Some(length), "the server announces it");
        let (found, has_trailers, has_failed) = streamed(response.body);
        assert_eq!((&found[..], has_trailers, has_failed), expected, "{frames:?}");
    }
    // It is longer than what is sent with a head.
    let long = Sized::response(&[data("abc")], (64 << 10) + 1);
    assert!(matches!(long.body.kind(), BodyKind::Stream(_)));
}
