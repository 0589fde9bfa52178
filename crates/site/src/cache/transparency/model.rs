//! RFC 9111 as its text says it, for one response: whether this client might get it.

use std::future::poll_fn;

use serow::Response;

use super::{
    client::{Ask, Essence, seconds},
    origin::{World, accepts},
    said::Said,
};

/// An event beside the requests.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Purge {
        path: usize,
        is_soft: bool,
    },
    /// An unsafe request was successful (§4.4).
    Invalidation(Essence),
}

/// A response as a client has received it.
#[derive(Clone, Debug)]
pub(super) struct Delivered {
    pub(super) ask: Ask,
    pub(super) status: u16,
    pub(super) fields: Vec<(String, String)>,
    /// The numbers of all responses of the origin that it consists of: each has a field of its own name.
    pub(super) traces: Vec<usize>,
    /// Nothing if it is cut off.
    content: Option<String>,
    asked: u64,
    got: u64,
    index: usize,
}

/// The kind of a response that a client might get.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    /// The origin's answer to its own request.
    Own,
    /// A stored one that the origin has confirmed for its own request.
    Validated { is_withdrawn: bool },
    /// The answer to another request.
    Hit { is_stale: bool },
    /// Something of the server itself.
    Nothing,
}

impl Delivered {
    pub(super) async fn of(ask: Ask, asked: u64, got: u64, index: usize, response: Response) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields: Vec<_> = response.headers.iter().map(|(name, value)| (text(name), text(value))).collect();
        let traces = fields.iter().filter_map(|(name, _)| name.strip_prefix("x-trace-")?.parse().ok());
        let mut traces: Vec<usize> = traces.collect();
        traces.sort_unstable();
        let (status, mut body, mut content) = (response.status.as_u16(), response.body, Some(Vec::new()));
        while let Some(frame) = poll_fn(|context| body.poll_next(context)).await {
            match frame.map(|frame| frame.into_data()) {
                Ok(Ok(piece)) => content.iter_mut().for_each(|content| content.extend_from_slice(&piece)),
                Ok(Err(_)) => {}
                Err(_) => {
                    content = None;
                    break;
                }
            }
        }
        let content = content.map(|content| String::from_utf8(content).unwrap());
        Self { ask, status, fields, traces, content, asked, got, index }
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// A response as the fields of several have made it (§3.2).
#[derive(Debug, Default)]
struct Merged {
    control: &'static str,
    vary: &'static str,
}

impl Merged {
    fn of<'a>(said: impl IntoIterator<Item = &'a Said>) -> Self {
        said.into_iter().fold(Self::default(), |before, said| Self {
            control: said.control.unwrap_or(before.control),
            vary: said.vary.unwrap_or(before.vary),
        })
    }

    fn has(&self, directive: &str) -> bool {
        self.control.split(',').any(|part| part.trim() == directive)
    }

    fn restricts(&self, field: &str) -> bool {
        ["private", "no-cache"].iter().any(|name| self.control.contains(&format!("{name}=\"{field}\"")))
    }

    fn lifetime(&self) -> u64 {
        let lifetime = seconds(self.control, "s-maxage").or_else(|| seconds(self.control, "max-age"));
        lifetime.unwrap_or_default() * 1000
    }

    /// Whether it might be stored as an answer to this request (§3), whatever the request was answered with.
    fn reason_against(&self, said: &Said, ask: &Ask) -> Option<&'static str> {
        // §3.5.
        let is_shared = self.has("public") || self.has("must-revalidate") || self.control.contains("s-maxage");
        self.withdrawal().or_else(|| {
            let reasons = [
                (ask.has("cache-control", "no-store"), "§5.2.1.5: the request has no-store"),
                (!ask.values("authorization").is_empty() && !is_shared, "§3.5: it is for a user"),
                (said.sets_cookie, "§7.3: it sets a cookie"),
            ];
            reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
        })
    }

    /// Why nobody else may have it, whoever asked.
    fn withdrawal(&self) -> Option<&'static str> {
        let reasons = [
            (self.has("no-store"), "§5.2.2.5: no-store"),
            (self.has("private"), "§5.2.2.7: private"),
            (self.vary.contains('*'), "§4.1: Vary: *"),
        ];
        reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
    }
}

