//! The additions of HTTP/3 to a server: UDP sockets, and the connections of QUIC on them.

pub(crate) use crate::{
    quic_accepting::{QuicSocket, accept},
    quic_sockets::{QuicPlan, QuicSockets},
};
