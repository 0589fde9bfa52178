//! The encryption of connections in a build without TLS: no connection has one.

use std::{
    io,
    task::{Context, Poll},
};

use bytes::BytesMut;

use crate::{Buffers, More, Socket};

/// Has no values.
pub(super) enum Encryption {}

impl Encryption {
    pub(super) fn is_handshaking(&self) -> bool {
        match *self {}
    }

    pub(super) fn has_received(&self) -> bool {
        match *self {}
    }

    pub(super) fn is_closed_by_peer(&self) -> bool {
        match *self {}
    }

    pub(super) fn understood(&self) -> u64 {
        match *self {}
    }

    pub(super) fn sent(&self) -> u64 {
        match *self {}
    }

    pub(super) fn limit_records(&mut self, _: usize, _: usize) -> usize {
        match *self {}
    }

    pub(super) fn poll_handshake(&mut self, _: &Socket, _: &mut Context<'_>, _: &Buffers) -> Poll<io::Result<()>> {
        match *self {}
    }

    pub(super) fn poll_receive(
        &mut self,
        _: &Socket,
        _: &mut Context<'_>,
        _: &mut BytesMut,
        _: &Buffers,
    ) -> Poll<io::Result<usize>> {
        match *self {}
    }

    pub(super) fn poll_send(
        &mut self,
        _: &Socket,
        _: &mut Context<'_>,
        _: &[&[u8]],
        _: More,
        _: &Buffers,
    ) -> Poll<io::Result<usize>> {
        match *self {}
    }

    pub(super) fn poll_flush(&mut self, _: &Socket, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }

    pub(super) fn rest(&mut self, _: &Buffers) {
        match *self {}
    }

    pub(super) fn poll_close(&mut self, _: &Socket, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
}
