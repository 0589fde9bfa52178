//! Memory that processes share, and change at the same time.

use std::{
    fmt, io,
    os::fd::{AsFd, OwnedFd},
    ptr::{self, NonNull},
    sync::atomic::{AtomicU8, AtomicU64, Ordering, compiler_fence},
};

use rustix::{
    fs::{
        FlockOperation, MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fcntl_lock, fstat, ftruncate,
        memfd_create,
    },
    io::Errno,
    process::{Resource, getrlimit},
};

/// Memory that processes share by a file in memory (memfd_create(2)), or that belongs to this process alone. It is zero
/// at first, and takes room only where it was written.
///
/// Others may change it at any time, so there are no references into it: bytes are copied out and in. A thread's copies
/// happen in the order of the program, which is what others find after a process was killed.
///
/// ```
/// use serow_net::SharedMemory;
///
/// let file = SharedMemory::file(4096)?;
/// let (one, other) = (SharedMemory::of_file(file.try_clone()?)?, SharedMemory::of_file(file)?);
/// one.write(7, b"text")?;
/// let mut text = [0; 4];
/// other.read(7, &mut text)?;
/// assert_eq!(&text, b"text");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    length: usize,
    /// The file that the locks of processes belong to; `None` if no other process has the memory.
    file: Option<OwnedFd>,
}

/// A place that is not within the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideError;

