//! Recordings as they could have been.

use std::time::{Duration, UNIX_EPOCH};

use serow_http2::ErrorCode;
use serow_load::waterfall::{Change, Ending, Outcome, Piece, Recording, Resource, Signals, read_resource_specs};

/// Each with a name.
pub(crate) fn all() -> [(&'static str, Recording); 4] {
    [("overtaking", overtaking()), ("sharing", sharing()), ("broken", broken()), ("empty", empty())]
}

/// A picture and a script that overtakes it, on a slow link.
pub(crate) fn overtaking() -> Recording {
    let mut recording = planned(&["https://map.example/tiles/picture.png,u=5", "/script.js,u=1,after=10s"]);
    recording.encryption = Some("TLS 1.3, TLS13_AES_128_GCM_SHA256".to_owned());
    recording.handshake = Some(Duration::from_micros(302_117));
    answer(&mut recording.resources[0], 0.0, 0.601, 200);
    answer(&mut recording.resources[1], 10.0, 10.372, 200);
    // 1,300 bytes every 86 ms: 121 kbit/s.
    let (mut moment, mut left) = (0.601, [700_000_u64, 700_000]);
    while left[0] > 0 {
        let turn = usize::from(moment > 10.372 && left[1] > 0);
        let bytes = left[turn].min(1300);
        left[turn] -= bytes;
        moment += 0.086;
        receive(&mut recording.resources[turn], moment, bytes, left[turn] == 0);
    }
    recording.elapsed = seconds(moment);
    recording
}

/// Many at once, in turns and one after the other, some of another status, one that becomes urgent.
pub(crate) fn sharing() -> Recording {
    let mut texts = vec!["http://127.0.0.1:8080/index.html,u=0".to_owned()];
    texts.extend((1..=6).map(|number| format!("/photographs/of-the-mountain/number-{number}.jpeg,u=5,i,after=4ms")));
    texts.extend(
        ["/application.js,u=7,after=5ms,at=20ms,u=1", "/missing.css,u=1,after=5ms", "/nothing"].map(str::to_owned),
    );
    let mut recording = planned(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    recording.signals = Signals::Rfc9218;
    answer(&mut recording.resources[0], 0.0, 0.0021, 200);
    receive(&mut recording.resources[0], 0.0032, 14_000, true);
    for number in 1..=6 {
        answer(&mut recording.resources[number], 0.0041, 0.0063, 200);
    }
    answer(&mut recording.resources[7], 0.0052, 0.0254, 200);
    answer(&mut recording.resources[8], 0.0052, 0.0074, 404);
    receive(&mut recording.resources[8], 0.0075, 146, true);
    answer(&mut recording.resources[9], 0.0, 0.0022, 204);
    finish(&mut recording.resources[9], 0.0022);
    let urgent = Change { at: seconds(0.020), priority: recording.resources[7].spec.changes[0].priority };
    recording.resources[7].changes.push((urgent.at, urgent.priority));
    for turn in 0..40_usize {
        let moment = 0.0075 + turn as f64 * 0.001;
        let number = if (18..26).contains(&turn) { 7 } else { 1 + turn % 6 };
        let is_last = if number == 7 { turn == 25 } else { turn >= 34 };
        receive(&mut recording.resources[number], moment, 16_384, is_last);
    }
    recording.elapsed = seconds(0.0468);
    recording
}

/// A connection that ends in the middle.
fn broken() -> Recording {
    let mut recording = planned(&[
        "https://a.example/first?a=1&b=2,u=5",
        "/second,u=1,after=1s",
        "/third,u=1,after=2s",
        "/fourth,after=9s",
    ]);
    recording.socket = Some("unix:/run/a.sock".to_owned());
    recording.signals = Signals::Rfc7540;
    answer(&mut recording.resources[0], 0.0, 0.25, 200);
    for number in 2..=20 {
        receive(&mut recording.resources[0], f64::from(number) * 0.15, 9000, false);
    }
    answer(&mut recording.resources[1], 1.0, 1.2, 200);
    receive(&mut recording.resources[1], 1.3, 9000, false);
    finish(&mut recording.resources[1], 1.9);
    recording.resources[1].outcome = Outcome::Reset(ErrorCode::INTERNAL_ERROR.to_string());
    recording.resources[2].asked = Some(seconds(2.0));
    recording.resources[2].outcome = Outcome::Incomplete;
    recording.elapsed = seconds(3.4);
    recording.ending = Ending::Broken("the server closed the connection".to_owned());
    recording
}

/// Nothing came.
fn empty() -> Recording {
    let mut recording = planned(&["https://a.example/first", "/second,u=1"]);
    for resource in &mut recording.resources {
        resource.asked = Some(Duration::ZERO);
        resource.outcome = Outcome::Incomplete;
    }
    recording.elapsed = seconds(30.0);
    recording.ending = Ending::Silence(seconds(30.0));
    recording
}

fn planned(texts: &[&str]) -> Recording {
    let (origin, specs) = read_resource_specs(texts.iter().copied()).expect("they are specs");
    Recording {
        origin,
        socket: None,
        version: http::Version::HTTP_2,
        signals: Signals::Rfc9218,
        connecting: Duration::from_micros(300_042),
        handshake: None,
        encryption: None,
        began: UNIX_EPOCH + Duration::from_secs(1_767_323_045),
        clock: seconds(4711.25),
        resources: specs.into_iter().map(Resource::new).collect(),
        elapsed: Duration::ZERO,
        ending: Ending::Complete,
    }
}

fn answer(resource: &mut Resource, asked: f64, head: f64, status: u16) {
    resource.asked = Some(seconds(asked));
    resource.sent = Some(200);
    resource.head = Some(seconds(head));
    resource.status = Some(status);
    resource.outcome = Outcome::Incomplete;
}

fn receive(resource: &mut Resource, moment: f64, bytes: u64, is_last: bool) {
    resource.pieces.push(Piece { moment: seconds(moment), bytes, place: 0 });
    if is_last {
        finish(resource, moment);
    }
}

fn finish(resource: &mut Resource, moment: f64) {
    resource.end = Some(seconds(moment));
    resource.outcome = Outcome::Whole;
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_micros((seconds * 1e6).round() as u64)
}
