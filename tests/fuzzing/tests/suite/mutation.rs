//! Inputs that a seed repeats: parts of a corpus, changed at random.

use crate::corpus::Corpus;

/// As long as those of `fuzz/run`.
const MAX_LENGTH: usize = 4096;

/// Changed inputs, without an end.
pub(crate) struct Mutations<'a> {
    random: Random,
    corpus: &'a Corpus,
}

impl<'a> Mutations<'a> {
    pub(crate) fn new(corpus: &'a Corpus, seed: u64) -> Self {
        Self { random: Random(seed), corpus }
    }

    /// An input of the corpus; now and then, or if there is none, random bytes.
    fn entry(&mut self) -> Vec<u8> {
        if self.corpus.seeds.is_empty() || self.random.below(16) == 0 {
            let longest = 1 << self.random.below(11);
            return self.random.bytes(longest);
        }
        self.corpus.seeds[self.random.below(self.corpus.seeds.len())].1.clone()
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let place = self.random.below(input.len() + 1);
        let end = (place + 1 + self.random.below(16)).min(input.len());
        match self.random.below(8) {
            0 if place < end => input[place] ^= 1 << self.random.below(8),
            1 if place < end => input[place] = [0, 1, 0x7f, 0x80, 0xff, b' '][self.random.below(6)],
            2 => drop(input.drain(place..end)),
            3 => input.truncate(place),
            4 => {
                let times = 1 + self.random.below(4);
                let repeated = input[place..end].repeat(times);
                input.splice(end..end, repeated);
            }
            5 => {
                let other = self.entry();
                let from = self.random.below(other.len() + 1);
                let to = if self.random.below(2) == 0 { place } else { input.len() };
                input.splice(place..to, other[from..].iter().copied());
            }
            6 if !self.corpus.words.is_empty() => {
                let word = &self.corpus.words[self.random.below(self.corpus.words.len())];
                let to = if self.random.below(2) == 0 { place } else { end };
                input.splice(place..to, word.iter().copied());
            }
            _ => {
                let bytes = self.random.bytes(8);
                input.splice(place..place, bytes);
            }
        }
    }
}

impl Iterator for Mutations<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut input = self.entry();
        // More often few changes than many.
        let most = 1 << self.random.below(5);
        for _ in 0..=self.random.below(most) {
            self.change(&mut input);
        }
        input.truncate(MAX_LENGTH);
        Some(input)
    }
}

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// At most so many bytes.
    fn bytes(&mut self, longest: usize) -> Vec<u8> {
        let length = self.below(longest + 1);
        (0..length).map(|_| self.next() as u8).collect()
    }
}

#[test]
fn a_seed_makes_the_same_mutations_each_time() {
    let corpus = Corpus::of("chunked");
    let mutations = |seed| Mutations::new(&corpus, seed).take(1000).collect::<Vec<_>>();
    assert_eq!(mutations(1), mutations(1));
    assert_ne!(mutations(1), mutations(2));
}

#[test]
fn mutations_are_not_longer_than_inputs_of_the_fuzzer() {
    let long = Corpus { seeds: vec![(String::new(), vec![b'a'; MAX_LENGTH])], words: vec![b"word".to_vec()] };
    assert!(Mutations::new(&long, 1).take(1000).all(|input| input.len() <= MAX_LENGTH));
}
