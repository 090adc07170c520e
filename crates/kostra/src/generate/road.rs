//! `road`: a road network, junctions on a grid, streets between them, and bends along the streets.
//!
//! Junctions fill a square grid row by row. Of the streets between neighbouring junctions about 78 % exist. The other
//! vertices are bends, spread over the streets in random shares, which makes long chains of degree 2. With q the
//! share of streets, J junctions have 2qJ streets, and every bend adds one edge, so J = n (degree/2 - 1) / (2q - 1)
//! gives the degree asked for; where that is more than n, every vertex is a junction and q is degree/4.
//!
//! Ids are local, as in real maps: a junction, the bends of the street to its right, the bends of the street below it,
//! the next junction. So the edges come sorted. Junctions and bends are jittered, and weights are lengths between them.

use rayon::prelude::*;

use super::edges::{Edges, Meter, in_order, ranges};
use super::points::Point;
use super::random::{Random, Stream, below};
use super::spec::Spec;
use crate::error::Result;
use crate::par::split;
use crate::watch::Watch;

/// The share of streets that exist: many, so that most of the map is connected, but clearly fewer than all.
const KEPT: f64 = 0.78;
/// The distance of neighbouring junctions. The widest grid, 2^16 junctions, is 2^30 wide.
const SPACING: u32 = 1 << 14;
/// How far a junction lies from its place in the grid, at most.
const JITTER: u32 = SPACING / 3;
/// Junctions in a block.
const BLOCK: usize = if cfg!(test) { 1 << 8 } else { 1 << 14 };

/// The network, and where its vertices lie unless `weights=` makes lengths superfluous.
pub(super) fn road(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    let degree = spec.real("degree", 2.4, "a number above 2 and up to 4", |degree| degree > 2.0 && degree <= 4.0)?;
    let m = spec.edges(f64::from(n) * degree / 2.0)?;
    let map = Map::new(n, m, spec.seed, watch)?;
    let edges = in_order(watch, n, &ranges(map.junctions, m), |range, pairs| {
        for junction in range.clone() {
            map.edges(junction, pairs);
        }
    })?;
    let points = if spec.weights.is_none() { Some(map.points(n, watch)?) } else { None };
    Ok(Edges { points, ..edges })
}

struct Map {
    junctions: u64,
    /// Junctions in a row of the grid.
    width: u64,
    /// The share of streets that exist, of 2^32.
    kept: u64,
    streets: Random,
    places: Random,
    /// Bends before each street, and in all. Streets 2j and 2j + 1 go right and down from junction j.
    bends: Vec<u32>,
}

impl Map {
    fn new(n: u32, m: u64, seed: u64, watch: &Watch) -> Result<Self> {
        let vertices = u64::from(n);
        // m - n is n (degree/2 - 1): how many more streets there are than junctions.
        let surplus = m.saturating_sub(vertices);
        let junctions = ((surplus as f64 / (2.0 * KEPT - 1.0)) as u64).max(2).min(vertices);
        let mut width = (junctions as f64).sqrt() as u64;
        width += u64::from(width * width < junctions);
        let places = (2 * junctions).saturating_sub(width + junctions.div_ceil(width.max(1)));
        let kept = ((surplus + junctions) as f64 / places.max(1) as f64).min(1.0);
        let mut map = Self {
            junctions,
            width,
            kept: (kept * (1u64 << 32) as f64) as u64,
            streets: Random::new(seed, Stream::Pairs),
            places: Random::new(seed, Stream::Places),
            bends: vec![0; 2 * junctions as usize + 1],
        };
        map.bends = map.spread(vertices - junctions, watch)?;
        Ok(map)
    }

    /// Spreads the bends over the streets: up to each street as large a part of all bends as its and the earlier
    /// streets' shares are of all shares.
    fn spread(&self, bends: u64, watch: &Watch) -> Result<Vec<u32>> {
        let streets = 2 * self.junctions as usize;
        let sums: Vec<u64> = (0..streets.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                watch.check()?;
                Ok((block * BLOCK..((block + 1) * BLOCK).min(streets)).map(|street| self.share(street as u64)).sum())
            })
            .collect::<Result<_>>()?;
        let total: u64 = sums.iter().sum();
        let ends = sums.iter().scan(0, |end, sum| {
            *end += sum;
            Some(*end)
        });
        let starts: Vec<u64> = ends.zip(&sums).map(|(end, sum)| end - sum).collect();

