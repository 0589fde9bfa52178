//! The requests and responses that a state has at the moment, by the numbers that scripts know them by.

use std::{cell::RefCell, rc::Rc};

use serow_message::Body;

use crate::lua::{context::Context, response_cell::ResponseCell};

/// A request or a response.
#[derive(Clone)]
pub(crate) enum Held {
    Request(Rc<Context>),
    Response(Rc<ResponseCell>),
}

impl Held {
    /// Takes the body, to read it.
    pub(crate) fn take_body(&self) -> Result<Body, String> {
        match self {
            Self::Request(context) => context.take_body(),
            Self::Response(cell) => cell.take_body(),
        }
    }

    /// Puts a body into its place.
    pub(crate) fn put_body(&self, body: Body) {
        match self {
            Self::Request(context) => context.put_body(body),
            Self::Response(cell) => cell.put_body(body),
        }
    }
}

/// Those of a state. A number is not given again, so that a script that keeps one finds nothing of another request.
#[derive(Default)]
pub(crate) struct HeldTable {
    slots: RefCell<Slots>,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

#[derive(Default)]
struct Slot {
    /// How often the slot has been used.
    generation: u64,
    held: Option<Held>,
}

impl HeldTable {
    /// Holds something, until it is released.
    pub(crate) fn hold(&self, held: Held) -> f64 {
        let mut slots = self.slots.borrow_mut();
        let index = slots.free.pop().unwrap_or_else(|| {
            slots.slots.push(Slot::default());
            slots.slots.len() - 1
        });
        let slot = &mut slots.slots[index];
        slot.generation += 1;
        slot.held = Some(held);
        (slot.generation * SLOTS + index as u64) as f64
    }

    /// Returns the request or response with this number.
    pub(crate) fn get(&self, number: f64) -> Option<Held> {
        let (generation, index) = parts(number);
        let slots = self.slots.borrow();
        slots.slots.get(index).filter(|slot| slot.generation == generation)?.held.clone()
    }

    /// Releases the request or response with this number.
    pub(crate) fn release(&self, number: f64) {
        let (generation, index) = parts(number);
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.slots.get_mut(index).filter(|slot| slot.generation == generation) else { return };
        if slot.held.take().is_some() {
            slots.free.push(index);
        }
    }
}

fn parts(number: f64) -> (u64, usize) {
    let number = number as u64;
    (number / SLOTS, (number % SLOTS) as usize)
}

/// More than a thread has requests. With it, 2³³ generations fit into the 53 bits that are exact in a number of Lua.
const SLOTS: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use serow_message::Response;

    use super::*;

    #[test]
    fn numbers_are_not_given_again() {
        let table = HeldTable::default();
        let response = || Held::Response(Rc::new(ResponseCell::new(Response::default())));
        let first = table.hold(response());
        let other = table.hold(response());
        assert!(table.get(first).is_some());
        table.release(first);
        table.release(first);
        assert!(table.get(first).is_none());
        let second = table.hold(response());
        assert!(first != second && table.get(first).is_none() && table.get(second).is_some());
        assert!(table.get(other).is_some());
        for wrong in [-1.0, 0.0, 0.5, f64::NAN, f64::INFINITY, 1e300] {
            assert!(table.get(wrong).is_none(), "{wrong}");
            table.release(wrong);
        }
    }
}
