//! `grid`: rows by cols vertices, row-major, each joined to its four neighbours.

use super::edges::{Edges, in_order, ranges};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

pub(super) fn grid(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let rows = spec.whole("rows", 0..=u32::MAX.into(), None)?;
    let cols = spec.whole("cols", 0..=u32::MAX.into(), None)?;
    let vertices = rows * cols;
    let Ok(n) = u32::try_from(vertices) else {
        return Err(spec.fail(format!("{vertices} vertices are too many; fewer than 2^32 are possible")));
    };
    let m = spec.edges((vertices * 2).saturating_sub(rows + cols) as f64)?;
    in_order(watch, n, &ranges(vertices, m), |range, pairs| {
        for v in range.clone() {
            if v % cols + 1 < cols {
                pairs.push(v << 32 | (v + 1));
            }
            if v + cols < vertices {
                pairs.push(v << 32 | (v + cols));
            }
        }
    })
}
