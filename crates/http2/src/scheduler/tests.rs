use super::*;

#[test]
fn an_empty_one_serves_nobody() {
    let scheduler = Scheduler::new();
    assert_eq!(scheduler.next(), None);
    assert!(scheduler.is_empty());
}
