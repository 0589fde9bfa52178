//! Smaller plans that still violate an invariant.

use crate::{
    plan::{Id, Kept, Plan},
    world::World,
};

/// Leaves parts of a plan out, as long as there is a violation with this text; what is left out in the end.
#[must_use]
pub fn shrink(plan: &Plan, about: &str) -> Kept {
    let fails =
        |kept: &Kept| World::run(&plan.kept(kept), false).violations.iter().any(|violation| violation.contains(about));
    let mut kept = Kept::default();
    let calm = Kept { without_stop: true, ..kept.clone() };
    if fails(&calm) {
        kept = calm;
    }
    let ids: Vec<Id> = plan.clients.iter().flat_map(|client| &client.requests).map(|request| request.id).collect();
    let mut size = ids.len().div_ceil(2).max(1);
    loop {
        let mut left: Vec<_> = ids.iter().filter(|id| !kept.without.contains(id)).copied().collect();
        // Those behind first: the ones before them may have led there.
        left.reverse();
        for part in left.chunks(size) {
            let mut fewer = kept.clone();
            fewer.without.extend(part);
            if fails(&fewer) {
                kept = fewer;
            }
        }
        if size == 1 {
            return kept;
        }
        size = size.div_ceil(2);
    }
}
