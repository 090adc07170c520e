//! (placeholder)
use crate::{Graph, Result, Watch};
/// placeholder: the graph of a SPEC
pub fn generate(spec: &str) -> Result<Graph<'static>> {
    generate_watched(spec, &Watch::default())
}
/// placeholder
pub fn generate_watched(spec: &str, watch: &Watch) -> Result<Graph<'static>> {
    let _ = (spec, watch);
    todo!()
}
/// Whether `text` reads as a SPEC: a known kind, alone or before a colon.
pub fn is_spec(text: &str) -> bool {
    let _ = text;
    todo!()
}
/// A rule that replaces weights.
#[derive(Clone, Debug)]
pub struct WeightRule {}
impl std::str::FromStr for WeightRule {
    type Err = crate::Error;
    fn from_str(rule: &str) -> Result<Self> {
        let _ = rule;
        todo!()
    }
}
impl WeightRule {
    /// placeholder: the weights that the rule gives to the edges of graph
    pub fn weights(&self, graph: &Graph) -> Result<crate::Weights<'static>> {
        let _ = graph;
        todo!()
    }
}
