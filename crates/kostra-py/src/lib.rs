//! The native half of the Python package `kostra`: arrays in, arrays out, the GIL released in between.
//!
//! What people call is in `python/kostra`; this module has what must be fast or must not copy.

mod arrays;
mod arrow;
mod cluster;
mod csgraph;
mod cuda;
mod error;
mod forest;
mod graph;
mod merge;
mod networkx;
mod stream;
mod work;

use pyo3::prelude::*;

/// Minimum spanning forests, natively.
#[pymodule]
mod _kostra {
    #[pymodule_export]
    use crate::arrow::columns;
    #[pymodule_export]
    use crate::cluster::{cut, linkage_matrix, point_tree};
    #[pymodule_export]
    use crate::csgraph::{expand_rows, tree_of_rows};
    #[pymodule_export]
    use crate::cuda::DeviceGraph;
    #[pymodule_export]
    use crate::forest::Forest;
    #[pymodule_export]
    use crate::graph::{Graph, algorithms, devices, generate, read};
    #[pymodule_export]
    use crate::merge::tie_order;
    #[pymodule_export]
    use crate::networkx::{nx_adjacency, nx_edges, nx_order, nx_tuples, nx_weights};
    #[pymodule_export]
    use crate::stream::{Stream, StreamForest, forest_of_files};

    use super::*;

    #[pyfunction]
    fn release_memory() {
        kostra::release_memory();
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
