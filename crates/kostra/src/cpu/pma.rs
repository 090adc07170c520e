//! To be written.
use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::Run;

/// To be written.
pub fn pma_min(graph: &Graph, run: &Run) -> Result<Forest> {
    super::kruskal(graph, run)
}

/// To be written.
pub fn pma_sort(graph: &Graph, run: &Run) -> Result<Forest> {
    super::kruskal(graph, run)
}

/// To be written.
pub fn pma_hybrid(graph: &Graph, run: &Run) -> Result<Forest> {
    super::kruskal(graph, run)
}
