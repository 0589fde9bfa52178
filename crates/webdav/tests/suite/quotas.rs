//! How many bytes a folder may have.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serow_message::Body;
use serow_webdav::{WriteMode, WriteSettings};

use crate::site::Site;

const KILOBYTE: &str = include_str!("kilobyte.txt");

fn site(mode: WriteMode, quota: u64) -> Site {
    Site::new(WriteSettings { mode, quota: Some(quota) })
}

/// Available and used bytes of a folder, as PROPFIND says.
fn state(site: &Site, path: &str) -> (u64, u64) {
    let body = "<propfind xmlns='DAV:'><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>";
    let (_, text) = site.ask(&format!("PROPFIND {path}"), &["Depth: 0"], body);
    let value = |name: &str| {
        let (_, rest) = text.split_once(&format!("<D:{name}>")).unwrap_or_else(|| panic!("no {name} in {text}"));
        rest.split('<').next().unwrap().parse().unwrap()
    };
    (value("quota-available-bytes"), value("quota-used-bytes"))
}

/// A body that begins when so many are waited for.
struct Late {
    awaited: Arc<AtomicUsize>,
    wanted: usize,
    is_awaited: bool,
    rest: usize,
    is_length_known: bool,
}

impl http_body::Body for Late {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !std::mem::replace(&mut self.is_awaited, true) {
            self.awaited.fetch_add(1, Ordering::Relaxed);
        }
        if self.awaited.load(Ordering::Relaxed) < self.wanted {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let piece = self.rest.min(700);
        self.rest -= piece;
        Poll::Ready((piece > 0).then(|| Ok(Frame::data(vec![b'x'; piece].into()))))
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_length_known { SizeHint::with_exact(self.rest as u64) } else { SizeHint::default() }
    }
}

/// A body whose length the server does not know in advance.
fn stream(rest: usize) -> Body {
    Body::stream(Late { awaited: Arc::default(), wanted: 0, is_awaited: false, rest, is_length_known: false })
}

#[test]
fn every_change_keeps_the_count() {
    let site = site(WriteMode::Dav, 10_000);
    site.write("old/inner", KILOBYTE);
    assert_eq!(state(&site, "/"), (9_000, 1_000));
    for (line, fields, body, status, used) in [
        ("PUT /a", &[][..], KILOBYTE, 201, 2_000),
        ("PUT /a", &[], "12345", 204, 1_005),
        ("PUT /a", &[], KILOBYTE, 204, 2_000),
        ("MKCOL /folder", &[], "", 201, 2_000),
        ("COPY /a", &["Destination: /folder/b"], "", 201, 3_000),
        ("COPY /old", &["Destination: /folder/old"], "", 201, 4_000),
        ("COPY /a", &["Destination: /folder/b"], "", 204, 4_000),
        ("COPY /a", &["Destination: /folder/old"], "", 204, 4_000),
        ("MOVE /a", &["Destination: /c"], "", 201, 4_000),
        ("MOVE /c", &["Destination: /folder/b"], "", 204, 3_000),
        ("MOVE /folder", &["Destination: /old"], "", 204, 2_000),
        ("DELETE /old/b", &[], "", 204, 1_000),
        ("DELETE /old", &[], "", 204, 0),
        ("DELETE /none", &[], "", 404, 0),
    ] {
        assert_eq!(site.status(line, fields, body), status, "{line}");
        assert_eq!(state(&site, "/"), (10_000 - used, used), "{line}");
    }
}

#[test]
fn a_file_that_exceeds_the_quota_is_refused_and_leaves_nothing() {
    let site = site(WriteMode::Dav, 3_500);
    site.write("folder/a", KILOBYTE);
    site.write("folder/b", KILOBYTE);
    let (refused, text) = site.ask("PUT /c", &[], KILOBYTE.repeat(2));
    assert_eq!(refused.status.as_u16(), 507);
    assert_eq!(text, "507 Insufficient Storage: the folder has reached its quota\n");
    assert_eq!(site.ask("PUT /c", &[], stream(1_501)).0.status.as_u16(), 507);
    assert_eq!(site.status("COPY /folder", &["Destination: /copy"], ""), 507);
    assert_eq!(site.names(""), ["folder"]);
    assert_eq!(state(&site, "/"), (1_500, 2_000));
    // The rest can be used to the last byte.
    assert_eq!(site.ask("PUT /c", &[], stream(1_500)).0.status.as_u16(), 201);
    assert_eq!(state(&site, "/folder"), (0, 3_500));
    assert_eq!(site.status("PUT /d", &[], "x"), 507);
    assert_eq!(site.status("PUT /d", &[], ""), 201);
    assert_eq!(site.status("DELETE /folder/a", &[], ""), 204);
    assert_eq!(site.status("PUT /d", &[], "x"), 204);
}

#[test]
fn refused_uploads_give_their_room_back() {
    let site = site(WriteMode::Put, 1_500);
    for (line, fields, status) in
        [("PUT /none/a", &[][..], 409), ("PUT /a", &["If-Match: *"], 412), ("PUT /a/", &[], 405), ("PUT /a", &[], 201)]
    {
        assert_eq!(site.status(line, fields, KILOBYTE), status, "{line} {fields:?}");
    }
}

#[test]
fn uploads_at_the_same_time_share_the_room() {
    for is_length_known in [true, false] {
        let site = site(WriteMode::Dav, 2_500);
        let awaited = Arc::new(AtomicUsize::new(0));
        // Those whose length is known are let in as long as there is room for them.
        let wanted = if is_length_known { 2 } else { 6 };
        let body = || {
            Body::stream(Late {
                awaited: Arc::clone(&awaited),
                wanted,
                is_awaited: false,
                rest: 1_000,
                is_length_known,
            })
        };
        let statuses = site.upload_at_once((0..6).map(|_| body()).collect());
        let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
        assert!(count(201) <= 2 && count(201) + count(507) == 6, "{statuses:?}");
        if is_length_known {
            assert_eq!(count(201), 2, "{statuses:?}");
        }
        let used = 1_000 * count(201) as u64;
        assert_eq!(state(&site, "/"), (2_500 - used, used));
    }
}