        let mut spread = vec![0; streets + 1];
        let meter = Meter::new(watch, "plan", sums.len());
        spread[1..].par_chunks_mut(BLOCK).zip(starts).enumerate().try_for_each(|(block, (ends, mut shares))| {
            for (i, end) in ends.iter_mut().enumerate() {
                shares += self.share((block * BLOCK + i) as u64);
                // Rounding is monotone, and the last quotient is 1: the counts never fall and end at all bends.
                *end = (bends as f64 * (shares as f64 / total as f64)) as u32;
            }
            meter.step()
        })?;
        Ok(spread)
    }

    /// The junction at the other end of a street, if there is such a place in the grid.
    fn far(&self, street: u64) -> Option<u64> {
        let junction = street / 2;
        let right = street.is_multiple_of(2);
        let far = if right { junction + 1 } else { junction + self.width };
        (far < self.junctions && !(right && far.is_multiple_of(self.width))).then_some(far)
    }

    /// A street's share of the bends: squares of 16 random bits, so that a few streets are long; 0 where there is no
    /// street. The first street is always there, to take the bends when there is no other.
    fn share(&self, street: u64) -> u64 {
        let bits = self.streets.at(street);
        if self.far(street).is_none() || (street != 0 && bits >> 32 >= self.kept) {
            return 0;
        }
        let draw = bits % (1 << 16);
        1 + ((draw * draw) >> 16)
    }

    /// The vertex that is this junction: all earlier junctions and their bends come first.
    fn vertex(&self, junction: u64) -> u64 {
        junction + u64::from(self.bends[2 * junction as usize])
    }

    /// A street as its far junction, its first bend and the number of bends; `None` where there is no street.
    fn street(&self, street: u64) -> Option<(u64, u64, u64)> {
        if self.share(street) == 0 {
            return None;
        }
        let [before, end] = [0, 1].map(|next| u64::from(self.bends[street as usize + next]));
        Some((self.far(street)?, street / 2 + 1 + before, end - before))
    }

    /// The edges whose smaller end is a junction or a bend of its two streets, in order.
    fn edges(&self, junction: u64, pairs: &mut Vec<u64>) {
        let here = self.vertex(junction);
        let first = pairs.len();
        let streets = [2 * junction, 2 * junction + 1].map(|street| self.street(street));
        for (far, bend, bends) in streets.into_iter().flatten() {
            let next = if bends == 0 { self.vertex(far) } else { bend };
            pairs.push(here << 32 | next);
        }
        // Without bends on the right, its far junction comes after the bends below.
        pairs[first..].sort_unstable();
        for (far, bend, bends) in streets.into_iter().flatten() {
            for v in bend..bend + bends {
                let next = if v + 1 < bend + bends { v + 1 } else { self.vertex(far) };
                pairs.push(v << 32 | next);
            }
        }
    }

    /// Where every vertex lies.
    fn points(&self, n: u32, watch: &Watch) -> Result<Vec<Point>> {
        let mut points = vec![[0; 2]; n as usize];
        let blocks: Vec<u64> = (0..self.junctions).step_by(BLOCK).chain([self.junctions]).collect();
        let lengths: Vec<usize> =
            blocks.windows(2).map(|block| (self.vertex(block[1]) - self.vertex(block[0])) as usize).collect();
        let meter = Meter::new(watch, "place", lengths.len());
        split(&mut points, &lengths).into_par_iter().zip(blocks.par_windows(2)).try_for_each(|(points, block)| {
            let mut points = points.iter_mut();
            let mut put = |point| points.next().into_iter().for_each(|place| *place = point);
            for junction in block[0]..block[1] {
                let here = self.place(junction);
                put(here);
                for (far, bend, bends) in [0, 1].into_iter().filter_map(|next| self.street(2 * junction + next)) {
                    let there = self.place(far);
                    (0..bends).for_each(|i| put(self.bend(here, there, bend + i, i + 1, bends + 1)));
                }
            }
            meter.step()
        })?;
        Ok(points)
    }

    /// Where a junction lies.
    fn place(&self, junction: u64) -> Point {
        let corner = [junction % self.width, junction / self.width];
        let bits = self.places.at(self.vertex(junction));
        [0, 1].map(|axis| corner[axis] as u32 * SPACING + below(bits << (32 * axis), u64::from(2 * JITTER)) as u32)
    }

    /// Where the bend `v` lies that is `step` of `steps` along its street: beside the straight line by up to a
    /// quarter of a step.
    fn bend(&self, here: Point, there: Point, v: u64, step: u64, steps: u64) -> Point {
        let jitter = u64::from(SPACING) / 4 / steps;
        let bits = self.places.at(v);
        [0, 1].map(|axis| {
            let [from, to] = [here, there].map(|point| u64::from(point[axis]));
            let straight = (from * (steps - step) + to * step) / steps;
            (straight + below(bits << (32 * axis), 2 * jitter + 1)).saturating_sub(jitter) as u32
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_bend_lies_on_a_street() {
        for (n, m) in [(0, 0), (1, 1), (2, 3), (3, 4), (10, 12), (1000, 1003), (1000, 1200), (1000, 2000)] {
            let map = Map::new(n, m, 1, &Watch::default()).unwrap();
            assert_eq!(map.junctions + u64::from(map.bends[map.bends.len() - 1]), n.into(), "{n} {m}");
            for (street, bends) in map.bends.windows(2).enumerate() {
                assert!(bends[0] == bends[1] || map.street(street as u64).is_some());
            }
        }
    }
}