/// Whether the client might get this, and what it is.
///
/// # Errors
///
/// The rule that forbids it.
pub(super) fn judge(world: &mut World, delivered: &Delivered) -> Result<Verdict, String> {
    let Delivered { ask, traces, .. } = delivered;
    let (Some(first), Some(last)) = (traces.first(), traces.last()) else {
        return match delivered.status {
            416 | 504 => Ok(Verdict::Nothing),
            status => Err(format!("{status} of nobody")),
        };
    };
    let chain: Vec<_> = traces.iter().map(|number| world.said[*number].clone()).collect();
    let (first, last_said) = (&world.said[*first], &world.said[*last]);
    is_for_nobody_else(world, delivered, &chain)?;
    if last_said.ask == ask.number && chain.len() == 1 {
        return Ok(Verdict::Own);
    }
    has_its_content(delivered, first)?;
    if chain.iter().any(|said| world.asks[said.ask].key() != ask.key()) {
        return Err("§2: it is of another URL, or of another key".to_owned());
    }
    if first.coding.is_some_and(|coding| !accepts(ask, coding)) {
        return Err("RFC 9110 §12.5.3: the client does not accept its coding".to_owned());
    }
    let is_own = last_said.ask == ask.number;
    // All but an answer to this client's own request were stored.
    let stored = if is_own { chain.len() - 1 } else { chain.len() };
    for length in 1..=stored {
        let (merged, said) = (Merged::of(&chain[..length]), &chain[length - 1]);
        if let Some(reason) = merged.reason_against(said, &world.asks[said.ask]) {
            return Err(format!("response {} must not be stored: {reason}", traces[length - 1]));
        }
    }
    if is_own {
        if last_said.meaning != first.meaning {
            return Err("§4.3.4: the origin has confirmed another response".to_owned());
        }
        let is_withdrawn = Merged::of(&chain).withdrawal().is_some();
        if is_withdrawn {
            let index = world.index();
            world.withdrawn.push((index, traces[..traces.len() - 1].to_vec()));
        }
        return Ok(Verdict::Validated { is_withdrawn });
    }
    let merged = Merged::of(&chain);
    matches_request(&merged, ask, &world.asks[last_said.ask])?;
    if world.withdrawn.iter().any(|(index, withdrawn)| *index < delivered.index && withdrawn == traces) {
        return Err("the origin has withdrawn it".to_owned());
    }
    let is_stale = is_reusable(world, delivered, &merged, first, last_said)?;
    Ok(Verdict::Hit { is_stale })
}

/// Fields of one client have reached no other.
fn is_for_nobody_else(world: &World, delivered: &Delivered, chain: &[Said]) -> Result<(), String> {
    let asker_of = |number: &str| world.said[number.parse::<usize>().unwrap()].ask;
    if delivered.values("set-cookie").any(|value| asker_of(&value[2..]) != delivered.ask.number) {
        return Err("§7.3: a cookie for another client".to_owned());
    }
    for number in delivered.values("x-user").filter(|number| asker_of(number) != delivered.ask.number) {
        let place = delivered.traces.iter().position(|trace| trace.to_string() == *number);
        let Some(place) = place else { return Err("a field without its response".to_owned()) };
        if (place + 1..=chain.len()).any(|length| Merged::of(&chain[..length]).restricts("x-user")) {
            return Err("§5.2.2.4, §5.2.2.7: a field that only another client may get".to_owned());
        }
    }
    Ok(())
}

/// The content is that of the first response, or the bytes of it that Content-Range says.
fn has_its_content(delivered: &Delivered, first: &Said) -> Result<(), String> {
    let Some(content) = delivered.content.as_ref().filter(|_| delivered.ask.method == "GET") else { return Ok(()) };
    let expected = match delivered.status {
        304 => "",
        206 => {
            let range = delivered.values("content-range").next().unwrap_or_default();
            let range = range.strip_prefix("bytes ").and_then(|range| range.split_once('/')?.0.split_once('-'));
            let bounds = range.and_then(|(start, end)| Some((start.parse().ok()?, end.parse::<usize>().ok()? + 1)));
            let part = bounds.and_then(|(start, end): (usize, usize)| first.content.get(start..end));
            part.ok_or("RFC 9110 §14.4: no such range")?
        }
        _ => first.content.as_str(),
    };
    (content == expected).then_some(()).ok_or_else(|| "§3.3: it is not the content of its response".to_owned())
}

