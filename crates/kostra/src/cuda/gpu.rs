//! An NVIDIA GPU: its driver, its streams, the kernels that were loaded on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DeviceRepr, DriverError, LaunchConfig, sys,
};
use cudarc::nvrtc::Ptx;

use super::module::{MACHINE_CODE_FROM, Module, only};
use super::pipe::Pipe;
use crate::error::{Error, Result};

/// Threads of a block in the kernels that work through an array.
pub(super) const THREADS: u32 = 512;

/// Most blocks of a kernel that counts something for each of them.
const MOST_BLOCKS: u32 = 1024;

/// What a machine's GPU is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// Its number, as in `cuda:0`.
    pub number: u32,
    /// What its maker calls it.
    pub name: String,
    /// Its memory in bytes.
    pub memory: u64,
    /// Its compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// The CUDA version that the driver brings, major and minor.
    pub driver: (u32, u32),
}

/// The GPUs of this machine. An error says why there is none.
pub fn devices() -> Result<Vec<Info>> {
    (0..count()?).map(info).collect()
}

fn no_gpu(number: impl std::fmt::Display, what: &str) -> Error {
    Error::Device { name: format!("cuda{number}"), what: what.into() }
}

/// How many GPUs there are; at least one.
fn count() -> Result<u32> {
    // SAFETY: the call tries to load the driver's library and does nothing else.
    #[allow(unsafe_code)]
    let has_driver = unsafe { sys::is_culib_present() };
    if !has_driver {
        return Err(no_gpu("", "there is no NVIDIA driver on this machine; install it, or use the device cpu"));
    }
    cudarc::driver::result::init()?;
    match u32::try_from(CudaContext::device_count()?) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(no_gpu("", "the NVIDIA driver finds no GPU; use the device cpu")),
    }
}

/// Fails unless the GPU exists.
pub(crate) fn check(number: u32) -> Result<()> {
    match count()? {
        count if number < count => Ok(()),
        1 => Err(no_gpu(format!(":{number}"), "there is one GPU only, cuda:0")),
        count => Err(no_gpu(format!(":{number}"), &format!("there are {count} GPUs, cuda:0 to cuda:{}", count - 1))),
    }
}

impl Info {
    /// Whether it can run the kernels: compute capability 7.5 and a driver for CUDA 12.4, or newer.
    pub fn is_supported(&self) -> bool {
        self.compute_capability >= (7, 5) && self.driver >= (12, 4)
    }
}

fn info(number: u32) -> Result<Info> {
    use cudarc::driver::result::device;
    use sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
    };
    let device = device::get(number as i32)?;
    let mut version = 0;
    // SAFETY: the device is one that the driver gave us, and the version is written to a living integer.
    #[allow(unsafe_code)]
    let (memory, major, minor) = unsafe {
        sys::cuDriverGetVersion(&mut version).result()?;
        (device::total_mem(device)?, device::get_attribute(device, MAJOR)?, device::get_attribute(device, MINOR)?)
    };
    Ok(Info {
        number,
        name: device::get_name(device)?,
        memory: memory as u64,
        compute_capability: (major as u32, minor as u32),
        driver: (version as u32 / 1000, version as u32 % 1000 / 10),
    })
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        let said = error.error_string().map_or("unknown error".into(), |text| text.to_string_lossy().into_owned());
        let what = match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                "not enough memory on the GPU; end what else uses it, or use the device cpu".into()
            }
            sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION | sys::CUresult::CUDA_ERROR_INVALID_PTX => {
                format!("the driver cannot load the kernels ({said}); it must be of CUDA 12.4 or newer, update it")
            }
            sys::CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => {
                "the kernels need a GPU of compute capability 7.5 or newer; use the device cpu".into()
            }
            sys::CUresult::CUDA_ERROR_NO_DEVICE | sys::CUresult::CUDA_ERROR_INVALID_DEVICE => {
                format!("the driver finds no such GPU ({said}); use the device cpu")
            }
            _ => format!("the driver failed ({said}); try again, and use the device cpu if it stays"),
        };
        Error::Device { name: "cuda".into(), what }
    }
}

/// What of a module was loaded.
struct Loaded {
    /// All of it, where the driver took the machine code.
    whole: Option<Arc<CudaModule>>,
    /// Its kernels that were asked for, or compiled with these, by their names.
    kernels: HashMap<String, CudaFunction>,
}

