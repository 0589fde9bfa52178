//! Sockets, clocks and timers: the system calls of the server. This is its only crate with `unsafe` code.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

#[cfg_attr(feature = "simulation", path = "simulated/accept.rs")]
mod accept;
mod accept_error;
#[cfg_attr(feature = "simulation", path = "simulated/alarm.rs")]
mod alarm;
mod background_thread;
mod buffers;
pub mod channel;
pub mod clock;
#[cfg_attr(feature = "simulation", path = "simulated/connect.rs")]
mod connect;
pub mod cores;
pub mod deadlines;
mod destination;
pub mod inheritance;
mod lasting_work;
#[cfg(feature = "udp")]
mod lent_buffers;
mod listener;
mod peer;
pub mod peer_credentials;
mod port_lock;
#[cfg(feature = "sandbox")]
pub mod private_folder;
pub mod process;
#[cfg_attr(feature = "simulation", path = "simulated/random.rs")]
pub mod random;
pub mod reuse_port;
mod runtime;
#[cfg(feature = "sandbox")]
pub mod sandbox;
mod sending;
mod shared_memory;
#[cfg(feature = "simulation")]
pub mod simulated;
#[cfg_attr(feature = "simulation", path = "simulated/socket.rs")]
mod socket;
pub mod socket_filter;
mod socket_state;
#[cfg(not(feature = "simulation"))]
mod tcp_info;
mod thread_slots;
#[cfg_attr(feature = "simulation", path = "simulated/time.rs")]
pub mod time;
mod tunnel;
#[cfg(feature = "udp")]
mod udp;
mod warning_pace;
mod wire;

pub use accept::{Accepted, Acceptor};
pub use accept_error::{AcceptError, PAUSE_AFTER_EXHAUSTION};
pub use alarm::Alarm;
pub use background_thread::BackgroundThread;
pub use buffers::{Buffers, INPUT_LENGTH};
pub use clock::{Clock, Moment};
pub use deadlines::{Deadline, Deadlines, TICK};
pub use destination::Destination;
pub use lasting_work::LastingWork;
#[cfg(feature = "udp")]
pub use lent_buffers::{LENT_LENGTH, lend_buffer, return_lent_buffer, take_lent_buffer};
pub use listener::{BindError, DrainMember, ListenOptions, Listener, PortDrained};
pub use peer::Peer;
pub use peer_credentials::PeerCredentials;
pub use port_lock::PortLock;
pub use runtime::{event_loop_turn, thread_runtime};
pub use serow_message::{Address, AddressError};
pub use shared_memory::{OutsideError, SharedMemory};
pub use socket::Socket;
pub use socket_state::{More, Readable};
pub use thread_slots::{SlotNumber, ThreadSlots};
pub use time::monotonic;
pub use tunnel::Tunnel;
#[cfg(feature = "udp")]
pub use udp::{DatagramBatch, Datagrams, EcnCodepoint, Transmit, UdpSocket, bind_udp};
pub use warning_pace::WarningPace;
pub use wire::Wire;