/// §4.1: all fields that Vary names are those of the request that it was selected for.
fn matches_request(merged: &Merged, ask: &Ask, other: &Ask) -> Result<(), String> {
    let spaceless = |ask: &Ask, name: &str| {
        let values = ask.values(name);
        (!values.is_empty()).then(|| values.join(",").replace(' ', ""))
    };
    for name in merged.vary.split(", ").filter(|name| !name.is_empty()) {
        let is_same = match name {
            // Which codings are accepted has been judged.
            "accept-encoding" => true,
            "x-set" => ask.set_by_handler() == other.set_by_handler(),
            "accept-language" => {
                let weighted = |text: String| if text == "en;q=0.5,de" { "de,en;q=0.5".to_owned() } else { text };
                spaceless(ask, name).map(weighted) == spaceless(other, name).map(weighted)
            }
            name => ask.values(name) == other.values(name),
        };
        if !is_same {
            return Err(format!("§4.1: it was selected for another {name}"));
        }
    }
    Ok(())
}

/// §4.2, §4.4, §5.2, RFC 5861: whether it may be used now; whether it is stale.
fn is_reusable(
    world: &World,
    delivered: &Delivered,
    merged: &Merged,
    first: &Said,
    last: &Said,
) -> Result<bool, String> {
    let Delivered { ask, asked, got, index, .. } = delivered;
    if merged.has("no-cache") {
        return Err("§5.2.2.4: no-cache".to_owned());
    }
    if ask.has("cache-control", "no-cache") {
        return Err("§5.2.1.4: the request has no-cache".to_owned());
    }
    // The response of an exchange that others wait for is not older than its arrival.
    let age = (*asked).max(last.received) - last.sent;
    let mut lifetime = merged.lifetime();
    for (at, time, event) in world.events.iter().filter(|(at, ..)| at < index) {
        match event {
            Event::Invalidation(key) if *key == ask.key() && *at > first.index => {
                return Err("§4.4: it was invalidated".to_owned());
            }
            Event::Purge { path, is_soft: false } if *path == ask.path && ask.query.is_empty() && *at > first.index => {
                return Err("it was purged".to_owned());
            }
            Event::Purge { path, is_soft: true } if *path == ask.path && ask.query.is_empty() && *at > last.index => {
                lifetime = lifetime.min(time.saturating_sub(last.sent));
            }
            _ => {}
        }
    }
    let staleness = age.saturating_sub(lifetime);
    let forbids = merged.has("must-revalidate") || merged.control.contains("s-maxage");
    let within = |most: Option<u64>| !forbids && most.is_some_and(|most| staleness < (most + 1) * 1000);
    let any_stale = ask.values("cache-control").contains(&"max-stale");
    let has_failed = || {
        let failed = |said: &Said| said.status == 503 && world.asks[said.ask].path == ask.path;
        world.said.iter().any(|said| failed(said) && (*asked..=*got).contains(&said.received))
    };
    // RFC 5861 §4: regardless of other freshness information.
    if within(seconds(merged.control, "stale-if-error")) && has_failed() {
        return Ok(age >= lifetime);
    }
    if ask.seconds("max-age").is_some_and(|most| age > most * 1000) {
        return Err("§5.2.1.1: it is older than the client accepts".to_owned());
    }
    let is_allowed = any_stale && !forbids
        || within(ask.seconds("max-stale"))
        || within(seconds(merged.control, "stale-while-revalidate"));
    match (age < lifetime, is_allowed) {
        (true, _) => Ok(false),
        (false, true) => Ok(true),
        (false, false) => Err(format!("§4.2.4: it is stale since {staleness} ms")),
    }
}
