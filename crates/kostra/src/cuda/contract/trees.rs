//! The trees that chosen edges make of the vertices of a round.

use cudarc::driver::{CudaSlice, sys};

use super::{TILE, Tally, over_tiles};
use crate::cuda::gpu::{Gpu, launch};
use crate::cuda::module::Module;
use crate::cuda::resident::address;
use crate::error::Result;

/// The trees of a round.
pub(in crate::cuda) struct Trees<'a> {
    gpu: &'a Gpu,
    /// Where each vertex is linked to; then the number of its tree.
    pub(in crate::cuda) links: CudaSlice<u32>,
    numbers: CudaSlice<u32>,
    pub(in crate::cuda) tally: Tally,
}

/// Which vertices have arcs: those with a row, or those with an edge in their cell.
pub(in crate::cuda) enum Alive<'a> {
    Rows(sys::CUdeviceptr),
    Cells(&'a CudaSlice<u64>),
}

impl<'a> Trees<'a> {
    /// For up to `n` vertices.
    pub(in crate::cuda) fn new(gpu: &'a Gpu, n: usize) -> Result<Self> {
        Ok(Self { gpu, links: gpu.room(n)?, numbers: gpu.room(n)?, tally: Tally::new(gpu, n.div_ceil(TILE))? })
    }

    /// Makes roots of the smaller of two vertices that are linked to each other.
    pub(in crate::cuda) fn make_roots(&self, n: usize) -> Result<()> {
        let (gpu, n) = (self.gpu, n as u64);
        launch!(gpu, Module::Contract, "make_roots", gpu.over(n as usize), &n, &self.links);
        Ok(())
    }

    /// Links every vertex to its root.
    pub(in crate::cuda) fn double_links(&self, n: usize) -> Result<()> {
        let (gpu, n) = (self.gpu, n as u64);
        launch!(gpu, Module::Contract, "double_links", gpu.over(n as usize), &n, &self.links);
        Ok(())
    }

    /// Replaces every vertex's root by the number of its tree, and returns how many trees have arcs. The others have none.
    pub(in crate::cuda) fn number(&mut self, n: usize, alive: Alive) -> Result<usize> {
        let Self { gpu, links, numbers, tally } = self;
        let (rows, cells) = match alive {
            Alive::Rows(rows) => (rows, 0),
            Alive::Cells(cells) => (0, address(gpu, cells)),
        };
        tally.reset(gpu, n.div_ceil(TILE))?;
        let (len, shape) = (n as u64, over_tiles(gpu, n));
        let Tally { status, total } = &*tally;
        launch!(gpu, Module::Contract, "number_roots", shape, &len, &*links, &rows, &cells, &*numbers, status, total);
        launch!(gpu, Module::Contract, "label", gpu.over(n), &len, &*links, &*numbers);
        Ok(tally.total(gpu)?[0])
    }

    /// How many vertices have an edge in their cell.
    pub(in crate::cuda) fn count_cells(&mut self, n: usize, cells: &CudaSlice<u64>) -> Result<usize> {
        let (gpu, len) = (self.gpu, n as u64);
        gpu.stream.memset_zeros(&mut self.tally.total)?;
        launch!(gpu, Module::Contract, "count_cells", gpu.over(n), &len, cells, &self.tally.total);
        Ok(self.tally.total(gpu)?[0])
    }
}
