//! How often, and how many at a time, clients may send requests.

use std::sync::Arc;

use serow_config::{
    tables::{access::LimitSettings, client_limits::BanTable},
    values::Statuses,
};
use serow_document::{Place, Problem, names::near};
use serow_guards::{ClientRequests, RateLimit};
use serow_limits::{BanRule, Delay, Limit};
use serow_variables::{Scope, Text};

use super::Access;
use crate::fleet;

impl Access<'_> {
    /// The limit that these settings describe.
    pub(super) fn limit(&self, settings: LimitSettings, scope: &Scope, place: &Place) -> Option<RateLimit> {
        let LimitSettings { name, key, rate, burst, delay, cost, ban, dry_run, shared, keys } = settings;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || !name.bytes().all(is_name) {
            let text = format!("{name:?} is not a name: use letters, digits, - and _");
            return self.noted(Err(Problem::of_value(place.key("name"), text)));
        }
        let key = Text::parse(key.as_deref().unwrap_or("$remote_addr"), scope);
        let key = self.noted(key.map_err(|error| Problem::of_value(place.key("key"), error.to_string())))?;
        if key.constant().is_some() && key.parts().is_empty() {
            let text =
                "the key is empty: write a text with variables, as in \"$remote_addr\", or \"all\" for one count";
            return self.noted(Err(Problem::of_value(place.key("key"), text)));
        }
        let burst = burst.map_or(0, |burst| burst.in_memory() as u32);
        let delay = delay.map_or(Delay::Never, |delay| Delay::After(delay.in_memory() as u32));
        if burst == 0 && delay != Delay::Never {
            let text = "`delay` needs `burst`: without one, no request comes early and waits";
            return self.noted(Err(Problem::of_key(place.key("delay"), text)));
        }
        let mut costs = Vec::new();
        for (statuses, cost) in cost {
            let ranges = statuses.parse::<Statuses>();
            let place = place.key("cost").key(statuses.as_str());
            let ranges = self.noted(ranges.map_err(|error| Problem::of_key(place, error.to_string())))?;
            costs.extend(ranges.0.into_iter().map(|range| (range.0, cost.in_memory() as u32)));
        }
        // A single status counts before a range that contains it.
        costs.sort_by_key(|(range, _)| range.end() - range.start());
        let limit = Limit::new(rate.0).with_burst(burst).with_delay(delay);
        let keys = keys.map_or(DEFAULT_KEYS, |keys| keys.in_memory());
        let table = if shared { Some(self.noted(fleet::table(self.fleet, &name, limit, keys, place))??) } else { None };
        // The table of a shared limit has the keys.
        let limit = RateLimit::new(&name, limit, key, if shared { 1 } else { keys }).with_costs(costs);
        let limit = match table {
            Some(table) => limit.shared(table),
            None => limit,
        };
        let limit = match ban {
            Some(table) => limit.with_ban(self.noted(ban_rule(table, &place.key("ban")))?, self.bans.clone()),
            None => limit,
        };
        Some(if dry_run { limit.in_dry_run() } else { limit })
    }

    /// The limit of a client's requests at the same time; none for 0.
    pub(super) fn client_requests(&self, max: usize) -> Option<Arc<ClientRequests>> {
        let max = u32::try_from(max).ok().filter(|max| *max > 0)?;
        let requests = Arc::new(ClientRequests::new(max));
        self.found.borrow_mut().requests.push(Arc::clone(&requests));
        Some(requests)
    }

    /// The limits with these names.
    pub(super) fn named_limits(&self, names: &[String], place: &Place) -> Option<Vec<Arc<RateLimit>>> {
        let limits = names.iter().enumerate().map(|(number, name)| match self.limits.get(name) {
            Some(limit) => limit.clone(),
            None => {
                let known: Vec<&str> = self.limits.keys().map(String::as_str).collect();
                let text = match near(name, &known) {
                    Some(near) => format!("there is no [[limit]] {name:?}; did you mean {near:?}?"),
                    None => {
                        format!("there is no [[limit]] {name:?}: write one, as in [[limit]] with `name` and `rate`")
                    }
                };
                self.noted(Err(Problem::of_value(place.element(number), text)))
            }
        });
        limits.collect::<Vec<_>>().into_iter().map(|limit| limit.map(|kept| kept.limit)).collect()
    }
}

/// When clients are banned.
fn ban_rule(table: BanTable, place: &Place) -> Result<BanRule, Problem> {
    let BanTable { after, within, length } = table;
    for (key, span) in [("within", within), ("for", length)] {
        if span.0.is_zero() {
            let text = "0 does not ban anybody: write a time, as in \"10m\"";
            return Err(Problem::of_value(place.key(key), text));
        }
    }
    let after = u32::try_from(after.in_memory()).unwrap_or(u32::MAX);
    Ok(BanRule { after, within: within.0, length: length.0 })
}

/// 16 MB, if there are so many clients.
const DEFAULT_KEYS: usize = 1_000_000;
