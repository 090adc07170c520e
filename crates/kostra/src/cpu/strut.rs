//! To be written.
use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::Run;

/// To be written.
pub fn strut(graph: &Graph, run: &Run) -> Result<Forest> {
    super::kruskal(graph, run)
}
