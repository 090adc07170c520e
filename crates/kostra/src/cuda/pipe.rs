//! Copies between the caller's memory and the GPU at the speed of the bus.
//!
//! The GPU fetches only from memory that the system has pinned; for anything else the driver copies through a pinned
//! buffer with one thread, at a fraction of the speed. So we do that with all threads, through several buffers in turn.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, PinnedHostSlice, result, sys};
use rayon::prelude::*;

use crate::error::Result;

/// Bytes of a buffer, and how many there are. Large enough that starting a copy costs nothing beside it, small enough
/// that the first does not keep the bus waiting.
const BUFFER: usize = 8 << 20;
const BUFFERS: usize = 4;

/// What a thread copies at a time.
const SHARE: usize = 1 << 18;

/// Pinned buffers and the stream on which they are sent.
pub(super) struct Pipe {
    context: Arc<CudaContext>,
    compute: Arc<CudaStream>,
    stream: Arc<CudaStream>,
    /// Made on first use: pinning takes longer than small solves.
    buffers: Vec<Buffer>,
    /// The buffer that was used last.
    last: usize,
}

struct Buffer {
    bytes: PinnedHostSlice<u8>,
    /// When the copy out of or into the buffer has ended.
    copied: CudaEvent,
}

impl Pipe {
    pub(super) fn new(context: &Arc<CudaContext>, compute: &Arc<CudaStream>) -> Result<Self> {
        let stream = context.new_stream()?;
        Ok(Self { context: context.clone(), compute: compute.clone(), stream, buffers: Vec::new(), last: 0 })
    }

    /// The buffer that was used longest ago, when its copy has ended.
    fn buffer(&mut self) -> Result<&mut Buffer> {
        if self.buffers.len() < BUFFERS {
            // SAFETY: bytes are written before they are read.
            #[allow(unsafe_code)]
            let bytes = unsafe { self.context.alloc_pinned_with_flags(BUFFER, 0) }?;
            let copied = self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING))?;
            self.last = self.buffers.len();
            self.buffers.push(Buffer { bytes, copied });
        } else {
            self.last = (self.last + 1) % BUFFERS;
            self.buffers[self.last].copied.synchronize()?;
        }
        Ok(&mut self.buffers[self.last])
    }

    /// Copies to the GPU's memory at `to`. What is launched after [`join`](Self::join) sees it.
    pub(super) fn send<T: bytemuck::Pod>(&mut self, items: &[T], to: sys::CUdeviceptr) -> Result<()> {
        let stream = self.stream.clone();
        for (number, part) in bytemuck::cast_slice::<T, u8>(items).chunks(BUFFER).enumerate() {
            let buffer = self.buffer()?;
            let bytes = &mut buffer.bytes.as_mut_slice()?[..part.len()];
            bytes.par_chunks_mut(SHARE).zip(part.par_chunks(SHARE)).for_each(|(to, from)| to.copy_from_slice(from));
            // SAFETY: the caller made room at `to`; the buffer is not written again before the event.
            #[allow(unsafe_code)]
            unsafe {
                result::memcpy_htod_async(to + (number * BUFFER) as u64, bytes, stream.cu_stream())?;
            }
            buffer.copied.record(&stream)?;
        }
        Ok(())
    }

    /// Lets what is launched from now on wait for what was sent so far.
    pub(super) fn join(&self) -> Result<()> {
        Ok(self.compute.join(&self.stream)?)
    }

    /// Lets what is sent from now on wait for what was launched so far.
    pub(super) fn wait(&self) -> Result<()> {
        Ok(self.stream.join(&self.compute)?)
    }

    /// Copies from the GPU's memory at `from`, after what was launched before the last [`wait`](Self::wait).
    pub(super) fn receive<T: bytemuck::Pod>(&mut self, from: sys::CUdeviceptr, items: &mut [T]) -> Result<()> {
        let stream = self.stream.clone();
        let bytes = bytemuck::cast_slice_mut::<T, u8>(items);
        let mut parts: Vec<&mut [u8]> = bytes.chunks_mut(BUFFER).collect();
        // One part is on its way while the one before it is copied out.
        let mut coming: Option<(usize, usize)> = None;
        for number in 0..=parts.len() {
            let mut started = None;
            if number < parts.len() {
                let len = parts[number].len();
                let buffer = self.buffer()?;
                let into = &mut buffer.bytes.as_mut_slice()?[..len];
                // SAFETY: the caller's memory at `from` has as many bytes; the buffer is read after the event.
                #[allow(unsafe_code)]
                unsafe {
                    result::memcpy_dtoh_async(into, from + (number * BUFFER) as u64, stream.cu_stream())?;
                }
                buffer.copied.record(&stream)?;
                started = Some((number, self.last));
            }
            if let Some((part, buffer)) = coming {
                self.buffers[buffer].copied.synchronize()?;
                let bytes = self.buffers[buffer].bytes.as_slice()?;
                let pairs = parts[part].par_chunks_mut(SHARE).zip(bytes.par_chunks(SHARE));
                pairs.for_each(|(to, from)| to.copy_from_slice(&from[..to.len()]));
            }
            coming = started;
        }
        Ok(())
    }
}

impl Drop for Pipe {
    /// The buffers must not be freed while a copy uses them.
    fn drop(&mut self) {
        // A failure shows in whatever is done next.
        let _ = self.stream.synchronize();
    }
}
