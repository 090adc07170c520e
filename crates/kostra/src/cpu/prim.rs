//! (placeholder)
use crate::{Forest, Graph, Result, Run};
/// placeholder
pub fn prim(graph: &Graph, run: &Run) -> Result<Forest> {
    let _ = (graph, run);
    todo!()
}