/// A GPU that was opened: it stays so until the program ends, with the kernels that were loaded.
pub struct Gpu {
    pub(super) context: Arc<CudaContext>,
    /// Where everything happens in order.
    pub(super) stream: Arc<CudaStream>,
    /// Taken while it is in use: a lock held while other threads help to copy could wait for itself.
    pipe: Mutex<Option<Pipe>>,
    pub(super) multiprocessors: u32,
    /// Bytes of shared memory that the blocks on a multiprocessor have together.
    pub(super) shared_memory: usize,
    /// Whether the driver may load machine code.
    takes_machine_code: bool,
    modules: Mutex<HashMap<Module, Loaded>>,
}

static OPENED: Mutex<Vec<(u32, Arc<Gpu>)>> = Mutex::new(Vec::new());

/// Whether the GPU was opened before.
pub(super) fn is_open(number: u32) -> bool {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(other, _)| *other == number)
}

impl Gpu {
    /// The GPU of that number, opened on first use.
    pub fn open(number: u32) -> Result<Arc<Self>> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, gpu)) = opened.iter().find(|(other, _)| *other == number) {
            return Ok(gpu.clone());
        }
        check(number)?;
        let gpu = Arc::new(Self::start(number)?);
        opened.push((number, gpu.clone()));
        Ok(gpu)
    }

    fn start(number: u32) -> Result<Self> {
        let context = CudaContext::new(number as usize)?;
        // SAFETY: nothing runs yet; all work goes to one stream, but for copies, which the pipe orders itself.
        #[allow(unsafe_code)]
        unsafe {
            context.disable_event_tracking();
        }
        let stream = context.new_stream()?;
        let multiprocessors =
            context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let shared_memory = context
            .attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?
            as usize;
        keep_memory(&context)?;
        Ok(Self {
            pipe: Mutex::default(),
            context,
            stream,
            multiprocessors,
            shared_memory,
            takes_machine_code: info(number)?.driver >= MACHINE_CODE_FROM,
            modules: Mutex::default(),
        })
    }

    /// Works with the buffers for copies, or with new ones where others use them.
    pub(super) fn with_pipe<T>(&self, work: impl FnOnce(&mut Pipe) -> Result<T>) -> Result<T> {
        let kept = self.pipe.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut pipe = match kept {
            Some(pipe) => pipe,
            None => Pipe::new(&self.context, &self.stream)?,
        };
        let outcome = work(&mut pipe);
        *self.pipe.lock().unwrap_or_else(PoisonError::into_inner) = Some(pipe);
        outcome
    }

    /// Bytes that can still be allocated: what is free, and what the driver keeps for this program's next allocations.
    pub fn free_memory(&self) -> Result<u64> {
        // What was freed is so only when all that was to happen before has happened.
        self.stream.synchronize()?;
        Ok(self.context.mem_get_info()?.0 as u64 + kept_memory(&self.context)?)
    }

    /// The kernel of that name in a module, loaded on first use; compiled then, where there is no machine code for this GPU.
    pub(super) fn kernel(&self, module: Module, name: &str) -> Result<CudaFunction> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = modules.entry(module).or_insert_with(|| self.load(module));
        if let Some(kernel) = loaded.kernels.get(name) {
            return Ok(kernel.clone());
        }
        let (code, names) = match &loaded.whole {
            Some(whole) => (whole.clone(), vec![name]),
            None => {
                let mut group = module.group(name);
                group.retain(|other| !loaded.kernels.contains_key(*other));
                (self.context.load_module(Ptx::from_src(only(module.code().ptx, &group)))?, group)
            }
        };
        for other in names {
            loaded.kernels.insert(other.into(), code.load_function(other)?);
        }
        Ok(code.load_function(name)?)
    }

    /// A module's machine code. Where the driver does not take it, for a chip that is newer than the code for one, nothing is lost:
    /// it compiles the PTX, kernels as they are needed.
    fn load(&self, module: Module) -> Loaded {
        let load = || self.context.load_module(Ptx::from_binary(module.code().machine.into())).ok();
        Loaded { whole: self.takes_machine_code.then(load).flatten(), kernels: HashMap::new() }
    }

    /// Room for so many items, with anything in it.
    pub(super) fn room<T: DeviceRepr>(&self, len: usize) -> Result<CudaSlice<T>> {
        // SAFETY: kernels write what they read; compute-sanitizer's initcheck watches over it. No type here has bit
        // patterns that are not values.
        #[allow(unsafe_code)]
        Ok(unsafe { self.stream.alloc(len.max(1)) }?)
    }

    /// As many blocks as fit on the GPU at a time, but no more than wanted, with so much shared memory each.
    pub(super) fn filled(
        &self,
        module: Module,
        kernel: &str,
        threads: u32,
        shared: usize,
        wanted: usize,
    ) -> Result<LaunchConfig> {
        let kernel = self.kernel(module, kernel)?;
        self.allow_shared(&kernel, shared)?;
        let fitting =
            kernel.occupancy_max_active_blocks_per_multiprocessor(threads, shared, None)? * self.multiprocessors;
        let blocks = (wanted as u64).clamp(1, u64::from(fitting.clamp(1, MOST_BLOCKS)));
        Ok(LaunchConfig {
            grid_dim: (blocks as u32, 1, 1),
            block_dim: (threads, 1, 1),
            shared_mem_bytes: shared as u32,
        })
    }

    /// Lets a kernel be launched with so many bytes of shared memory. What others were allowed before stays allowed.
    fn allow_shared(&self, kernel: &CudaFunction, bytes: usize) -> Result<()> {
        use sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as MOST_SHARED;
        let _one_at_a_time = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if kernel.get_attribute(MOST_SHARED)? < bytes as i32 {
            kernel.set_attribute(MOST_SHARED, bytes as i32)?;
        }
        Ok(())
    }

    /// Enough blocks to work through an array of that length.
    pub(super) fn over(&self, len: usize) -> LaunchConfig {
        let blocks = (len as u64).div_ceil(THREADS.into()).clamp(1, u64::from(self.multiprocessors) * 4);
        LaunchConfig { grid_dim: (blocks as u32, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
    }
}

/// Lets the driver keep freed memory for the next allocation instead of giving it back to the system.
fn keep_memory(context: &CudaContext) -> Result<()> {
    if !context.has_async_alloc() {
        return Ok(());
    }
    let mut threshold = u64::MAX;
    // SAFETY: the pool is the device's own, and the attribute is a 64-bit integer.
    #[allow(unsafe_code)]
    unsafe {
        let pool = cudarc::driver::result::device::get_default_mem_pool(context.cu_device())?;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut threshold).cast()).result()?;
    }
    Ok(())
}

