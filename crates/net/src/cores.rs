//! The processor cores that threads run on (CPU affinity, sched(7)).

use std::{
    cell::Cell,
    io,
    thread::{self, JoinHandle},
};

use rustix::{
    io::Errno,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// Cores can have numbers below this one: what the kernel's interface holds that is used here (CPU_SET(3)).
pub const MAX_CORES: usize = CpuSet::MAX_CPU;

/// The cores that the calling thread may use, in ascending order: those of the machine that are online, as far as
/// containers, cpusets and taskset leave them to this process.
///
/// # Errors
///
/// On a machine with cores beyond [`MAX_CORES`].
pub fn allowed_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..MAX_CORES).filter(|&core| set.is_set(core)).collect())
}

/// Has the calling thread run on this core only. Threads and processes that it starts inherit that, except for those
/// of [`spawn_unpinned`] and the blocking threads of [`thread_runtime`](crate::thread_runtime).
///
/// # Errors
///
/// The core does not exist, or the process may not use it.
pub fn pin_thread(core: usize) -> io::Result<()> {
    if core >= MAX_CORES {
        return Err(Errno::INVAL.into());
    }
    let before = sched_getaffinity(None)?;
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set)?;
    BEFORE.set(BEFORE.get().or(Some(before)));
    Ok(())
}

/// Starts a thread, which may use the cores that the calling thread had before it was pinned.
///
/// # Errors
///
/// The system refuses the thread.
pub fn spawn_unpinned<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let cores = InheritableCores::of_this_thread();
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        cores.restore();
        work()
    })
}

/// The cores that a thread may use which another one starts: those that the other had before it was pinned.
#[derive(Clone, Copy)]
pub(crate) struct InheritableCores(Option<CpuSet>);

impl InheritableCores {
    /// Of the calling thread, which is about to start another one.
    pub(crate) fn of_this_thread() -> Self {
        Self(BEFORE.get())
    }

    /// Lets the calling thread, which has just been started, use them. Without success it stays on the one core, where it
    /// works as well, only not beside the thread that started it.
    pub(crate) fn restore(self) {
        let Some(cores) = self.0 else { return };
        if let Err(error) = sched_setaffinity(None, &cores) {
            tracing::debug!(%error, "a thread stays on the core of the thread that started it");
        }
    }
}

thread_local! {
    /// The processors that this thread could use before it was pinned.
    static BEFORE: Cell<Option<CpuSet>> = const { Cell::new(None) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_runtime;

    fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        thread::spawn(work).join().unwrap()
    }

    #[test]
    fn a_pinned_thread_uses_one_core_and_other_threads_all() {
        let all = allowed_cores().unwrap();
        let last = *all.last().unwrap();
        let pinned = on_a_thread(move || {
            pin_thread(last).unwrap();
            allowed_cores().unwrap()
        });
        assert_eq!((pinned, allowed_cores().unwrap()), (vec![last], all));
    }

    #[test]
    fn blocking_threads_of_a_pinned_thread_use_all_cores() {
        let all = allowed_cores().unwrap();
        let last = *all.last().unwrap();
        let (own, blocking) = on_a_thread(move || {
            pin_thread(last).unwrap();
            let runtime = thread_runtime().unwrap();
            let blocking =
                runtime.block_on(async { tokio::task::spawn_blocking(allowed_cores).await.unwrap().unwrap() });
            (allowed_cores().unwrap(), blocking)
        });
        assert_eq!((own, blocking), (vec![last], all));
    }

    #[test]
    fn an_unpinned_thread_has_the_cores_from_before_the_first_pin() {
        let all = allowed_cores().unwrap();
        let (first, last) = (all[0], *all.last().unwrap());
        let inherited = on_a_thread(move || {
            pin_thread(first).unwrap();
            pin_thread(last).unwrap();
            spawn_unpinned("unpinned", || allowed_cores().unwrap()).unwrap().join().unwrap()
        });
        assert_eq!(inherited, all);
    }

    #[test]
    fn cores_that_do_not_exist_are_errors() {
        let all = allowed_cores().unwrap();
        let errors = on_a_thread(|| [MAX_CORES - 1, MAX_CORES, usize::MAX].map(|core| pin_thread(core).is_err()));
        let exists = all.last() == Some(&(MAX_CORES - 1));
        assert_eq!(errors, [!exists, true, true]);
        assert_eq!(allowed_cores().unwrap(), all);
    }
}
