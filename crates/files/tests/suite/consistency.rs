//! Whatever is done to the files meanwhile: a response is one version of one file, or an error.

use std::{
    fs,
    io::{Seek, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::site::{Site, pass, read, request, true_clock};
use serow_message::Method;

/// A version is one letter, repeated; its length depends on the letter, so that a part of one is never a whole other.
fn version(letter: u8, unit: usize) -> Vec<u8> {
    vec![letter; unit + usize::from(letter) * 7]
}

fn is_one_version(body: &[u8], unit: usize) -> bool {
    match body.first() {
        Some(&letter) => body == version(letter, unit),
        None => false,
    }
}

struct Stop<'flag>(&'flag AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Asks for a file while `change` is done to it over and over.
fn storm(requests: usize, unit: usize, change: impl Fn(&Site, &[u8]) + Sync) {
    let site = Site::new(&[]);
    site.write("file", version(b'a', unit));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop_even_after_a_panic = Stop(&stop);
        scope.spawn(|| {
            for letter in (b'a'..=b'z').cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                change(&site, &version(letter, unit));
                std::thread::yield_now();
            }
        });
        let files = site.serve().with_clock(true_clock());
        let mut whole = 0;
        for _ in 0..requests {
            pass(100);
            let response = files.respond(&request(Method::GET, "/file", &[]));
            match response.status.as_u16() {
                200 => {
                    if let Ok(body) = read(response.body) {
                        assert!(is_one_version(&body, unit), "{} bytes are no version", body.len());
                        whole += 1;
                    }
                }
                404 | 503 => {}
                other => panic!("{other}"),
            }
        }
        assert!(whole > 0, "not one whole response");
    });
}

/// Overwrites a file in place, in one `write`.
fn overwrite(site: &Site, content: &[u8]) {
    let mut file = fs::File::options().write(true).open(site.path("file")).unwrap();
    file.rewind().unwrap();
    file.write_all(content).unwrap();
}

#[test]
fn small_files_replaced_by_rename() {
    storm(3000, 10_000, |site, content| site.replace("file", content));
}

#[test]
fn large_files_replaced_by_rename() {
    // Each waits for the clock's tick.
    storm(200, 300_000, |site, content| site.replace("file", content));
}

#[test]
fn small_files_removed_and_made_again() {
    storm(3000, 10_000, |site, content| {
        fs::remove_file(site.path("file")).unwrap();
        site.replace("file", content);
    });
}

/// In place, all versions have one length: a shorter one written over a longer one leaves its tail, and that mixture is
/// in the file, not made by the reader.
#[test]
fn files_overwritten_in_place() {
    for (requests, length) in [(2000, 100), (2000, 10_000), (2000, 60_000), (100, 300_000)] {
        storm_of_equal_length(requests, length);
    }
}

fn storm_of_equal_length(requests: usize, length: usize) {
    let site = Site::new(&[]);
    site.write("file", vec![b'a'; length]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop_even_after_a_panic = Stop(&stop);
        scope.spawn(|| {
            for letter in (b'a'..=b'z').cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                overwrite(&site, &vec![letter; length]);
                std::thread::yield_now();
            }
        });
        let files = site.serve().with_clock(true_clock());
        for _ in 0..requests {
            pass(100);
            let response = files.respond(&request(Method::GET, "/file", &[]));
            if let (200, Ok(body)) = (response.status.as_u16(), read(response.body)) {
                assert!(body.len() == length && body.iter().all(|byte| *byte == body[0]), "a mixture");
            }
        }
    });
}
