//! (placeholder)
use crate::{Forest, Graph, Result, Run};
/// placeholder
pub fn kruskal(graph: &Graph, run: &Run) -> Result<Forest> {
    let _ = (graph, run);
    todo!()
}
