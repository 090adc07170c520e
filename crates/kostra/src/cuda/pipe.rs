//! Copies between the caller's memory and the GPU at the speed of the bus.
//!
//! The GPU fetches only from memory that the system has pinned; for anything else the driver copies through a pinned
//! buffer with one thread, at a fraction of the speed. So we do that with all threads, each with a piece of pinned memory of its
//! own, and none waits for another: with all threads at one buffer after the other, and the waking up that takes, uploads ran at
//! two thirds of the bus. As they copy anyway, they can [pack](super::pack) numbers at the same speed, and less goes over the bus.
//!
//! One thread at a time sends, and others leave it what they have filled, so that none waits in the driver, which lets in one at a
//! time, while there is something to pack.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, PinnedHostSlice, result, sys};
use rayon::prelude::*;

use super::pack::{most_bytes, pack};
use crate::buffer::Buffer;
use crate::error::Result;

/// Bytes that are sent at a time, and how many pieces of pinned memory there are for them, at least two for each thread: one is
/// sent while the other is filled. Half as long pieces were sent 8 % slower; more threads than half of the pieces do not send.
const PIECE: usize = 2 << 20;
const PIECES: usize = 32;

/// Numbers in a packed piece at most, and the bytes that it has then.
pub(super) const PACKED: usize = PIECE / 4;
const PINNED: usize = most_bytes(PACKED);

/// Pieces that are fetched together.
const TOGETHER: usize = 4;

/// What a thread copies at a time when all copy what was fetched.
const SHARE: usize = 1 << 18;

/// Pinned memory and the stream on which it is sent.
pub(super) struct Pipe {
    context: Arc<CudaContext>,
    compute: Arc<CudaStream>,
    stream: Arc<CudaStream>,
    /// Made on first use: pinning takes longer than small solves.
    room: Option<Room>,
}

struct Room {
    bytes: PinnedHostSlice<u8>,
    /// For every piece, when the last copy out of it or into it has ended.
    copied: Vec<CudaEvent>,
}

/// What goes to a place in the GPU's memory.
pub(super) struct Load<'a> {
    what: What<'a>,
    to: sys::CUdeviceptr,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Bytes(&'a [u8]),
    /// To be packed on the way, so many to a piece.
    Numbers(&'a [u32], usize),
}

impl<'a> Load<'a> {
    pub(super) fn new<T: bytemuck::Pod>(items: &'a [T], to: sys::CUdeviceptr) -> Self {
        Self { what: What::Bytes(bytemuck::cast_slice(items)), to }
    }

    /// Numbers that arrive [packed](super::pack), so many to a piece, no more than [`PACKED`]; a piece every [`most_bytes`] of it.
    pub(super) fn packed(numbers: &'a [u32], piece: usize, to: sys::CUdeviceptr) -> Self {
        Self { what: What::Numbers(numbers, piece), to }
    }

    /// What is sent at a time, and where it goes.
    fn pieces(&self) -> Vec<(What<'a>, sys::CUdeviceptr)> {
        match self.what {
            What::Bytes(bytes) => bytes.chunks(PIECE).map(What::Bytes).zip((self.to..).step_by(PIECE)).collect(),
            What::Numbers(all, piece) => {
                let pieces = all.chunks(piece).map(|numbers| What::Numbers(numbers, piece));
                pieces.zip((self.to..).step_by(most_bytes(piece))).collect()
            }
        }
    }
}

/// Pinned memory of a piece, and when the last copy out of it has ended.
struct Piece<'a> {
    bytes: &'a mut [u8],
    copied: &'a CudaEvent,
}

/// A piece that is to be sent: so many of its bytes, for that part.
struct Filled<'a> {
    piece: Piece<'a>,
    len: usize,
    part: usize,
    to: sys::CUdeviceptr,
}

/// What threads hand over to each other.
struct Queue<T>(Mutex<VecDeque<T>>);

impl<T> Queue<T> {
    fn items(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, item: T) {
        self.items().push_back(item);
    }

    fn pop(&self) -> Option<T> {
        self.items().pop_front()
    }

    fn is_empty(&self) -> bool {
        self.items().is_empty()
    }
}

impl Pipe {
    pub(super) fn new(context: &Arc<CudaContext>, compute: &Arc<CudaStream>) -> Result<Self> {
        let stream = context.new_stream()?;
        Ok(Self { context: context.clone(), compute: compute.clone(), stream, room: None })
    }

