//! The crate `governor` as the oracle: the same requests are allowed.

use std::{num::NonZeroU32, time::Duration};

use governor::{Quota, RateLimiter, clock::FakeRelativeClock};
use proptest::prelude::*;
use serow_limits::{KeyTable, Limit, Rate};

proptest! {
    #[test]
    fn the_same_requests_are_allowed(
        interval in 1_u64..5_000,
        burst in 0_u32..20,
        pauses in prop::collection::vec((0_u64..20_000, 0_u8..3), 1..200),
    ) {
        let clock = FakeRelativeClock::default();
        let quota = Quota::with_period(Duration::from_secs(interval)).unwrap();
        let quota = quota.allow_burst(NonZeroU32::new(burst + 1).unwrap());
        let oracle = RateLimiter::dashmap_with_clock(quota, clock.clone());
        let limit = Limit::new(Rate::new(1, Duration::from_secs(interval)).unwrap()).with_burst(burst);
        let table = KeyTable::new(100);
        let mut now = 0;
        for (pause, client) in pauses {
            let pause = Duration::from_secs(pause);
            clock.advance(pause);
            now += u64::try_from(pause.as_nanos()).unwrap();
            let allowed = table.decide(&limit, table.key(&[client]), 1, now).is_allowed();
            prop_assert_eq!(allowed, oracle.check_key(&client).is_ok(), "at {} by {}", now, client);
        }
    }
}
