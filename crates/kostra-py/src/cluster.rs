//! Single-linkage clustering: linkage matrices as SciPy's, and their cuts.

use std::sync::Arc;

use kostra::{Graph as Edges, Weight, euclidean_tree, linkage};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::Borrowed;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::work::work;

/// The linkage matrix of a forest: a row of two clusters, their distance, and the size of their union for every merge. Trees
/// are joined in the end, at an infinite distance, in the order of their smallest vertices.
#[pyfunction]
pub(crate) fn linkage_matrix<'py>(py: Python<'py>, forest: &Bound<'py, Forest>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (held, forest) = (forest.get().held.clone(), forest.get().forest.clone());
    let rows = work(py, None, None, move |_| {
        let n = held.graph.vertices();
        let merges = linkage(&held.graph, forest.edges());
        let moved = held.offset.unwrap_or(0);
        let mut rows = Vec::with_capacity(4 * n.saturating_sub(1));
        for merge in &merges {
            let distance = match merge.weight {
                Weight::Integer(weight) => (i128::from(weight) + moved) as f64,
                Weight::Float(weight) => weight,
            };
            let [a, b] = merge.clusters;
            rows.extend([a as f64, b as f64, distance, f64::from(merge.size)]);
        }
        if forest.trees() > 1 {
            join_trees(&mut rows, &forest.labels(&held.graph), &merges);
        }
        Ok(rows)
    })?;
    let count = rows.len() / 4;
    PyArray1::from_vec(py, rows).reshape([count, 4])
}

/// Adds the merges of whole trees.
fn join_trees(rows: &mut Vec<f64>, labels: &[u32], merges: &[kostra::Merge]) {
    let n = labels.len();
    let trees = n - merges.len();
    // The last cluster and the size of every tree: a cluster's tree is that of its first part.
    let mut clusters: Vec<(f64, f64)> = vec![(0.0, 0.0); trees];
    for (v, &label) in labels.iter().enumerate() {
        if clusters[label as usize].1 == 0.0 {
            clusters[label as usize] = (v as f64, 1.0);
        }
    }
    let mut tree_of: Vec<u32> = labels.to_vec();
    for (number, merge) in (n..).zip(merges) {
        let tree = tree_of[merge.clusters[0] as usize];
        tree_of.push(tree);
        clusters[tree as usize] = (number as f64, f64::from(merge.size));
    }
    let mut joined = clusters[0];
    for (number, &(cluster, size)) in (n + merges.len()..).zip(&clusters[1..]) {
        let total = joined.1 + size;
        rows.extend([joined.0.min(cluster), joined.0.max(cluster), f64::INFINITY, total]);
        joined = (number as f64, total);
    }
}

/// The clusters that the first `merges` rows of a linkage matrix leave, numbered by their smallest vertex.
#[pyfunction]
pub(crate) fn cut<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f64>,
    merges: usize,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let wrong = || PyValueError::new_err("this is no linkage matrix");
    let rows = matrix.as_slice()?;
    let n = rows.len() / 4 + 1;
    let clusters = n + merges.min(n - 1);
    // From a cluster to the one that it became part of.
    let mut parents: Vec<usize> = (0..clusters).collect();
    for (number, row) in (n..clusters).zip(rows.chunks_exact(4)) {
        for &part in &row[..2] {
            let part = part as usize;
            if part >= number {
                return Err(wrong());
            }
            parents[part] = number;
        }
    }
    // Parents have larger numbers.
    for cluster in (0..clusters).rev() {
        parents[cluster] = parents[parents[cluster]];
    }
    let (mut numbers, mut next) = (vec![-1; clusters], 0);
    let label = |root: &usize| {
        if numbers[*root] < 0 {
            numbers[*root] = next;
            next += 1;
        }
        numbers[*root]
    };
    let labels: Vec<i64> = parents[..n].iter().map(label).collect();
    Ok(PyArray1::from_vec(py, labels))
}

/// The Euclidean minimum spanning tree of points as a graph.
#[pyfunction]
#[pyo3(signature = (coordinates, dimensions, threads=None, progress=None))]
pub(crate) fn point_tree(
    py: Python<'_>,
    coordinates: &Bound<'_, PyAny>,
    dimensions: usize,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Graph> {
    let coordinates = Borrowed::<f64>::required(coordinates)?;
    let graph = work(py, threads, progress, move |watch| {
        let points = coordinates.slice;
        let tree = euclidean_tree(points, dimensions, watch)?;
        Edges::from_edges(points.len() / dimensions, tree.src, tree.dst, tree.length)
    })?;
    Ok(Graph(Arc::new(graph.into())))
}
