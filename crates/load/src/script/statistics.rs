//! Results as scripts see them: what `done` is given.

use mlua::{Lua, MetaMethod, Table, UserData, UserDataFields, UserDataMethods};

use crate::{Distribution, Results};

/// `summary`, `latency` and `requests`, in wrk's units: microseconds, and requests each second of each thread.
pub(super) fn arguments(lua: &Lua, results: &Results) -> mlua::Result<(Table, Statistics, Statistics)> {
    let errors = lua.create_table()?;
    errors.set("connect", results.errors.connect)?;
    // wrk counts here also what is no HTTP.
    errors.set("read", results.errors.read + results.errors.protocol)?;
    errors.set("write", results.errors.write)?;
    errors.set("status", results.errors.status)?;
    errors.set("timeout", results.errors.timeout)?;
    let summary = lua.create_table()?;
    summary.set("duration", results.elapsed.as_micros() as f64)?;
    summary.set("requests", results.requests)?;
    summary.set("bytes", results.bytes)?;
    summary.set("errors", errors)?;
    let latency = Statistics::new(results.latencies.clone(), NANOSECONDS_IN_MICROSECOND);
    Ok((summary, latency, Statistics::new(results.thread_rates.clone(), 1)))
}

/// A distribution in the hands of a script. Single values are whole numbers, as wrk's are.
pub(super) struct Statistics {
    distribution: Distribution,
    /// How many units of the distribution are one of the script's.
    unit: u64,
    /// All values in the script's unit, from the smallest on, and how often each occurred.
    values: Vec<(u64, u64)>,
}

impl Statistics {
    fn new(distribution: Distribution, unit: u64) -> Self {
        let mut values: Vec<(u64, u64)> = Vec::new();
        for bucket in distribution.buckets() {
            let value = rounded(bucket.low, unit);
            match values.last_mut() {
                Some((last, count)) if *last == value => *count += bucket.count,
                _ => values.push((value, bucket.count)),
            }
        }
        Self { distribution, unit, values }
    }

    fn whole(&self, value: u64) -> u64 {
        rounded(value, self.unit)
    }
}

impl UserData for Statistics {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, this| Ok(this.whole(this.distribution.least())));
        fields.add_field_method_get("max", |_, this| Ok(this.whole(this.distribution.most())));
        fields.add_field_method_get("mean", |_, this| Ok(this.distribution.mean() / this.unit as f64));
        fields.add_field_method_get("stdev", |_, this| Ok(this.distribution.deviation() / this.unit as f64));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, this, percent: f64| Ok(this.whole(this.distribution.percentile(percent))));
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.values.len()));
        methods.add_meta_method(MetaMethod::Call, |_, this, index: f64| {
            let value = (index as usize).checked_sub(1).and_then(|index| this.values.get(index));
            Ok(value.copied().unwrap_or_default())
        });
    }
}

/// To the nearest whole number of units.
fn rounded(value: u64, unit: u64) -> u64 {
    value.saturating_add(unit / 2) / unit
}

/// Latencies are measured in the former, and scripts expect the latter.
const NANOSECONDS_IN_MICROSECOND: u64 = 1000;
