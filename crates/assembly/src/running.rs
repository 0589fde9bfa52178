//! How the processes of an application are run.

use std::{num::NonZero, time::Duration};

use serow_config::options::ApplicationOptions;
use serow_processes::{Lifetime, RunSettings};
use serow_proxy::{InternalRedirects, QueueSettings};

use super::process::ApplicationHost;

/// Has the processes run as it is written; there are as many as before where that says nothing of it. Those that leave
/// may take so long.
pub(super) fn run_as_written(
    run: &mut RunSettings,
    options: &ApplicationOptions,
    grace: Duration,
    host: &ApplicationHost,
) {
    let environment = options.env.iter().map(|variable| (variable.name.clone().into(), variable.value.clone().into()));
    run.environment = environment.collect();
    run.processes = options.processes.and_then(|count| NonZero::new(count.in_memory())).unwrap_or(run.processes);
    run.timeout = options.app_timeout.0;
    run.transfer_timeout = options.app_transfer_timeout.map(|limit| limit.0);
    run.start_timeout = options.start_timeout.0;
    run.queue = QueueSettings { length: options.queue.in_memory(), timeout: options.queue_timeout.0 };
    run.lifetime = lifetime(options);
    if let Some(trust) = &options.trust {
        run.trusted = trust.iter().map(|network| network.0).collect();
    }
    if options.accel_redirect == Some(true) {
        run.internal_redirects = InternalRedirects::Follow;
    }
    run.spawn_interval = options.spawn_interval.0;
    run.memory_limit = options.memory_limit.map(|size| size.0);
    run.grace = grace;
    run.open_files = host.open_files;
    run.output = host.output;
    run.note_attempts = host.note_attempts;
}

fn lifetime(options: &ApplicationOptions) -> Option<Lifetime> {
    let most = u64::from(options.max_requests?.get());
    Some(Lifetime { least: options.min_requests.map_or(most, |least| least.get().into()), most })
}