/// Bytes of freed memory that the driver keeps.
fn kept_memory(context: &CudaContext) -> Result<u64> {
    if !context.has_async_alloc() {
        return Ok(0);
    }
    let [mut reserved, mut used] = [0u64; 2];
    // SAFETY: the pool is the device's own, and the attributes are 64-bit integers.
    #[allow(unsafe_code)]
    unsafe {
        use sys::CUmemPool_attribute::{CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT};
        let pool = cudarc::driver::result::device::get_default_mem_pool(context.cu_device())?;
        let reserved = (&raw mut reserved).cast();
        sys::cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, reserved).result()?;
        sys::cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, (&raw mut used).cast()).result()?;
    }
    Ok(reserved.saturating_sub(used))
}

/// Launches a kernel of a module with references to its arguments.
macro_rules! launch {
    ($gpu:expr, $module:expr, $kernel:expr, $shape:expr, $($argument:expr),+ $(,)?) => {
        $crate::cuda::gpu::launch!(@launch $gpu, $module, $kernel, $shape, $($argument),+)
    };
    (@$launch:ident $gpu:expr, $module:expr, $kernel:expr, $shape:expr, $($argument:expr),+) => {{
        let kernel = $gpu.kernel($module, $kernel)?;
        // The driver would read on behind them.
        debug_assert_eq!([$(stringify!($argument)),+].len(), $module.parameters($kernel), "arguments");
        let mut launch = $gpu.stream.launch_builder(&kernel);
        $(cudarc::driver::PushKernelArg::arg(&mut launch, $argument);)+
        // SAFETY: the arguments have the types and lengths that the kernel of this name takes. Where its blocks wait for one
        // another, there are no more of them than fit on the GPU at a time.
        #[allow(unsafe_code)]
        unsafe { launch.$launch($shape) }?;
    }};
}
pub(super) use launch;

/// The same for a kernel whose blocks wait for one another.
macro_rules! launch_together {
    ($gpu:expr, $module:expr, $kernel:expr, $shape:expr, $($argument:expr),+ $(,)?) => {
        $crate::cuda::gpu::launch!(@launch_cooperative $gpu, $module, $kernel, $shape, $($argument),+)
    };
}
pub(super) use launch_together;
