//! Plans from seeds.

use std::time::Duration;

use serow_net::simulated::Link;

use crate::{
    plan::{
        Answer, ClientPlan, Conduct, Departure, Fault, Id, Malformation, Moment, Place, Plan, RequestBody, RequestPlan,
        ResponseFraming, Version, Violation,
    },
    random::Random,
    settings::Settings,
};

/// The plan of a seed. The parts of it draw from sources of their own, so that a change of one leaves the others as they
/// are.
pub(crate) fn plan(seed: u64) -> Plan {
    let mut random = Random::new(seed);
    let settings = Settings::random(&mut Random::new(random.next()));
    let mut mood = Mood::random(&mut random);
    mood.is_link_whole = settings.link.pieces.is_none();
    let clients: Vec<_> =
        (0..CLIENTS).map(|number| client(number, &mut mood, &mut Random::new(random.next()))).collect();
    let stop = random.once_in(3).then(|| random.milliseconds(0, LAST_BEGIN));
    let exhaustion =
        random.once_in(6).then(|| (random.milliseconds(0, LAST_BEGIN), random.milliseconds(1, LONGEST_EXHAUSTION)));
    Plan { seed, settings, clients, stop, exhaustion }
}

/// How much goes wrong in a plan: one in so many requests has a fault of its server, or misbehaves itself. Much in some
/// plans, nothing in others.
struct Mood {
    faults: usize,
    misconduct: usize,
    most_body: usize,
    is_slow: bool,
    /// Whether what a server sends at a time arrives at a time.
    is_link_whole: bool,
}

impl Mood {
    fn random(random: &mut Random) -> Self {
        Self {
            faults: random.of(&[2, 5, 20, 1_000_000]),
            misconduct: random.of(&[2, 5, 20, 1_000_000]),
            most_body: random.of(&[100, 20_000, 200_000]),
            is_slow: random.once_in(2),
            is_link_whole: true,
        }
    }
}

fn client(number: usize, mood: &mut Mood, random: &mut Random) -> ClientPlan {
    let version = random.of(&[
        Version::Http1,
        Version::Http1,
        Version::Http1,
        Version::Http2,
        Version::Http2,
        Version::Http2,
        Version::Http10,
    ]);
    let link = Link {
        delay: if mood.is_slow { random.milliseconds(0, 50) } else { Duration::ZERO },
        rate: (mood.is_slow && random.once_in(2)).then_some(400_000),
        capacity: random.of(&[20_000, 200_000, 4 << 20]),
        pieces: (!random.once_in(3)).then(|| random.next()),
    };
    let count = if version == Version::Http10 { 1 } else { 1 + random.below(2 * REQUESTS - 1) };
    let mut requests = Vec::new();
    for request in 0..count {
        let id = Id { client: number, request };
        let request = self::request(id, version, mood, random);
        // Over HTTP/1.1, what comes behind is not understood any more.
        let is_last = version != Version::Http2 && request.conduct != Conduct::Orderly;
        requests.push(request);
        if is_last {
            break;
        }
    }
    ClientPlan { begins: random.milliseconds(0, LAST_BEGIN), version, link, requests, stays: random.once_in(3) }
}

