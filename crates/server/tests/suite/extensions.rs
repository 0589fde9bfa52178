//! Extensions of a response live until it is sent, or cannot be sent any more.

use std::sync::{Arc, Mutex};

use serow::{Request, Response};

use crate::support::{Asked, BOTH, Running, channel_body, eventually};

#[test]
fn extensions_of_a_response_live_until_it_is_sent_or_its_client_leaves() {
    for spoken in BOTH {
        for leaves in [false, true] {
            let guard = Arc::new(());
            let (kept, feeds) = (Arc::downgrade(&guard), Arc::new(Mutex::new(Vec::new())));
            let (guard, shared) = (Arc::new(Mutex::new(Some(guard))), Arc::clone(&feeds));
            let server = Running::new(move |_: Request| {
                let (feed, body) = channel_body();
                shared.lock().unwrap().push(feed);
                let mut response = Response::default().body(body);
                response.extensions.insert(guard.lock().unwrap().take().unwrap());
                std::future::ready(response)
            });
            let mut client = server.connect_with(spoken);
            client.begin(&Asked::get("/"));
            assert_eq!(client.head(), 200);
            let feed = feeds.lock().unwrap().pop().unwrap();
            feed.send("antelope".into()).unwrap();
            assert_eq!(client.body(8), b"antelope", "{spoken:?}");
            assert_eq!(kept.strong_count(), 1, "{spoken:?}");
            if leaves {
                drop(client);
                // The server notices at the latest when it has something to send.
                eventually("the client has left", || {
                    let _ = feed.send("more".into());
                    kept.strong_count() == 0
                });
            } else {
                drop(feed);
                assert_eq!(client.answer().text(), "antelope");
                eventually("the response is sent", || kept.strong_count() == 0);
            }
        }
    }
}
