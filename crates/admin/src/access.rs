//! Decisions of limits and other rules of access: as JSON, as metrics for Prometheus, and as a table for people.

use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use serow_access::PasswordQueue;
use serow_config::printable::on_one_line;
use serow_guards::{AccessControl, ClientRequests, RateLimit, RefusedAddresses};

use super::{metric_head::head, table, units::count, upstreams::label};

/// The counters of a server's limits and other rules of access; by default none.
#[derive(Clone, Debug, Default)]
pub struct AccessCounts {
    limits: Vec<Arc<RateLimit>>,
    requests: Vec<Arc<ClientRequests>>,
    addresses: Arc<RefusedAddresses>,
    passwords: Option<PasswordQueue>,
}

impl AccessCounts {
    /// Those of this server.
    #[must_use]
    pub fn of(access: &AccessControl) -> Self {
        Self {
            limits: access.limits.clone(),
            requests: access.requests.clone(),
            addresses: Arc::clone(&access.refused_addresses),
            passwords: access.passwords.clone(),
        }
    }

    /// Those of these that others are not.
    pub(super) fn without(&self, others: &Self) -> Self {
        let is_other = |limit: &&Arc<RateLimit>| !others.limits.iter().any(|other| Arc::ptr_eq(other, limit));
        let has_same_addresses = Arc::ptr_eq(&self.addresses, &others.addresses);
        Self {
            limits: self.limits.iter().filter(is_other).cloned().collect(),
            requests: self.requests.clone(),
            addresses: if has_same_addresses { Arc::default() } else { Arc::clone(&self.addresses) },
            passwords: self.passwords.clone(),
        }
    }

    /// Adds the numbers to a document.
    pub(super) fn add_to(&self, document: &mut Value) {
        document["limits"] = self.limits.iter().map(|limit| self::limit(limit)).collect();
        let passwords = self.passwords.as_ref().map(PasswordQueue::counts);
        let of_passwords = |count: fn(&serow_access::PasswordCounts) -> &AtomicU64| {
            passwords.map_or(0, |counts| count(counts).load(Ordering::Relaxed))
        };
        document["access"] = json!({
            "addresses_refused": self.addresses.count(),
            "requests_refused_per_client": self.requests.iter().map(|requests| requests.refused()).sum::<u64>(),
            "passwords_right": of_passwords(|counts| &counts.right),
            "passwords_wrong": of_passwords(|counts| &counts.wrong),
            "passwords_refused_per_client": of_passwords(|counts| &counts.too_many),
            "passwords_refused_busy": of_passwords(|counts| &counts.busy),
        });
    }
}

fn limit(limit: &RateLimit) -> Value {
    let counts = limit.counts();
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    json!({
        "name": limit.name(),
        "dry_run": limit.is_dry_run(),
        "allowed": count(&counts.allowed),
        "delayed": count(&counts.delayed),
        "refused": count(&counts.refused),
        "displaced": limit.displaced(),
    })
}

/// Appends the metrics.
pub(super) fn push(status: &Value, text: &mut String) {
    push_limits(status, text);
    let access = &status["access"];
    if !access.is_object() {
        return;
    }
    for (name, explanation, samples) in METRICS {
        head(text, name, "counter", explanation);
        for (labels, path) in samples {
            let number = status.pointer(path).and_then(Value::as_u64).unwrap_or(0);
            // Writing to memory does not fail.
            let _ = writeln!(text, "{name}{labels} {number}");
        }
    }
}

fn push_limits(status: &Value, text: &mut String) {
    let Some(limits) = limits(status) else { return };
    head(text, REQUESTS, "counter", "Requests that a limit has decided about; in a dry run, none is refused.");
    for limit in limits {
        let name = label(limit["name"].as_str().unwrap_or_default());
        let dry_run = limit["dry_run"] == true;
        for outcome in ["allowed", "delayed", "refused"] {
            let Some(number) = limit[outcome].as_u64() else { continue };
            let _ =
                writeln!(text, "{REQUESTS}{{limit=\"{name}\",outcome=\"{outcome}\",dry_run=\"{dry_run}\"}} {number}");
        }
    }
    head(text, DISPLACED, "counter", "Keys of a limit that were forgotten, since there were too many.");
    for limit in limits {
        let name = label(limit["name"].as_str().unwrap_or_default());
        let _ = writeln!(text, "{DISPLACED}{{limit=\"{name}\"}} {}", limit["displaced"].as_u64().unwrap_or(0));
    }
}

