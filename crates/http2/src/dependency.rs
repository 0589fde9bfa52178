//! The signals of clients that know only RFC 7540's priorities, translated into the terms of RFC 9218.
//!
//! RFC 7540 §5.3 had clients build a tree of streams, and share bandwidth by weights among the children of a node. RFC
//! 9113 §5.3.1 gave it up. Clients that still send its signals use them in a few ways, and each comes down to an
//! urgency:
//!
//! ```text
//! depends on                      urgency                               incremental    who does so
//!
//! nothing, or a stream that       by weight, 16 being the usual 3       yes            curl, nghttp, h2load, Safari
//! is no group
//! a group: an idle stream that    that of the group                     yes            Firefox, nghttp
//! a PRIORITY frame has named
//! anything, exclusively           by weight, 256 being 0 and 1 being 7  no             Chromium
//! ```
//!
//! * **Siblings.** Streams side by side share: that is what RFC 7540 says of equal weights, and what such a client counts
//!   on; so they are incremental. Other weights than the usual one are a matter of more or less urgent.
//! * **Groups.** Firefox names idle streams once, as leaders (weight 201), others (101), background (1), and so on, and
//!   has its requests depend on them. Such a stream never opens; its urgency is kept. A group that depends on another group
//!   is one less urgent than that: its streams have what the other's leave.
//! * **Chains.** Chromium puts every stream exclusively behind the last one that is as urgent, so that they are served one
//!   after the other, and derives the weight from one of eight urgencies (256, 220, 183, 147, 110, 74, 37, 1), which is
//!   turned round here.
//!
//! There is no tree. A client can make the server keep [`Dependencies::MAX_GROUPS`] groups, the first ones that it
//! names. Attackers have grown trees, by PRIORITY frames for streams that never open, and shuffled them, by frames that
//! move a stream with many children, until servers did nothing else (CVE-2019-9513). Here each signal costs one look at
//! a list of that length.

use alloc::vec::Vec;

use serow_message::Priority;

use crate::{StreamId, frame::Dependency};

/// The groups of a connection, from its client's signals.
#[derive(Clone, Debug, Default)]
pub struct Dependencies {
    groups: Vec<Group>,
    ignored: bool,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    stream: StreamId,
    priority: Priority,
}

impl Dependencies {
    /// Firefox names six, nghttp five.
    pub const MAX_GROUPS: usize = 8;

    /// An empty tree; does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self { groups: Vec::new(), ignored: false }
    }

    /// The client knows RFC 9218: its first SETTINGS have SETTINGS_NO_RFC7540_PRIORITIES = 1 (RFC 9218 §2.1.1), or it
    /// has sent a field `priority` or a PRIORITY_UPDATE frame. Its older signals mean nothing from now on; what they
    /// said of streams that are open stays.
    pub fn ignore(&mut self) {
        *self = Self { groups: Vec::new(), ignored: true };
    }

    /// Whether they mean nothing.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.ignored
    }

    /// In HEADERS, or in a PRIORITY frame for a stream that is open: its priority from now on; `None` where it stays.
    #[inline]
    pub fn handle(&mut self, stream: StreamId, dependency: Dependency) -> Option<Priority> {
        if self.ignored {
            return None;
        }
        Some(self.priority_of(stream, dependency))
    }

    /// In a PRIORITY frame for an idle stream, which may be a group, or a request that is still to come.
    pub fn handle_idle(&mut self, stream: StreamId, dependency: Dependency) {
        if self.ignored {
            return;
        }
        let mut priority = self.priority_of(stream, dependency);
        let behind = dependency.on != stream && self.kept(dependency.on).is_some();
        if behind {
            priority.urgency = (priority.urgency + 1).min(Priority::BACKGROUND);
        }
        if let Some(group) = self.groups.iter_mut().find(|group| group.stream == stream) {
            group.priority = priority;
        } else if self.groups.len() < Self::MAX_GROUPS {
            self.groups.push(Group { stream, priority });
        }
    }

    /// The priority that a PRIORITY frame gave a stream while it was idle: for a request without a signal of its own.
    #[inline]
    #[must_use]
    pub fn kept(&self, stream: StreamId) -> Option<Priority> {
        self.groups.iter().find(|group| group.stream == stream).map(|group| group.priority)
    }

    fn priority_of(&self, stream: StreamId, dependency: Dependency) -> Priority {
        let Dependency { on, weight, exclusive } = dependency;
        if exclusive {
            return Priority { urgency: urgency_in_chain(weight), incremental: false };
        }
        // RFC 7540 §5.3.1 had a stream that depends on itself be an error; RFC 9113 does not.
        let group = if on == stream { None } else { self.kept(on) };
        let urgency = group.map_or_else(|| urgency_of_sibling(weight), |group| group.urgency);
        Priority { urgency, incremental: true }
    }
}

/// The default weight (RFC 7540 §5.3.5).
const USUAL_WEIGHT: u16 = 16;

/// Chromium's weights are 1 + 255/7 × (7 - urgency), rounded down.
fn urgency_in_chain(weight: u16) -> u8 {
    // No urgency gives this weight: it comes from a library that has no urgency to signal, but sets the bit.
    if weight == USUAL_WEIGHT {
        return Priority::DEFAULT.urgency;
    }
    // The nearest of the eight.
    let above = (u32::from(weight.clamp(1, 256)) - 1) * 7;
    Priority::BACKGROUND - ((above + 127) / 255) as u8
}

/// Each step about doubles the weight, the usual one in the middle of its step. Firefox's urgent starts (241), leaders
/// (201), others (101) and background (1) come to 0, 1, 2 and 7, and its followers, behind the leaders, to 2.
fn urgency_of_sibling(weight: u16) -> u8 {
    match weight {
        224.. => 0,
        112..224 => 1,
        23..112 => 2,
        12..23 => 3,
        6..12 => 4,
        3..6 => 5,
        2 => 6,
        0..2 => 7,
    }
}

#[cfg(test)]
mod tests;
