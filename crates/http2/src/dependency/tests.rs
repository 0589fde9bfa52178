use super::*;

fn on(stream: u32, weight: u16, exclusive: bool) -> Dependency {
    Dependency { on: StreamId::new(stream), weight, exclusive }
}

fn priority(urgency: u8, incremental: bool) -> Option<Priority> {
    Some(Priority { urgency, incremental })
}

fn id(stream: u32) -> StreamId {
    StreamId::new(stream)
}

#[test]
fn chains_come_back_to_their_urgency() {
    let mut dependencies = Dependencies::new();
    for (urgency, weight) in [256, 220, 183, 147, 110, 74, 37, 1].into_iter().enumerate() {
        let signal = on(1, weight, true);
        assert_eq!(dependencies.handle(id(3), signal), priority(urgency as u8, false), "{weight}");
    }
    assert_eq!(dependencies.handle(id(3), on(0, 16, true)), Some(Priority::DEFAULT), "it has said nothing");
}

#[test]
fn urgency_follows_weight() {
    for exclusive in [false, true] {
        let urgencies: Vec<_> = (1..=256)
            .filter(|&weight| weight != USUAL_WEIGHT)
            .map(|weight| Dependencies::new().handle(id(1), on(0, weight, exclusive)).unwrap().urgency)
            .collect();
        assert!(urgencies.is_sorted_by(|heavier, lighter| heavier >= lighter));
        assert_eq!((urgencies[0], urgencies[254]), (7, 0));
    }
    // Not on the wire, but no reason to fall over.
    for weight in [0, 257, u16::MAX] {
        for exclusive in [false, true] {
            assert!(Dependencies::new().handle(id(1), on(0, weight, exclusive)).unwrap().urgency <= 7);
        }
    }
}

#[test]
fn siblings_share() {
    let mut dependencies = Dependencies::new();
    assert_eq!(dependencies.handle(id(1), on(0, 16, false)), priority(3, true));
    assert_eq!(dependencies.handle(id(3), on(1, 16, false)), priority(3, true), "a request is no group");
    assert_eq!(dependencies.handle(id(5), on(0, 32, false)), priority(2, true));
    assert_eq!(dependencies.handle(id(7), on(0, 8, false)), priority(4, true));
}

/// As it greets every server, and what its requests depend on then.
#[test]
fn groups_of_firefox() {
    let mut dependencies = Dependencies::new();
    for (stream, parent, weight) in [(3, 0, 201), (5, 0, 101), (7, 0, 1), (9, 7, 1), (11, 3, 1), (13, 0, 241)] {
        dependencies.handle_idle(id(stream), on(parent, weight, false));
    }
    for (group, urgency) in [(13, 0), (3, 1), (5, 2), (11, 2), (7, 7), (9, 7)] {
        for weight in [2, 22, 42] {
            assert_eq!(dependencies.handle(id(15), on(group, weight, false)), priority(urgency, true), "group {group}");
        }
    }
}

#[test]
fn a_request_that_was_spoken_of_before() {
    let mut dependencies = Dependencies::new();
    dependencies.handle_idle(id(1), on(0, 256, true));
    assert_eq!(dependencies.kept(id(1)), priority(0, false));
    dependencies.handle_idle(id(1), on(0, 1, true));
    assert_eq!(dependencies.kept(id(1)), priority(7, false), "the last word counts");
    assert_eq!(dependencies.kept(id(3)), None);
}

#[test]
fn dependence_on_itself_is_passed_over() {
    let mut dependencies = Dependencies::new();
    assert_eq!(dependencies.handle(id(1), on(1, 16, false)), priority(3, true));
    for _ in 0..10 {
        dependencies.handle_idle(id(3), on(3, 16, false));
    }
    assert_eq!(dependencies.kept(id(3)), priority(3, true), "it is not behind itself");
}

#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn a_flood_of_groups_keeps_the_first_few() {
    let mut dependencies = Dependencies::new();
    for stream in 0..100_000 {
        dependencies.handle_idle(id(2 * stream + 1), on(2 * stream, 201, true));
    }
    assert_eq!(dependencies.groups.len(), Dependencies::MAX_GROUPS);
    assert!(dependencies.kept(id(1)).is_some());
    // Round and round: each behind the other.
    for _ in 0..100 {
        dependencies.handle_idle(id(1), on(3, 201, false));
        dependencies.handle_idle(id(3), on(1, 201, false));
    }
    assert_eq!(dependencies.kept(id(1)), priority(7, true));
}

#[test]
fn rfc7540_signals_are_ignored_once_the_client_knows_rfc9218() {
    let mut dependencies = Dependencies::new();
    dependencies.handle_idle(id(3), on(0, 201, false));
    dependencies.ignore();
    assert!(dependencies.is_ignored());
    assert_eq!(dependencies.handle(id(5), on(3, 16, false)), None);
    dependencies.handle_idle(id(7), on(0, 16, false));
    assert_eq!((dependencies.kept(id(3)), dependencies.kept(id(7))), (None, None));
}
