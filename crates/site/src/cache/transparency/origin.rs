//! An origin that changes its mind about who may have its responses, and remembers all that it has said.

use std::{
    cell::RefCell,
    hash::{DefaultHasher, Hash, Hasher},
    rc::Rc,
    time::Duration,
};

use serow::{Request, Response};
use tokio::time::{Instant, sleep};

use super::{
    client::{Ask, PATHS},
    dice::Dice,
    model::{Delivered, Event},
    said::Said,
};

/// All that there is beside the cache.
#[derive(Debug)]
pub(super) struct World {
    start: Instant,
    dice: Dice,
    policies: [Policy; PATHS],
    pub(super) asks: Vec<Ask>,
    /// The responses of the origin, by number.
    pub(super) said: Vec<Said>,
    /// The events, each with its index and time.
    pub(super) events: Vec<(usize, u64, Event)>,
    /// Traces of responses that were withdrawn, since an index.
    pub(super) withdrawn: Vec<(usize, Vec<usize>)>,
    index: usize,
}

/// How a path is answered at the moment.
#[derive(Clone, Debug)]
struct Policy {
    control: &'static str,
    vary: &'static str,
    tag: Tag,
    version: usize,
    sets_cookie: bool,
    names_user: bool,
    status: u16,
    is_cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    None,
    /// The same for all codings.
    Weak,
    Strong,
}

impl World {
    pub(super) fn new(mut dice: Dice) -> Self {
        let policies = std::array::from_fn(|_| Policy::random(&mut dice, 0));
        let (asks, said, events, withdrawn) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { start: Instant::now(), dice, policies, asks, said, events, withdrawn, index: 0 }
    }

    /// Milliseconds since the beginning.
    pub(super) fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    /// Counts what happens.
    pub(super) fn index(&mut self) -> usize {
        self.index += 1;
        self.index
    }

    pub(super) fn note(&mut self, event: Event) {
        let (index, now) = (self.index(), self.now());
        self.events.push((index, now, event));
    }

    /// A path is answered in another way from now on.
    pub(super) fn change(&mut self, dice: &mut Dice) {
        let policy = dice.below(PATHS);
        let (version, before) = (self.policies[policy].version, self.policies[policy].clone());
        let is_newer = dice.one_in(3);
        let next = Policy::random(dice, version + usize::from(is_newer));
        // The same content, of which it says something else.
        let keeps = dice.one_in(2) && before.tag != Tag::None;
        self.policies[policy] =
            if keeps { Policy { tag: before.tag, version, status: before.status, ..next } } else { next };
    }

    pub(super) fn asked(&mut self, ask: &mut Ask) -> Request {
        ask.number = self.asks.len();
        self.asks.push(ask.clone());
        ask.request()
    }

    /// The history of a response, for people: the responses of the origin that it consists of, and the events since.
    pub(super) fn story(&self, delivered: &Delivered) -> String {
        let said = delivered.traces.iter().map(|number| {
            let said = &self.said[*number];
            format!("{number}: {said:?}\n   to {:?}\n", self.asks[said.ask])
        });
        let since = delivered.traces.first().map_or(0, |number| self.said[*number].index);
        let events = self.events.iter().filter(|(index, ..)| *index > since);
        said.chain(events.map(|event| format!("since then: {event:?}\n"))).collect()
    }
}

impl Policy {
    fn random(dice: &mut Dice, version: usize) -> Self {
        Self {
            control: dice.of(CONTROLS),
            vary: dice.of(VARY),
            tag: dice.of(&[Tag::None, Tag::Weak, Tag::Weak, Tag::Strong, Tag::Strong]),
            version,
            sets_cookie: dice.one_in(12),
            names_user: dice.one_in(3),
            status: dice.of(&[200, 200, 200, 200, 200, 200, 404, 503]),
            is_cut: dice.one_in(15),
        }
    }
}

