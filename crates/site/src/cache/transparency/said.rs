//! Responses of the origin, and how they are sent.

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serow::{Body, Request, Response};
use serow_message::StatusCode;

/// A response of the origin.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// The client's request that was forwarded.
    pub(super) ask: usize,
    pub(super) status: u16,
    /// Cache-Control and Vary, if it had them.
    pub(super) control: Option<&'static str>,
    pub(super) vary: Option<&'static str>,
    pub(super) sets_cookie: bool,
    pub(super) names_user: bool,
    pub(super) tag: Option<String>,
    pub(super) coding: Option<&'static str>,
    /// The content apart from the coding; `content` is the same with the coding, as its bytes.
    pub(super) meaning: String,
    pub(super) content: String,
    pub(super) sent: u64,
    pub(super) received: u64,
    /// The index at which the request came.
    pub(super) index: usize,
}

impl Said {
    /// The response to this request, with this number.
    pub(super) fn response(&self, request: &Request, number: usize, is_cut: bool) -> Response {
        let said = self;
        let mut response = Response::new(StatusCode::from_u16(said.status).unwrap());
        let mut set = |name: &str, value: &str| response.headers.append(name, value).unwrap();
        set(&format!("x-trace-{number}"), "1");
        said.control.iter().for_each(|value| set("cache-control", value));
        said.vary.iter().for_each(|value| set("vary", value));
        said.tag.iter().for_each(|value| set("etag", value));
        said.coding.iter().for_each(|value| set("content-encoding", value));
        if said.sets_cookie {
            set("set-cookie", &format!("s={number}"));
        }
        if said.names_user {
            set("x-user", &number.to_string());
        }
        let content = Bytes::from(said.content.clone());
        if request.method == "HEAD" {
            set("content-length", &content.len().to_string());
            return response;
        }
        if said.status == 304 {
            return response;
        }
        if let Some((start, end)) = part(request, said, content.len()) {
            set("content-range", &format!("bytes {start}-{}/{}", end - 1, content.len()));
            response.status = StatusCode::PARTIAL_CONTENT;
            return response.body(content.slice(start..end));
        }
        match is_cut {
            true => response.body(Body::stream(CutBody(Some(content.slice(..content.len() / 2))))),
            false => response.body(content),
        }
    }
}

/// The bytes that a request wants, of a content with a strong tag.
fn part(request: &Request, said: &Said, length: usize) -> Option<(usize, usize)> {
    let range = request.headers.get_str("range")?.strip_prefix("bytes=")?;
    let is_strong = said.tag.as_ref().is_some_and(|tag| tag.starts_with('"'));
    if !is_strong || said.status != 200 || request.headers.contains("if-range") {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let (start, end) = match (start.parse::<usize>(), end.parse::<usize>()) {
        (Ok(start), Ok(end)) => (start, (end + 1).min(length)),
        (Ok(start), Err(_)) => (start, length),
        (Err(_), Ok(suffix)) => (length.saturating_sub(suffix), length),
        (Err(_), Err(_)) => return None,
    };
    (start < end).then_some((start, end))
}

/// A body that ends before its time.
struct CutBody(Option<Bytes>);

impl http_body::Body for CutBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let cut = || Err(std::io::Error::other("cut off"));
        std::task::Poll::Ready(Some(self.0.take().map_or_else(cut, |bytes| Ok(Frame::data(bytes)))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
