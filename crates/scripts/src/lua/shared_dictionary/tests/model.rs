//! Random operations: they do what a model does; on damaged memory, they do anything but panic, hang or read outside.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::lua::shared_dictionary::layout::{ENTRIES, MAX_BYTES};

/// An operation with one of some names.
#[derive(Clone, Debug)]
enum Operation {
    Set { name: u8, length: usize, lifetime: Option<f64> },
    SetNumber { name: u8, number: f64, lifetime: Option<f64> },
    Add { name: u8, by: f64, lifetime: Option<f64> },
    Remove { name: u8 },
    Get { name: u8 },
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use Operation::{Add, Get, Remove, Set, SetNumber};
    let name = 0_u8..24;
    let lifetime = prop_oneof![Just(None), (1..100_u8).prop_map(|seconds| Some(f64::from(seconds)))];
    let length = prop_oneof![4 => 0..64_usize, 2 => 0..100_000_usize, 1 => 0..5_000_000_usize, 1 => Just(MAX_BYTES)];
    let number = (-5..5_i8).prop_map(f64::from);
    let operation = prop_oneof![
        (name.clone(), length, lifetime.clone()).prop_map(|(name, length, lifetime)| Set { name, length, lifetime }),
        (name.clone(), number.clone(), lifetime.clone()).prop_map(|(name, number, lifetime)| SetNumber {
            name,
            number,
            lifetime
        }),
        (name.clone(), number, lifetime).prop_map(|(name, by, lifetime)| Add { name, by, lifetime }),
        name.clone().prop_map(|name| Remove { name }),
        name.prop_map(|name| Get { name }),
    ];
    prop::collection::vec(operation, 1..80)
}

/// The bytes of a name: of different lengths.
fn name_of(number: u8) -> Vec<u8> {
    vec![number; 1 + usize::from(number) * 11 % 80]
}

fn value_of(name: u8, length: usize) -> Entry {
    Entry::Text(vec![name; length])
}

/// The result of an operation, with the errors as a flag.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Failed,
    Sum(f64),
    Value(Option<Entry>),
}

/// The dictionary without the memory: values, and when they end.
#[derive(Default)]
struct Model(HashMap<u8, (Entry, f64)>);

impl Model {
    fn perform(&mut self, operation: &Operation, now: f64) -> Outcome {
        self.0.retain(|_, (_, expires)| now < *expires);
        match *operation {
            Operation::Set { name, length, lifetime } => self.set(name, value_of(name, length), lifetime, now),
            Operation::SetNumber { name, number, lifetime } => self.set(name, Entry::Number(number), lifetime, now),
            Operation::Add { name, by, lifetime } => match self.0.get_mut(&name) {
                Some((Entry::Number(number), _)) => {
                    *number += by;
                    Outcome::Sum(*number)
                }
                Some(_) => Outcome::Failed,
                None => match self.set(name, Entry::Number(by), lifetime, now) {
                    Outcome::Done => Outcome::Sum(by),
                    outcome => outcome,
                },
            },
            Operation::Remove { name } => {
                self.0.remove(&name);
                Outcome::Done
            }
            Operation::Get { name } => Outcome::Value(self.0.get(&name).map(|(entry, _)| entry.clone())),
        }
    }

    fn set(&mut self, name: u8, entry: Entry, lifetime: Option<f64>, now: f64) -> Outcome {
        let size = |name: u8, entry: &Entry| match entry {
            Entry::Number(_) => name_of(name).len() + ENTRY_BYTES,
            Entry::Text(text) => name_of(name).len() + text.len() + ENTRY_BYTES,
        };
        self.0.remove(&name);
        let bytes: usize = self.0.iter().map(|(name, (entry, _))| size(*name, entry)).sum();
        if bytes + size(name, &entry) > MAX_BYTES {
            return Outcome::Failed;
        }
        self.0.insert(name, (entry, lifetime.map_or(f64::INFINITY, |lifetime| now + lifetime)));
        Outcome::Done
    }
}

