//! Turns of several servers, in a real Redis.

use super::*;
use crate::{Turn, TurnResult};

#[test]
fn one_server_has_the_turn_and_others_get_its_result() {
    requires!("program:redis-server");
    let server = Server::start(&[]);
    let fleets = [(); 2].map(|()| Arc::new(Fleet::new(server.settings())));
    let _threads: Vec<_> = fleets.iter().map(|fleet| fleet.start().unwrap()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let long = Duration::from_secs(60);
    let take = |number: usize, version: u32, holder: &str| {
        runtime.block_on(fleets[number].take_turn("a", version, holder, long))
    };
    let end = |number: usize, holder: &str, result: Option<(u32, &str)>| {
        let result = result.map(|(version, value)| TurnResult { version, value: value.into(), lifetime: long });
        runtime.block_on(fleets[number].end_turn("a", holder, result)).unwrap();
    };
    eventually("Redis answers", || take(0, 0, "first").is_ok());
    eventually("Redis answers the other", || take(1, 0, "second").is_ok());
    // Asked again, since an answer may be lost.
    assert_eq!((take(0, 0, "first"), take(1, 0, "second")), (Ok(Turn::Ours), Ok(Turn::Elsewhere)));
    end(1, "second", None);
    assert_eq!(take(1, 0, "second"), Ok(Turn::Elsewhere), "only its holder ends a turn");
    end(0, "first", Some((1, "one\n two")));
    assert_eq!(take(1, 0, "second"), Ok(Turn::Done(b"one\n two".to_vec())));
    assert_eq!((take(1, 1, "second"), take(0, 1, "first")), (Ok(Turn::Ours), Ok(Turn::Elsewhere)));
    // One that comes late does not take the place of a later one.
    end(1, "second", Some((3, "three")));
    end(0, "first", Some((2, "two")));
    assert_eq!(take(0, 1, "first"), Ok(Turn::Done(b"three".to_vec())));
    assert_eq!(take(0, 3, "first"), Ok(Turn::Ours));
}
