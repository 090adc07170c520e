//! One round: every tree joins another along its best edge.

use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::Work;
use super::contest::{AHEAD, EMPTY};
use super::list::{Edges, List};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::par::{block, prefetch, shared, split};
use crate::union_find::{UnionFind, root};
use crate::weight::Key;

impl<K: Key> Work<'_, K> {
    /// Joins every tree along its best edge. Returns the new tree of each and how many new trees there are; a tree to
    /// which nothing was offered is complete, and gets a number of its own from the top down.
    pub(super) fn round(
        &mut self,
        edges: &impl Edges,
        trees: usize,
        complete: &mut usize,
    ) -> Result<(Buffer<u32>, usize)> {
        let block = block(trees);
        let mut labels = Buffer::<u32>::zeroed(trees)?;
        let best: &[u64] = self.cells.merge(&self.contest, |at| edges.id(at as usize));
        let parent = shared(&mut self.parent[..trees]);
        let numbers = shared(&mut labels);
        let hook = |first: usize| {
            let last = trees.min(first + block);
            let (mut roots, mut done) = (0, 0);
            for c in first..last {
                if let Some(&cell) = best.get(c + AHEAD) {
                    edges.prefetch(cell as u32 as usize);
                }
                if c + AHEAD / 2 < last {
                    let cell = best[c + AHEAD / 2];
                    if cell != EMPTY {
                        let (u, v) = edges.ends(cell as u32 as usize);
                        prefetch(best, (u ^ v) as usize ^ (c + AHEAD / 2));
                    }
                }
                let cell = best[c];
                if cell == EMPTY {
                    parent[c].store(c as u32, Relaxed);
                    done += 1;
                    continue;
                }
                let at = cell as u32 as usize;
                let (u, v) = edges.ends(at);
                let other = u ^ v ^ c as u32;
                // Of two trees that chose the same edge, the first stays root. There is no longer cycle: along one the
                // chosen edges would have to get smaller all the way round. No branch: nobody could predict it.
                let stays = (c < other as usize) & (best[other as usize] == cell);
                parent[c].store(if stays { c as u32 } else { other }, Relaxed);
                // Until the trees are numbered.
                numbers[c].store(edges.id(at), Relaxed);
                roots += usize::from(stays);
            }
            (roots, done)
        };
        let firsts: Vec<usize> = (0..trees).step_by(block).collect();
        let counts: Vec<(usize, usize)> = firsts.par_iter().map(|&first| hook(first)).collect();
        let (mut live, mut done) = (0, *complete);
        let (mut lengths, mut starts) = (Vec::with_capacity(counts.len()), Vec::with_capacity(counts.len()));
        for (&first, (roots, complete)) in firsts.iter().zip(counts) {
            starts.push((live, done));
            (live, done) = (live + roots, done + complete);
            lengths.push(trees.min(first + block) - first - roots - complete);
        }
        let joined = trees - live - (done - *complete);
        *complete = done;

        let forest = split(&mut self.forest[self.chosen..self.chosen + joined], &lengths);
        self.chosen += joined;
        firsts.par_iter().zip(starts).zip(forest).for_each(|((&first, (live, done)), forest)| {
            let (mut live, mut done, mut next) = (live as u32, done as u32, 0);
            for c in first..trees.min(first + block) {
                let root = parent[c].load(Relaxed) == c as u32;
                // Where a tree is no root, its edge is chosen; else the next such tree puts its own here.
                if let Some(place) = forest.get_mut(next) {
                    *place = numbers[c].load(Relaxed);
                    next += usize::from(!root);
                }
                // What others than roots get is overwritten below.
                let complete = best[c] == EMPTY;
                numbers[c].store(if complete { !done } else { live }, Relaxed);
                done += u32::from(complete);
                live += u32::from(root & !complete);
            }
        });
        firsts.par_iter().for_each(|&first| {
            for c in first..trees.min(first + block) {
                if let Some(ahead) = parent.get(c + AHEAD) {
                    prefetch(parent, ahead.load(Relaxed) as usize);
                }
                let root = root(parent, c as u32);
                if root as usize != c {
                    numbers[c].store(numbers[root as usize].load(Relaxed), Relaxed);
                }
            }
        });
        Ok((labels, live))
    }

    /// The last few edges, by Kruskal's algorithm on one thread. Returns the tree of each, and how many there are.
    pub(super) fn finish(&mut self, list: &List, trees: usize, complete: usize) -> Result<(Buffer<u32>, usize)> {
        let keys = self.contest.keys;
        let mut rest: Vec<(K::Ranked, u32, u32)> =
            list.iter().map(|(u, v, e)| (keys.ranked(e as usize), u, v)).collect();
        rest.sort_unstable();
        let mut sets = UnionFind::new(trees);
        let mut left = trees;
        for (ranked, u, v) in rest {
            if sets.union(u, v) {
                self.forest[self.chosen] = K::edge(ranked);
                self.chosen += 1;
                left -= 1;
            }
        }
        let mut labels = Buffer::zeroed(trees)?;
        for (label, set) in labels.iter_mut().zip(sets.labels()) {
            *label = !(complete as u32 + set);
        }
        Ok((labels, left))
    }
}

/// From the maps of all rounds, of which there is one at least, the complete tree in which each tree of the first round ends,
/// numbered from 0.
pub(super) fn compose(maps: Vec<Buffer<u32>>) -> Buffer<u32> {
    let mut maps = maps.into_iter().rev();
    let Some(mut last) = maps.next() else { unreachable!("every contraction ends with a map") };
    for mut map in maps {
        let (block, last_map): (usize, &[u32]) = (block(map.len()), &last);
        map.par_chunks_mut(block).for_each(|part| {
            for i in 0..part.len() {
                if let Some(&ahead) = part.get(i + AHEAD) {
                    prefetch(last_map, ahead as usize);
                }
                // The numbers of complete trees lie beyond all others and stay.
                if let Some(&label) = last_map.get(part[i] as usize) {
                    part[i] = label;
                }
            }
        });
        last = map;
    }
    let block = block(last.len());
    last.par_chunks_mut(block).for_each(|part| part.iter_mut().for_each(|label| *label = !*label));
    last
}
