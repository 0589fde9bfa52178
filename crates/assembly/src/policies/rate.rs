//! How fast responses are sent.

use std::num::NonZeroU64;

use serow_config::tables::policies::PolicySettings;
use serow_document::{Place, Problem};
use serow_site::Rate;

/// The rate that these settings at this place say, inside of something with this rate.
pub(super) fn of(outer: Option<Rate>, settings: &PolicySettings, place: &Place) -> Result<Option<Rate>, Problem> {
    let per_second = match settings.rate {
        None => outer.map(|rate| rate.per_second),
        Some(limit) if limit.0 == u64::MAX => None,
        Some(limit) => {
            let text = "0 bytes per second: nothing would be sent; write \"unlimited\" for no limit";
            Some(NonZeroU64::new(limit.0).ok_or_else(|| Problem::of_value(place.key("rate"), text))?)
        }
    };
    match (per_second, settings.rate_after) {
        (None, Some(_)) => {
            let text = "`rate-after` needs `rate`: write how many bytes per second are sent after it";
            Err(Problem::of_key(place.key("rate-after"), text))
        }
        (None, None) => Ok(None),
        (Some(per_second), after) => {
            let after = after.map_or(outer.map_or(0, |rate| rate.after), |size| size.0);
            Ok(Some(Rate { per_second, after }))
        }
    }
}