/// The limits as a table; nothing where there are none.
pub(super) fn table(status: &Value) -> String {
    let Some(limits) = limits(status) else { return String::new() };
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(limits.iter().map(|limit| {
        let number = |key: &str| count(limit[key].as_u64().unwrap_or(0));
        let name = on_one_line(limit["name"].as_str().unwrap_or_default());
        let name = if limit["dry_run"] == true { name + " (dry run)" } else { name };
        [name, number("allowed"), number("delayed"), number("refused"), number("displaced")]
    }));
    format!("\nlimits\n{}", table::lines(&rows, 1).concat())
}

fn limits(status: &Value) -> Option<&Vec<Value>> {
    status["limits"].as_array().filter(|limits| !limits.is_empty())
}

const REQUESTS: &str = "serow_limit_requests_total";
const DISPLACED: &str = "serow_limit_displaced_keys_total";

/// Names and explanations, and the labels with the places of the numbers.
type Counters = [(&'static str, &'static str, &'static [(&'static str, &'static str)]); 2];

const METRICS: Counters = [
    (
        "serow_access_refused_total",
        "Requests that were refused, by the reason.",
        &[
            ("{reason=\"address\"}", "/access/addresses_refused"),
            ("{reason=\"requests_per_client\"}", "/access/requests_refused_per_client"),
            ("{reason=\"passwords_per_client\"}", "/access/passwords_refused_per_client"),
            ("{reason=\"passwords_busy\"}", "/access/passwords_refused_busy"),
            ("{reason=\"ban\"}", "/bans/refused_requests"),
        ],
    ),
    (
        "serow_passwords_checked_total",
        "Passwords that were checked; those that are remembered are not.",
        &[("{outcome=\"right\"}", "/access/passwords_right"), ("{outcome=\"wrong\"}", "/access/passwords_wrong")],
    ),
];

const HEADINGS: [&str; 5] = ["limit", "allowed", "delayed", "refused", "keys displaced"];

#[cfg(test)]
pub(super) mod tests {
    use serow_variables::{Scope, Text};

    use super::*;
    use crate::{exposition, total};

    /// The counts of a server with one limit.
    pub(crate) fn example() -> AccessCounts {
        let key = Text::parse("$remote_addr", &Scope::default()).unwrap();
        let limit = serow_limits::Limit::new("1/s".parse().unwrap());
        AccessCounts { limits: vec![Arc::new(RateLimit::new("logins", limit, key, 1))], ..AccessCounts::default() }
    }

    #[test]
    fn counts_as_metrics_and_as_a_table() {
        let mut status = json!({ "bans": { "refused_requests": 4 } });
        example().add_to(&mut status);
        status["limits"][0]["refused"] = 1234.into();
        status["access"]["passwords_wrong"] = 9.into();
        let mut text = String::new();
        push(&status, &mut text);
        for line in [
            r#"serow_limit_requests_total{limit="logins",outcome="refused",dry_run="false"} 1234"#,
            r#"serow_limit_displaced_keys_total{limit="logins"} 0"#,
            r#"serow_access_refused_total{reason="ban"} 4"#,
            r#"serow_passwords_checked_total{outcome="wrong"} 9"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
        let expected = "
limits
  limit   allowed  delayed  refused  keys displaced
  logins        0        0    1,234               0
";
        assert_eq!(table(&status), expected);
        let mut sum = Value::Null;
        total::add_ended(&mut sum, &status);
        total::add(&mut sum, &status);
        assert_eq!((&sum["limits"][0]["refused"], &sum["access"]["passwords_wrong"]), (&2468.into(), &18.into()));
    }
}