fn perform(dictionary: &Dictionary, operation: &Operation, now: f64) -> Outcome {
    let ends = |lifetime: Option<f64>| lifetime.map(|lifetime| now + lifetime);
    let done = |outcome: Result<(), String>| outcome.map_or(Outcome::Failed, |()| Outcome::Done);
    match *operation {
        Operation::Set { name, length, lifetime } => {
            done(dictionary.set(&name_of(name), &value_of(name, length), ends(lifetime), now))
        }
        Operation::SetNumber { name, number, lifetime } => {
            done(dictionary.set(&name_of(name), &Entry::Number(number), ends(lifetime), now))
        }
        Operation::Add { name, by, lifetime } => {
            dictionary.add(&name_of(name), by, ends(lifetime), now).map_or(Outcome::Failed, Outcome::Sum)
        }
        Operation::Remove { name } => done(dictionary.remove(&name_of(name))),
        Operation::Get { name } => dictionary.get(&name_of(name), now).map_or(Outcome::Failed, Outcome::Value),
    }
}

/// A change of memory that no operation makes: a byte, or an aligned word.
#[derive(Clone, Debug)]
enum Damage {
    Byte { place: prop::sample::Index, byte: u8 },
    Word { place: prop::sample::Index, word: u64 },
    Zeros { place: prop::sample::Index },
}

fn damages() -> impl Strategy<Value = Damage> {
    let place = any::<prop::sample::Index>;
    // Numbers that are nearly right do more than random ones.
    let word = prop_oneof![
        any::<u64>(),
        (0..MEMORY_BYTES as u64).prop_map(|place| place & !7),
        (0..400_u64).prop_map(|number| (number << 32) | (ENTRIES as u64 + 8 * number)),
        Just(u64::MAX),
        0..3_u64,
    ];
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(place, byte)| Damage::Byte { place, byte }),
        (place(), word).prop_map(|(place, word)| Damage::Word { place, word }),
        place().prop_map(|place| Damage::Zeros { place }),
    ]
}

/// Damages what is in use: the header, the buckets, or the first entries.
fn damage(dictionary: &Dictionary, damage: &Damage) {
    let inner = dictionary.inner.lock().unwrap();
    let memory = inner.table.memory();
    let place = |index: &prop::sample::Index| match index.index(3 * 4096) {
        place @ 0..4096 => place % 72,
        place @ 4096..8192 => 4096 + (place - 4096) * 128,
        place => ENTRIES + (place - 8192) / 4,
    };
    match damage {
        Damage::Byte { place: index, byte } => memory.write(place(index), &[*byte]),
        Damage::Word { place: index, word } => memory.write(place(index) & !7, &word.to_ne_bytes()),
        Damage::Zeros { place: index } => memory.write(place(index), &[0; 64]),
    }
    .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn operations_do_what_the_model_does(operations in operations()) {
        let (dictionary, mut model) = (own(), Model::default());
        for (step, operation) in operations.iter().enumerate() {
            let now = step as f64;
            prop_assert_eq!(perform(&dictionary, operation, now), model.perform(operation, now), "step {}", step);
            // All of them now and then: some have megabytes.
            for name in (0..24).filter(|_| step % 16 == 15) {
                let get = Operation::Get { name };
                prop_assert_eq!(perform(&dictionary, &get, now), model.perform(&get, now), "step {}: {}", step, name);
            }
        }
    }

    #[test]
    fn damage_never_panics(steps in prop::collection::vec((operations(), damages()), 1..6)) {
        let dictionary = own();
        for (step, (operations, change)) in steps.iter().enumerate() {
            for operation in operations {
                perform(&dictionary, operation, step as f64);
            }
            damage(&dictionary, change);
            for operation in operations {
                perform(&dictionary, operation, step as f64 + 0.5);
            }
        }
        // It is usable still.
        prop_assert_eq!(dictionary.remove(b"new"), Ok(()));
        prop_assert_eq!(dictionary.get(b"new", 0.0), Ok(None));
    }
}
