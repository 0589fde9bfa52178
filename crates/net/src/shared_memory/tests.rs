use std::thread;

use super::*;

#[test]
fn bytes_of_any_length_are_copied_at_any_offset() {
    let memory = SharedMemory::anonymous(64).unwrap();
    let mut model = [0; 64];
    let mut next = 0_u8;
    for offset in 0..64 {
        for length in 0..=64 - offset {
            let bytes: Vec<_> = (0..length)
                .map(|_| {
                    next = next.wrapping_add(1);
                    next
                })
                .collect();
            memory.write(offset, &bytes).unwrap();
            model[offset..offset + length].copy_from_slice(&bytes);
            let (mut all, mut part) = ([0; 64], vec![0; length]);
            memory.read(0, &mut all).unwrap();
            memory.read(offset, &mut part).unwrap();
            assert_eq!((all, part), (model, bytes));
        }
    }
}

#[test]
fn access_outside_the_memory_is_an_error() {
    let memory = SharedMemory::anonymous(64).unwrap();
    memory.write(64, &[]).unwrap();
    for (offset, length) in [(64, 1), (60, 5), (65, 0), (usize::MAX, 1), (usize::MAX, 0)] {
        assert_eq!(memory.read(offset, &mut vec![0; length]), Err(OutsideError), "{offset} {length}");
        assert_eq!(memory.write(offset, &vec![0; length]), Err(OutsideError), "{offset} {length}");
    }
}

#[test]
fn a_file_must_be_of_one_length() {
    let loose = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&loose, 64).unwrap();
    assert!(SharedMemory::of_file(loose).is_err());
    let sealed = SharedMemory::file(64).unwrap();
    assert!(ftruncate(&sealed, 63).is_err() && ftruncate(&sealed, 65).is_err());
    let memory = SharedMemory::of_file(sealed).unwrap();
    assert!(memory.is_shared() && memory.length() == 64);
    assert!(SharedMemory::of_file(SharedMemory::file(0).unwrap()).is_err());
}

#[test]
fn threads_read_whole_words_of_two_mappings() {
    let file = SharedMemory::file(4096).unwrap();
    let (one, other) =
        (SharedMemory::of_file(file.try_clone().unwrap()).unwrap(), SharedMemory::of_file(file).unwrap());
    let rounds: u64 = if cfg!(miri) { 100 } else { 100_000 };
    thread::scope(|scope| {
        scope.spawn(|| (1..=rounds).for_each(|round| one.write(64, &((round << 32) | round).to_ne_bytes()).unwrap()));
        let mut last = 0;
        while last < rounds {
            let mut word = [0; 8];
            other.read(64, &mut word).unwrap();
            let word = u64::from_ne_bytes(word);
            assert!(word >> 32 == word & 0xffff_ffff && word & 0xffff_ffff >= last, "{word:x} after {last}");
            last = word & 0xffff_ffff;
        }
    });
}
