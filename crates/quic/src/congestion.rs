//! Congestion control: Cubic, and a bound on the bytes in flight while only less urgent ones are sent.
//!
//! Cubic fills whatever queue the link has until packets are lost: seconds of slow links, in which an urgent response waits
//! behind what was sent before. Over TCP, `serow_pacing` bounds what is in flight for that reason; here, the same bound
//! makes the window smaller.

mod delivery;

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use quinn_proto::{
    RttEstimator,
    congestion::{Controller, ControllerFactory, CubicConfig},
};
use serow_pacing::FlightCeiling;

use self::delivery::Delivery;

/// Makes the controllers of paths.
#[derive(Debug)]
pub(crate) struct BoundedCubicConfig;

/// The controller of one path.
struct BoundedCubic {
    cubic: Box<dyn Controller>,
    ceiling: FlightCeiling,
    /// The most bytes in flight while only less urgent ones are sent; none if they are not bounded.
    bound: Option<u64>,
    /// Clones are of the same connection.
    is_less_urgent: Arc<AtomicBool>,
    began: Instant,
    mtu: u16,
    delivery: Delivery,
}

impl ControllerFactory for BoundedCubicConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(BoundedCubic {
            cubic: Arc::new(CubicConfig::default()).build(now, current_mtu),
            ceiling: FlightCeiling::default(),
            bound: None,
            is_less_urgent: Arc::default(),
            began: now,
            mtu: current_mtu,
            delivery: Delivery::begin(now),
        })
    }
}

/// Tells the controller of a path whether the next bytes to be sent are less urgent than others may be.
pub(crate) fn set_less_urgent(controller: &dyn Controller, is_less_urgent: bool) {
    // QUIC shows its controller by this trait alone.
    if let Ok(controller) = controller.clone_box().into_any().downcast::<BoundedCubic>() {
        controller.is_less_urgent.store(is_less_urgent, Ordering::Relaxed);
    }
}

impl BoundedCubic {
    /// The bound, where it is what keeps bytes back.
    fn effective_bound(&self) -> Option<u64> {
        let bound = self.bound.filter(|bound| *bound < self.cubic.window())?;
        self.is_less_urgent.load(Ordering::Relaxed).then_some(bound)
    }
}

impl Controller for BoundedCubic {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.cubic.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.delivery.handle_acknowledgement(now, sent, bytes, app_limited, rtt.get());
        // A window that is not used does not grow (RFC 9002 §7.8).
        let app_limited = app_limited || self.effective_bound().is_some();
        self.cubic.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        let micros = u64::try_from(now.saturating_duration_since(self.began).as_micros()).unwrap_or(u64::MAX);
        self.ceiling.handle_sample(&self.delivery.sample(in_flight, self.mtu), micros);
        self.bound = self.ceiling.bytes(micros).map(u64::from);
        if self.effective_bound().is_some_and(|bound| in_flight + u64::from(self.mtu) > bound) {
            self.ceiling.note_held(micros);
        }
        self.cubic.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        self.cubic.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
        self.cubic.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.effective_bound().unwrap_or_else(|| self.cubic.window())
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            cubic: self.cubic.clone_box(),
            ceiling: self.ceiling.clone(),
            is_less_urgent: Arc::clone(&self.is_less_urgent),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.cubic.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