    fn make_room(&mut self) -> Result<&mut Room> {
        if self.room.is_none() {
            // SAFETY: bytes are written before they are read.
            #[allow(unsafe_code)]
            let bytes = unsafe { self.context.alloc_pinned_with_flags(PIECES * PINNED, 0) }?;
            let event = |_| Ok(self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING))?);
            self.room = Some(Room { bytes, copied: (0..PIECES).map(event).collect::<Result<_>>()? });
        }
        let Some(room) = &mut self.room else { unreachable!("it was just made") };
        Ok(room)
    }

    /// Copies to the GPU's memory, part after part. As soon as all of a part is on its way, `sent` is told its number, on any thread;
    /// what it launches, and all that is launched later, sees the part.
    pub(super) fn send(&mut self, parts: &[Vec<Load>], sent: impl FnMut(usize) -> Result<()> + Send) -> Result<()> {
        let (context, compute, stream) = (self.context.clone(), self.compute.clone(), self.stream.clone());
        let (mut pieces, mut left) = (Vec::new(), Vec::with_capacity(parts.len()));
        for (part, loads) in parts.iter().enumerate() {
            let before = pieces.len();
            pieces.extend(loads.iter().flat_map(Load::pieces).map(|(what, to)| (part, what, to)));
            left.push(pieces.len() - before);
        }

        let Room { bytes, copied } = self.make_room()?;
        let buffers = bytes.as_mut_slice()?.chunks_mut(PINNED).zip(&*copied);
        let free = Queue(Mutex::new(buffers.map(|(bytes, copied)| Piece { bytes, copied }).collect()));
        let (filled, next, sender) = (Queue(Mutex::default()), AtomicUsize::new(0), Mutex::new((left, sent)));
        let send_filled = || -> Result<()> {
            while !filled.is_empty() {
                let mut sender = match sender.try_lock() {
                    Ok(sender) => sender,
                    Err(TryLockError::Poisoned(sender)) => sender.into_inner(),
                    // Who is sending looks again when it is done.
                    Err(TryLockError::WouldBlock) => return Ok(()),
                };
                let (left, sent) = &mut *sender;
                while let Some(Filled { piece, len, part, to }) = filled.pop() {
                    // SAFETY: the caller made room at `to`; the piece is not written again before the event.
                    #[allow(unsafe_code)]
                    unsafe {
                        result::memcpy_htod_async(to, &piece.bytes[..len], stream.cu_stream())?;
                    }
                    piece.copied.record(&stream)?;
                    free.push(piece);
                    left[part] -= 1;
                    if left[part] == 0 {
                        compute.join(&stream)?;
                        sent(part)?;
                    }
                }
            }
            Ok(())
        };
        let work = || -> Result<()> {
            context.bind_to_thread()?;
            // Relaxed: the number is all that threads tell each other here.
            while let Some(&(part, what, to)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                let piece = loop {
                    if let Some(piece) = free.pop() {
                        break piece;
                    }
                    // All are filled, and who sends them is in a call or has failed.
                    send_filled()?;
                    std::thread::yield_now();
                };
                piece.copied.synchronize()?;
                let len = match what {
                    What::Bytes(bytes) => {
                        piece.bytes[..bytes.len()].copy_from_slice(bytes);
                        bytes.len()
                    }
                    What::Numbers(numbers, _) => pack(numbers, piece.bytes),
                };
                filled.push(Filled { piece, len, part, to });
                send_filled()?;
            }
            Ok(())
        };
        let workers = rayon::current_num_threads().min(pieces.len()).clamp(1, PIECES / 2);
        let outcome: Result<()> = (0..workers).into_par_iter().with_max_len(1).map(|_| work()).collect();
        // Also after a failure: what is freed then must not be written by what is still on its way.
        compute.join(&stream)?;
        outcome
    }

    /// Lets what is sent or fetched from now on wait for what was launched so far.
    pub(super) fn wait(&self) -> Result<()> {
        Ok(self.stream.join(&self.compute)?)
    }

    /// Looks at so many items of the GPU's memory at `from`, after what was launched before the last [`wait`](Self::wait).
    pub(super) fn look_at<T: bytemuck::Pod, R>(
        &mut self,
        from: sys::CUdeviceptr,
        len: usize,
        look: impl FnOnce(&[T]) -> R,
    ) -> Result<R> {
        let (bytes, stream) = (len * size_of::<T>(), self.stream.clone());
        if bytes > PIECES * PINNED {
            let mut items = Buffer::of_any(len)?;
            self.receive(from, &mut items)?;
            return Ok(look(&items));
        }
        let room = &mut self.make_room()?.bytes.as_mut_slice()?[..bytes];
        // SAFETY: the caller's memory at `from` has as many bytes. What was sent last has been read when the copy begins, and the
        // copy has ended when it is looked at.
        #[allow(unsafe_code)]
        unsafe {
            result::memcpy_dtoh_async(room, from, stream.cu_stream())?;
        }
        stream.synchronize()?;
        Ok(look(bytemuck::cast_slice(room)))
    }

    /// Copies from the GPU's memory at `from`, after what was launched before the last [`wait`](Self::wait).
    pub(super) fn receive<T: bytemuck::Pod>(&mut self, from: sys::CUdeviceptr, items: &mut [T]) -> Result<()> {
        let stream = self.stream.clone();
        // What was sent last may still be on its way.
        stream.synchronize()?;
        let Room { bytes, copied } = self.make_room()?;
        let mut buffers: Vec<&mut [u8]> = bytes.as_mut_slice()?.chunks_exact_mut(TOGETHER * PIECE).collect();
        let count = buffers.len();
        let mut parts: Vec<&mut [u8]> = bytemuck::cast_slice_mut(items).chunks_mut(TOGETHER * PIECE).collect();
        // One part is on its way while the one before it is copied out.
        for number in 0..=parts.len() {
            if let Some(part) = parts.get(number) {
                let into = &mut buffers[number % count][..part.len()];
                // SAFETY: the caller's memory at `from` has as many bytes; the buffer is read after the event.
                #[allow(unsafe_code)]
                unsafe {
                    result::memcpy_dtoh_async(into, from + (number * TOGETHER * PIECE) as u64, stream.cu_stream())?;
                }
                copied[number % count].record(&stream)?;
            }
            if let Some(before) = number.checked_sub(1) {
                copied[before % count].synchronize()?;
                let pairs = parts[before].par_chunks_mut(SHARE).zip(buffers[before % count].par_chunks(SHARE));
                pairs.for_each(|(to, from)| to.copy_from_slice(&from[..to.len()]));
            }
        }
        Ok(())
    }
}

impl Drop for Pipe {
    /// The memory must not be freed while a copy uses it.
    fn drop(&mut self) {
        // A failure shows in whatever is done next.
        let _ = self.stream.synchronize();
    }
}