// SAFETY: the mapping belongs to this value, whichever thread has it.
unsafe impl Send for SharedMemory {}
// SAFETY: all accesses to the mapping are atomic.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// A file in memory for [`Self::of_file`] in several processes. Its length can never change: a process that reads
    /// behind the end of a file gets SIGBUS.
    ///
    /// # Errors
    ///
    /// The limit of files is lower (RLIMIT_FSIZE); otherwise those of memfd_create(2) and ftruncate(2).
    pub fn file(length: usize) -> io::Result<OwnedFd> {
        // The kernel kills a process that makes a longer file (SIGXFSZ).
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < length as u64) {
            return Err(Errno::FBIG.into());
        }
        let file = memfd_create("serow-memory", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, length as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(file)
    }

    /// The memory of such a file. This process must not open or copy the file again: closing one of its descriptors
    /// would release the lock.
    ///
    /// # Errors
    ///
    /// The file can shrink, is empty, or is too long for the address space; otherwise those of mmap(2).
    pub fn of_file(file: OwnedFd) -> io::Result<Self> {
        if !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the file can shrink"));
        }
        let length = usize::try_from(fstat(&file)?.st_size).map_err(|_| Errno::FBIG)?;
        let start = map(length, Some(&file))?;
        Ok(Self { start, length, file: Some(file) })
    }

    /// Memory of this process alone.
    ///
    /// # Errors
    ///
    /// Those of mmap(2).
    pub fn anonymous(length: usize) -> io::Result<Self> {
        Ok(Self { start: map(length, None)?, length, file: None })
    }

    /// Bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Whether other processes may have the memory as well.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.file.is_some()
    }

    /// Locks the memory, unless another process has locked it. Threads of this process do not exclude each other so. The
    /// kernel unlocks it when the process ends (`F_SETLK`, fcntl(2)).
    ///
    /// # Errors
    ///
    /// Those of fcntl(2).
    pub fn try_lock(&self) -> io::Result<bool> {
        let Some(file) = &self.file else { return Ok(true) };
        match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Unlocks it.
    ///
    /// # Errors
    ///
    /// Those of fcntl(2).
    pub fn unlock(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        Ok(fcntl_lock(file, FlockOperation::Unlock)?)
    }

    /// Copies bytes out.
    ///
    /// # Errors
    ///
    /// They are not all within the memory; then none is copied.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), OutsideError> {
        let place = self.place(offset, bytes.len())?;
        let (head, body) = bytes.split_at_mut(bytes_before_word(offset).min(bytes.len()));
        let (words, tail) = body.as_chunks_mut::<WORD>();
        // SAFETY: `place` is the beginning of as many bytes of the mapping as `head`, `words` and `tail` have together,
        // and its words are aligned behind the head. Other processes access them at the same time: hence atomics.
        unsafe {
            compiler_fence(Ordering::SeqCst);
            head.iter_mut().enumerate().for_each(|(index, byte)| *byte = load_byte(place, index));
            let place = place.add(head.len());
            for (index, word) in words.iter_mut().enumerate() {
                let shared = AtomicU64::from_ptr(place.as_ptr().add(index * WORD).cast());
                *word = shared.load(Ordering::Relaxed).to_ne_bytes();
            }
            let place = place.add(words.len() * WORD);
            tail.iter_mut().enumerate().for_each(|(index, byte)| *byte = load_byte(place, index));
            compiler_fence(Ordering::SeqCst);
        }
        Ok(())
    }

    /// Copies bytes in. Eight that are aligned to eight become visible at once.
    ///
    /// # Errors
    ///
    /// There is not room for all of them; then none is copied.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), OutsideError> {
        let place = self.place(offset, bytes.len())?;
        let (head, body) = bytes.split_at(bytes_before_word(offset).min(bytes.len()));
        let (words, tail) = body.as_chunks::<WORD>();
        // SAFETY: as in `read`; and the mapping can be written.
        unsafe {
            compiler_fence(Ordering::SeqCst);
            head.iter().enumerate().for_each(|(index, byte)| store_byte(place, index, *byte));
            let place = place.add(head.len());
            for (index, word) in words.iter().enumerate() {
                let shared = AtomicU64::from_ptr(place.as_ptr().add(index * WORD).cast());
                shared.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
            }
            let place = place.add(words.len() * WORD);
            tail.iter().enumerate().for_each(|(index, byte)| store_byte(place, index, *byte));
            compiler_fence(Ordering::SeqCst);
        }
        Ok(())
    }

    /// The address of so many bytes at an offset.
    fn place(&self, offset: usize, length: usize) -> Result<NonNull<u8>, OutsideError> {
        match offset.checked_add(length) {
            // SAFETY: the offset is within the mapping, or its end.
            Some(end) if end <= self.length => Ok(unsafe { self.start.add(offset) }),
            _ => Err(OutsideError),
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one, of this length, and there are no references into it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Maps a file, or memory of this process.
fn map(length: usize, file: Option<&OwnedFd>) -> io::Result<NonNull<u8>> {
    use std::os::fd::AsRawFd as _;

    let (kind, descriptor) = match file {
        Some(file) => (libc::MAP_SHARED, file.as_fd().as_raw_fd()),
        None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
    };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: without an address, mmap replaces no mapping of this process.
    let start = unsafe { libc::mmap(ptr::null_mut(), length, access, kind | libc::MAP_NORESERVE, descriptor, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| Errno::NOMEM.into())
}

/// # Safety
///
/// The byte is within the mapping.
unsafe fn load_byte(place: NonNull<u8>, index: usize) -> u8 {
    // SAFETY: by the caller; a byte is aligned anywhere.
    unsafe { AtomicU8::from_ptr(place.as_ptr().add(index)) }.load(Ordering::Relaxed)
}

/// # Safety
///
/// The byte is within the mapping.
unsafe fn store_byte(place: NonNull<u8>, index: usize, byte: u8) {
    // SAFETY: by the caller; a byte is aligned anywhere.
    unsafe { AtomicU8::from_ptr(place.as_ptr().add(index)) }.store(byte, Ordering::Relaxed);
}

/// How many bytes there are from an offset to the next word: mappings begin at a page, so offsets are aligned as addresses
/// are.
fn bytes_before_word(offset: usize) -> usize {
    offset.wrapping_neg() % WORD
}

/// Bytes that are copied at once, where they are aligned.
const WORD: usize = size_of::<u64>();

impl fmt::Display for OutsideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("outside of the shared memory")
    }
}

impl std::error::Error for OutsideError {}

#[cfg(test)]
mod tests;
