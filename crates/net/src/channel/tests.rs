use std::{fs::File, io::ErrorKind, io::Read};

use super::*;

#[test]
fn messages_arrive_whole_and_in_order() {
    let (one, other) = Channel::pair().unwrap();
    let long = vec![7; 100_000];
    one.send(b"a", &[]).unwrap();
    one.send(&long, &[]).unwrap();
    assert_eq!(other.receive().unwrap().unwrap().bytes, b"a");
    assert_eq!(other.try_receive().unwrap().unwrap().bytes, long);
    assert_eq!(other.try_receive().unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(other);
    assert_eq!(one.send(b"a", &[]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert!(one.receive().unwrap().is_none());
}

#[test]
fn descriptors_are_the_same_files() {
    let (one, other) = Channel::pair().unwrap();
    let file = File::open("/proc/self/comm").unwrap();
    one.send(b"many", &vec![file.as_fd(); MAX_DESCRIPTORS]).unwrap();
    one.send(b"none", &[]).unwrap();
    let mut descriptors = other.receive().unwrap().unwrap().descriptors;
    assert_eq!(descriptors.len(), MAX_DESCRIPTORS);
    let mut text = String::new();
    File::from(descriptors.remove(0)).read_to_string(&mut text).unwrap();
    assert!(!text.is_empty());
    assert!(other.receive().unwrap().unwrap().descriptors.is_empty());
}

#[tokio::test]
async fn receiving_waits_for_a_message() {
    let (one, other) = Channel::pair().unwrap();
    let other = AsyncChannel::new(other).unwrap();
    let receiving = other.receive();
    one.send(b"a", &[]).unwrap();
    assert_eq!(receiving.await.unwrap().unwrap().bytes, b"a");
    other.send(b"b", &[]).unwrap();
    assert_eq!(one.receive().unwrap().unwrap().bytes, b"b");
    assert_eq!(other.try_receive().unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(one);
    assert!(other.receive().await.unwrap().is_none());
}

#[test]
fn sending_to_a_full_channel_does_not_block() {
    let (one, _other) = Channel::pair().unwrap();
    let sent = (0..10_000).take_while(|_| one.send(&[0; 1000], &[]).is_ok()).count();
    assert!((10..10_000).contains(&sent), "{sent}");
    assert_eq!(one.send(&[0; 1000], &[]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(one.send(b"", &[]).unwrap_err().kind(), ErrorKind::InvalidInput);
}