fn request(id: Id, version: Version, mood: &Mood, random: &mut Random) -> RequestPlan {
    let place = match random.below(10) {
        0..5 => Place::Proxied,
        5 => Place::Buffered,
        6..8 => Place::Cached(random.below(SHARED)),
        8 => Place::Responded,
        _ => Place::Denied,
    };
    let method = match place {
        Place::Cached(_) => random.of(&["GET", "GET", "GET", "HEAD"]),
        _ => random.of(&["GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "DELETE"]),
    };
    let body = ["POST", "PUT"].contains(&method).then(|| body(version, mood, random));
    let conduct = if random.once_in(mood.misconduct) { conduct(body, version, random) } else { Conduct::Orderly };
    let attempts = 1 + random.below(3);
    RequestPlan {
        id,
        place,
        method,
        body,
        conduct,
        pause: if random.once_in(3) { random.milliseconds(0, MOST_PAUSE) } else { Duration::ZERO },
        is_pipelined: random.once_in(2),
        answers: (0..attempts).map(|_| answer(place, mood, random)).collect(),
    }
}

fn body(version: Version, mood: &Mood, random: &mut Random) -> RequestBody {
    let length = random.length(mood.most_body);
    let pause = (length > 0 && random.once_in(4)).then(|| (random.below(length), random.milliseconds(0, MOST_PAUSE)));
    let is_chunked = version != Version::Http10 && random.once_in(3);
    let is_expected = version == Version::Http1 && length > 0 && random.once_in(6);
    RequestBody { length, is_chunked, pause, is_expected }
}

fn conduct(body: Option<RequestBody>, version: Version, random: &mut Random) -> Conduct {
    let length = body.map_or(0, |body| body.length);
    match random.below(8) {
        0 if version != Version::Http2 => Conduct::StallsInHead(1 + random.below(20)),
        1 if length > 0 => Conduct::StallsInBody(random.below(length)),
        2 => Conduct::StopsReading(random.below(3_000)),
        3 if version == Version::Http1 && length > 0 && random.once_in(4) => Conduct::Malformed(Malformation::BadChunk),
        3 if version == Version::Http2 && random.once_in(2) => Conduct::Violates(random.of(&[
            Violation::DataOnConnection,
            Violation::EvenStream,
            Violation::ShortSettings,
            Violation::EmptyWindowUpdate,
            Violation::LoneContinuation,
            Violation::LargeFrame,
            Violation::BadHpack,
        ])),
        3 if version == Version::Http1 => Conduct::Malformed(random.of(&[
            Malformation::TwoLengths,
            Malformation::LengthAndChunked,
            Malformation::UnknownCoding,
            Malformation::ChunkedTwice,
            Malformation::SpaceBeforeColon,
            Malformation::Null,
            Malformation::NoHost,
            Malformation::TwoHosts,
            Malformation::LargeHead,
            Malformation::BareReturn,
        ])),
        _ => {
            let moment = match random.below(4) {
                0 if version != Version::Http2 => Moment::InHead(random.below(40)),
                1 if length > 0 => Moment::InBody(random.below(length)),
                2 => Moment::Receiving(random.below(5_000)),
                _ => Moment::Waiting(random.milliseconds(0, 400)),
            };
            let is_stream = version == Version::Http2 && !random.once_in(4);
            Conduct::Leaves(Departure { moment, is_reset: random.once_in(2), is_stream })
        }
    }
}

fn answer(place: Place, mood: &Mood, random: &mut Random) -> Answer {
    let length = random.length(mood.most_body);
    let framing = random.of(&[
        ResponseFraming::Length,
        ResponseFraming::Length,
        ResponseFraming::Chunked,
        ResponseFraming::Chunked,
        ResponseFraming::UntilClose,
    ]);
    let fault = if random.once_in(mood.faults) { fault(length, framing, random) } else { Fault::None };
    // The proxy may have the whole response before it has what is behind it.
    let fault = if fault == Fault::SendsTwo && !mood.is_link_whole { Fault::None } else { fault };
    let statuses = [200, 200, 200, 201, 204, 404, 500, 503, 304];
    // The cache asks again when a server says that nothing has changed, and nobody has asked that.
    let statuses = if matches!(place, Place::Cached(_)) { &statuses[..8] } else { &statuses };
    Answer {
        status: random.of(statuses),
        length,
        framing,
        hints: if random.once_in(8) { 1 + random.below(3) } else { 0 },
        delay: if random.once_in(2) { random.milliseconds(0, MOST_PAUSE) } else { Duration::ZERO },
        // Later, the bytes behind the response would be a response to the next request.
        pause: if random.once_in(8) && fault != Fault::SendsTwo {
            random.milliseconds(0, MOST_PAUSE)
        } else {
            Duration::ZERO
        },
        reads_body: !random.once_in(5),
        keeps: !random.once_in(4),
        is_fresh: random.once_in(2),
        fault,
    }
}

fn fault(length: usize, framing: ResponseFraming, random: &mut Random) -> Fault {
    let within = random.below(length.max(1));
    let fault = random.of(&[
        Fault::ClosesEarly,
        Fault::Closes,
        Fault::Resets,
        Fault::CutsHead,
        Fault::CutsBody(within),
        Fault::ResetsBody(within),
        Fault::Hangs,
        Fault::HangsInBody(within),
        Fault::SendsTwo,
        Fault::SendsTwo,
        Fault::BadHead,
        Fault::TwoLengths,
    ]);
    match fault {
        // Where the end of the connection ends the body, everything is part of it.
        Fault::SendsTwo if framing == ResponseFraming::UntilClose => Fault::None,
        // The body is whole.
        fault if fault.cut().is_some() && framing == ResponseFraming::Length && length == 0 => Fault::None,
        fault => fault,
    }
}

/// Clients of a plan.
const CLIENTS: usize = 20;

/// Requests of a client, in the mean.
const REQUESTS: usize = 13;

/// Targets that several requests share.
const SHARED: usize = 4;

/// The last client begins at the latest after so many milliseconds.
const LAST_BEGIN: u64 = 2_000;

/// The longest time without descriptors, in milliseconds.
const LONGEST_EXHAUSTION: u64 = 1_500;

/// The longest pause of clients and servers, in milliseconds: much less than any timeout.
const MOST_PAUSE: u64 = 300;