/// Answers a request as it comes from the cache.
pub(super) async fn respond(world: Rc<RefCell<World>>, request: Request) -> Response {
    let index = world.borrow_mut().index();
    let sent = world.borrow().now();
    let waits = {
        let dice = &mut world.borrow_mut().dice;
        dice.one_in(4).then(|| dice.of(&[1, 300, 2000]))
    };
    if let Some(millis) = waits {
        sleep(Duration::from_millis(millis)).await;
    }
    let mut world = world.borrow_mut();
    let ask: usize = request.headers.get_str("x-ask").unwrap().parse().unwrap();
    let asker = world.asks[ask].clone();
    let policy = world.policies[asker.path].clone();
    if asker.is_unsafe() {
        world.policies[asker.path].version += 1;
    }
    let (meaning, coding) = content(&request, &asker, &policy, &mut world.dice);
    let text = format!("{meaning} coding={coding:?}");
    let tag = match policy.tag {
        Tag::None => None,
        Tag::Weak => Some(format!("W/\"{}\"", digest(&meaning))),
        Tag::Strong => Some(format!("\"{}\"", digest(&text))),
    };
    let conditions = request.headers.get_str("if-none-match").unwrap_or_default();
    let is_known = tag.as_ref().is_some_and(|tag| conditions.split(", ").any(|other| other == tag));
    let is_not_modified = policy.status == 200 && !asker.is_unsafe() && (is_known || conditions == "*");
    // A 304 need not repeat what has not changed.
    let says = |dice: &mut Dice| !is_not_modified || !dice.one_in(4);
    let said = Said {
        ask,
        status: if is_not_modified { 304 } else { policy.status },
        control: Some(policy.control).filter(|control| !control.is_empty() && says(&mut world.dice)),
        vary: Some(policy.vary).filter(|vary| !vary.is_empty() && says(&mut world.dice)),
        sets_cookie: policy.sets_cookie,
        names_user: policy.names_user,
        tag,
        coding,
        meaning,
        content: text,
        sent,
        received: world.now(),
        index,
    };
    let number = world.said.len();
    let response = said.response(&request, number, policy.is_cut && !world.dice.one_in(3));
    world.said.push(said);
    response
}

/// The content of a response apart from its coding, and the coding.
fn content(request: &Request, asker: &Ask, policy: &Policy, dice: &mut Dice) -> (String, Option<&'static str>) {
    let depends = |name: &str| policy.vary.split(", ").any(|part| part == name);
    let of = |name: &str| -> Vec<_> {
        let values = request.headers.get_all(name).filter(|_| depends(name));
        values.map(|value| String::from_utf8_lossy(value).into_owned()).collect()
    };
    let coding =
        depends("accept-encoding").then(|| ["br", "xz", "gzip"].into_iter().find(|coding| accepts(asker, coding)));
    let language = of("accept-language").join(",");
    let language = language.split(',').next().unwrap_or_default().to_owned();
    let chance = if depends("*") { dice.below(1000) } else { 0 };
    let set = if depends("x-set") { asker.set_by_handler() } else { String::new() };
    let (version, key) = (policy.version, asker.key());
    let query = request.target.query();
    let meaning = format!(
        "{key:?} {query:?} v{version} s{} {:?} {language} {:?} {set} {chance}",
        policy.status,
        of("cookie"),
        of("x-a")
    );
    (meaning, coding.flatten())
}

/// Whether a client accepts a coding.
pub(super) fn accepts(ask: &Ask, coding: &str) -> bool {
    let list = ask.values("accept-encoding").join(",");
    list.split(',').map(str::trim).any(|member| member == coding)
}

fn digest(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:x}", hasher.finish())
}

const CONTROLS: &[&str] = &[
    "",
    "max-age=5",
    "max-age=60",
    "max-age=60",
    "max-age=5, public",
    "max-age=60, public",
    "s-maxage=10, max-age=0",
    "max-age=5, must-revalidate",
    "max-age=2, stale-while-revalidate=5",
    "max-age=2, stale-if-error=10",
    "max-age=0",
    "no-cache",
    "no-cache, public",
    "no-store",
    "private",
    "private, max-age=60",
    "max-age=60, private=\"x-user\"",
    "max-age=5, no-cache=\"x-user\"",
];

const VARY: &[&str] = &[
    "",
    "",
    "accept-encoding",
    "accept-encoding",
    "accept-language",
    "cookie",
    "x-a",
    "accept-encoding, cookie",
    "x-set",
    "*",
];
