//! Generated graphs: a SPEC names a model and its numbers.
//!
//! A SPEC is `kind:key=value,...`. It gives the same graph on every machine and for any number of threads, because
//! each random draw is a function of the seed and the draw's index alone, and floats meet nothing but exact
//! operations.
//!
//! | kind | keys (defaults) | graph |
//! |---|---|---|
//! | `rmat` | scale, degree (16), a b c (.45 .22 .22) | R-MAT on 2^scale vertices, ids shuffled by a bijection |
//! | `kronecker` | scale, degree (32) | Graph500: R-MAT with a b c = .57 .19 .19 |
//! | `er` | n, degree (8) | Erdős-Rényi: n * degree / 2 uniform pairs |
//! | `regular` | n, degree (8) | each vertex draws degree / 2 neighbours |
//! | `ssca2` | scale, max-clique (32) | SSCA#2: cliques with links between them, ids shuffled by a bijection |
//! | `ws` | n, degree (8), p (.1) | Watts-Strogatz: a ring whose edges move with probability p |
//! | `grid` | rows, cols | four neighbours, row-major |
//! | `road` | n, degree (2.4; above 2, up to 4) | junctions, streets, and chains of bends |
//! | `delaunay` | n | the triangulation of random points |
//! | `dense` | n, density (.1) | Johnsonbaugh-Kalin: a random tree and every other pair with that probability |
//! | `cliques` | n, degree (56) | overlapping cliques, like co-authorship |
//! | `web` | n, degree (20) | local links, hubs and copied links |
//!
//! `degree` is the average number of neighbours that is drawn, odd or not whole where need be. Loops and repeats are dropped, so the graph may have a
//! few less; edges have u < v and are sorted by (u, v). Every kind also takes
//!
//! - `seed` (1), a whole number;
//! - `weights`, a [`WeightRule`], which without a seed of its own uses the SPEC's. Otherwise weights are uniform in
//!   [1, n], and for `road` and `delaunay` rounded lengths;
//! - `multi` (false): `multi=true` keeps repeats, but still no loops.

use crate::error::Result;
use crate::graph::Graph;
use crate::watch::Watch;
use spec::{KINDS, Spec};

mod cliques;
mod delaunay;
mod dense;
mod edges;
mod er;
mod grid;
mod points;
mod random;
mod regular;
mod rmat;
mod road;
mod spec;
mod ssca2;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod web;
mod weights;
mod ws;

pub use weights::WeightRule;

/// The graph that a SPEC describes.
///
/// ```
/// let graph = kostra::generate("rmat:scale=10,degree=8,seed=7,weights=float")?;
/// assert_eq!(graph.vertices(), 1024);
/// # Ok::<(), kostra::Error>(())
/// ```
pub fn generate(spec: &str) -> Result<Graph<'static>> {
    generate_watched(spec, &Watch::default())
}

/// The graph that a SPEC describes, reporting to and stopped by `watch`.
pub fn generate_watched(spec: &str, watch: &Watch) -> Result<Graph<'static>> {
    let spec = &Spec::new(spec)?;
    let edges = match spec.kind {
        "rmat" => rmat::rmat(spec, watch),
        "kronecker" => rmat::kronecker(spec, watch),
        "er" => er::er(spec, watch),
        "regular" => regular::regular(spec, watch),
        "ssca2" => ssca2::ssca2(spec, watch),
        "ws" => ws::ws(spec, watch),
        "grid" => grid::grid(spec, watch),
        "road" => road::road(spec, watch),
        "delaunay" => delaunay::delaunay(spec, watch),
        "dense" => dense::dense(spec, watch),
        "cliques" => cliques::cliques(spec, watch),
        "web" => web::web(spec, watch),
        kind => unreachable!("{kind} is listed but has no model"),
    }?;
    let weights = match (&spec.weights, &edges.points) {
        (Some(rule), _) => rule.assign(&edges.src, &edges.dst, edges.n, spec.seed, watch)?,
        (None, Some(points)) => points::lengths(&edges, points, watch)?.into(),
        (None, None) => {
            let rule = WeightRule::uniform(1, edges.n.max(1).into());
            rule.assign(&edges.src, &edges.dst, edges.n, spec.seed, watch)?
        }
    };
    Graph::from_edges(edges.n as usize, edges.src, edges.dst, weights)
}

/// Whether `text` reads as a SPEC: a known kind, alone or before a colon.
///
/// ```
/// assert!(kostra::generate::is_spec("grid:rows=3,cols=4"));
/// assert!(!kostra::generate::is_spec("roads.gr.gz"));
/// ```
pub fn is_spec(text: &str) -> bool {
    let kind = text.split_once(':').map_or(text, |(kind, _)| kind);
    KINDS.iter().any(|(name, _)| *name == kind)
}
