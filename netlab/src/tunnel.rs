//! A TUN device: what the kernel would send over it is read from a file, what is written to that file it receives.

use std::{fs::File, io, os::fd::AsRawFd};

/// Makes the device in the network namespace of the calling thread. Reading does not wait.
pub(crate) fn open(name: &str) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let device = File::options().read(true).write(true).custom_flags(nix::libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = InterfaceRequest { name: [0; NAME_LENGTH], flags: IFF_TUN | IFF_NO_PI, rest: [0; REST_LENGTH] };
    // The last byte stays zero.
    for (place, byte) in request.name[..NAME_LENGTH - 1].iter_mut().zip(name.bytes()) {
        *place = byte;
    }
    // SAFETY: no crate has a safe call for this one. The descriptor is open, TUNSETIFF reads and writes one `struct ifreq`,
    // and `request` is one: `repr(C)`, of the same size, alive and ours alone during the call.
    unsafe { set_interface(device.as_raw_fd(), &raw mut request) }?;
    Ok(device)
}

/// Linux's `struct ifreq`, with the member of its union that TUNSETIFF uses.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME_LENGTH],
    flags: i16,
    rest: [u8; REST_LENGTH],
}

/// IFNAMSIZ in linux/if.h.
const NAME_LENGTH: usize = 16;
/// The union in `struct ifreq` is as large as a `struct ifmap`: 24 bytes on 64 bits.
const REST_LENGTH: usize = 22;
/// linux/if_tun.h: packets of the network layer, without a header of the device's own.
const IFF_TUN: i16 = 0x0001;
const IFF_NO_PI: i16 = 0x1000;

mod request {
    #![allow(missing_docs)]
    // linux/if_tun.h: _IOW('T', 202, int); the argument is a pointer all the same.
    nix::ioctl_write_ptr_bad!(
        set_interface,
        nix::request_code_write!(b'T', 202, size_of::<i32>()),
        super::InterfaceRequest
    );
}
use request::set_interface;
