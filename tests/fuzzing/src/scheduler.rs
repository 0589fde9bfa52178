//! Streams come, go and are served in any order: the scheduler does what a list that is searched from end to end does.

use arbitrary::Arbitrary;
use serow_message::Priority;
use serow_streams::{
    StreamId,
    scheduler::{Claim, Scheduler},
};

use crate::{scheduler_model::Model, with_value};

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u8, Said),
    /// So many at once, so that a list becomes a tree.
    InsertMany(u8, Said),
    Remove(u8, Said),
    RemoveAll(Said),
    Reprioritise(u8, Said, Said),
    ServeNext(u16),
    /// Not in turn, perhaps not even there.
    Serve(u8, Said, u16),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Said {
    urgency: u8,
    incremental: bool,
    tunnel: bool,
}

impl Said {
    fn claim(self) -> Claim {
        Claim { priority: Priority { urgency: self.urgency % 9, incremental: self.incremental }, tunnel: self.tunnel }
    }
}

/// Both, and what each stream was inserted with: a stream has one priority.
#[derive(Default)]
struct Both {
    scheduler: Scheduler,
    model: Model,
}

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(operations: Vec<Operation>) {
    let mut both = Both::default();
    for operation in &operations {
        both.run(operation);
        assert_eq!(both.scheduler.next(), both.model.next());
        assert_eq!(both.scheduler.len(), both.model.len());
        assert_eq!(both.scheduler.is_empty(), both.model.len() == 0);
    }
    for (stream, claim) in both.model.inside().to_vec() {
        assert!(both.scheduler.remove(stream, claim));
    }
    assert!(both.scheduler.is_empty() && both.scheduler.next().is_none());
}

impl Both {
    fn run(&mut self, operation: &Operation) {
        match *operation {
            Operation::Insert(stream, said) => self.insert(id(stream), said.claim()),
            Operation::InsertMany(count, said) => {
                (0..u32::from(count)).for_each(|number| self.insert(StreamId::new(1000 + number), said.claim()));
            }
            Operation::Remove(stream, said) => self.remove(id(stream), said.claim()),
            Operation::RemoveAll(said) => {
                let gone: Vec<_> =
                    self.model.inside().iter().copied().filter(|&(_, claim)| claim == said.claim()).collect();
                gone.into_iter().for_each(|(stream, claim)| self.remove(stream, claim));
            }
            Operation::Reprioritise(stream, from, to) => {
                let (stream, from, to) = (id(stream), self.claim(id(stream)).unwrap_or(from.claim()), to.claim());
                assert_eq!(self.scheduler.reprioritise(stream, from, to), self.model.reprioritise(stream, from, to));
            }
            Operation::ServeNext(bytes) => {
                if let Some(stream) = self.model.next() {
                    let claim = self.claim(stream).expect("it is inside");
                    self.serve(stream, claim, bytes);
                }
            }
            Operation::Serve(stream, said, bytes) => {
                let claim = self.claim(id(stream)).unwrap_or(said.claim());
                self.serve(id(stream), claim, bytes);
            }
        }
    }

    fn insert(&mut self, stream: StreamId, claim: Claim) {
        if self.claim(stream).is_none() {
            self.scheduler.insert(stream, claim);
            self.model.insert(stream, claim);
        }
    }

    fn remove(&mut self, stream: StreamId, said: Claim) {
        let claim = self.claim(stream).unwrap_or(said);
        assert_eq!(self.scheduler.remove(stream, claim), self.model.remove(stream, claim));
    }

    fn serve(&mut self, stream: StreamId, claim: Claim, bytes: u16) {
        self.scheduler.note_served(stream, claim, bytes.into());
        self.model.note_served(stream, claim, bytes.into());
    }

    fn claim(&self, stream: StreamId) -> Option<Claim> {
        self.model.inside().iter().find(|&&(other, _)| other == stream).map(|&(_, claim)| claim)
    }
}

fn id(stream: u8) -> StreamId {
    StreamId::new(stream.into())
}
