//! One round: every tree joins another along its best edge.

use std::hint::select_unpredictable;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32};

use super::Work;
use super::contest::{AHEAD, EMPTY};
use super::list::{Edges, List};
use crate::bits::{ones, pack_flags};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::forest::mark;
use crate::par::{block, prefetch, shared};
use crate::team::each;
use crate::union_find::UnionFind;
use crate::weight::Key;

/// The link of a tree to which nothing was offered.
const NOBODY: u32 = u32::MAX;

/// Steps after which a path is shortened. Shortening all of them took 3 % longer.
const LONG: usize = 16;

impl<K: Key> Work<'_, K> {
    /// Joins every tree along its best edge. Returns the new tree of each and how many new trees there are; a tree to
    /// which nothing was offered is complete, and gets a number of its own from the top down.
    pub(super) fn round(
        &mut self,
        edges: &impl Edges,
        trees: usize,
        complete: &mut usize,
    ) -> Result<(Buffer<u32>, usize)> {
        let mut labels = Buffer::<u32>::of_any(trees)?;
        let best = self.cells.merge(&self.contest, |at| edges.id(at as usize));
        let links = &mut self.links[..trees];
        link(best, edges, links, self.chosen.marks(), &mut labels);
        let (roots, counts) = find_roots(links)?;

        let (mut live, mut done) = (0, *complete);
        let (mut joined, mut starts) = (Vec::with_capacity(counts.len()), Vec::with_capacity(counts.len()));
        for (roots, complete, others) in counts {
            starts.push((live as u32, done as u32));
            joined.push(others);
            (live, done) = (live + roots, done + complete);
        }
        *complete = done;
        number(links, &roots, starts, &labels, self.chosen.add(&joined));
        label(links, &roots, &mut labels);
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
                self.chosen.push(K::edge(ranked));
                left -= 1;
            }
        }
        let mut labels = Buffer::of_any(trees)?;
        for (label, set) in labels.iter_mut().zip(sets.labels()) {
            *label = !(complete as u32 + set);
        }
        Ok((labels, left))
    }
}

/// How many trees one task takes: whole words of a bit set.
fn block_of(trees: usize) -> usize {
    block(trees).next_multiple_of(64)
}

/// Links every tree to the one at the other end of its best edge. That edge is marked or, where there are no marks, its id
/// is kept.
fn link(best: &[u64], edges: &impl Edges, links: &mut [u32], marks: Option<&[AtomicU8]>, ids: &mut [u32]) {
    let block = block_of(links.len());
    each(links.chunks_mut(block).zip(ids.chunks_mut(block)), |number, (links, ids)| {
        for (c, (link, id)) in (number * block..).zip(links.iter_mut().zip(ids)) {
            if let Some(&cell) = best.get(c + AHEAD) {
                edges.prefetch(cell as u32 as usize);
            }
            let cell = best[c];
            if cell == EMPTY {
                *link = NOBODY;
                continue;
            }
            let at = cell as u32 as usize;
            let (u, v) = edges.ends(at);
            *link = u ^ v ^ c as u32;
            match marks {
                Some(marks) => mark(marks, edges.id(at)),
                None => *id = edges.id(at),
            }
        }
    });
}

/// The live roots, the complete trees and the others of every block.
type Counts = Vec<(usize, usize, usize)>;

/// A bit for every root; and the live roots, the complete trees and the others of every block.
///
/// Of two trees that are linked to each other, the first stays root. They have chosen the same edge, and there is no longer
/// cycle: along one the chosen edges would have to get smaller all the way round.
fn find_roots(links: &[u32]) -> Result<(Buffer<u64>, Counts)> {
    let (trees, block) = (links.len(), block_of(links.len()));
    let mut roots = Buffer::<u64>::of_any(trees.div_ceil(64))?;
    let find = |number: usize, words: &mut [u64]| {
        let (mut all, mut complete) = (0, 0);
        for (word, first) in words.iter_mut().zip((number * block..).step_by(64)) {
            let mut flags = [0; 64];
            for (flag, c) in flags.iter_mut().zip(first..trees) {
                if let Some(&ahead) = links.get(c + AHEAD) {
                    prefetch(links, ahead as usize);
                }
                let link = links[c] as usize;
                let stays = links.get(link).map(|&back| (back as usize == c) & (c < link));
                complete += usize::from(stays.is_none());
                *flag = u8::from(stays.unwrap_or(true));
            }
            *word = pack_flags(&flags);
            all += word.count_ones() as usize;
        }
        (all - complete, complete, block.min(trees - number * block) - all)
    };
    let counts = each(roots.chunks_mut(block / 64), find);
    Ok((roots, counts))
}

/// Puts the numbers of roots in the place of their links, from where every block starts: live ones up, complete ones from the
/// top down. Edges of others that have room in the forest go there.
fn number(links: &mut [u32], roots: &[u64], starts: Vec<(u32, u32)>, ids: &[u32], forest: Vec<&mut [u32]>) {
    let block = block_of(links.len());
    let blocks = links.chunks_mut(block).zip(roots.chunks(block / 64)).zip(ids.chunks(block));
    each(blocks.zip(starts).zip(forest), |_, ((((links, roots), ids), (mut live, mut done)), forest)| {
        let mut forest = forest.iter_mut();
        for ((links, ids), &word) in links.chunks_mut(64).zip(ids.chunks(64)).zip(roots) {
            for root in ones(word) {
                let complete = links[root] == NOBODY;
                links[root] = if complete { !done } else { live };
                done += u32::from(complete);
                live += u32::from(!complete);
            }
            // `forest` stands second: the end of a word must not take a place in it.
            let others = !word & !0 >> (64 - ids.len());
            ones(others).zip(&mut forest).for_each(|(c, place)| *place = ids[c]);
        }
    });
}

/// The number of every tree's root, which is where its links lead.
fn label(links: &mut [u32], roots: &[u64], labels: &mut [u32]) {
    let (block, links) = (block_of(links.len()), shared(links));
    let is_root = |v: u32| roots[v as usize / 64] >> (v % 64) & 1 == 1;
    let link = |v: u32| links[v as usize].load(Relaxed);
    let up = |v: u32| select_unpredictable(is_root(v), v, link(v));
    each(labels.chunks_mut(block), |number, labels| {
        for (c, label) in (number * block..).zip(labels) {
            if let Some(ahead) = links.get(c + AHEAD) {
                prefetch(links, ahead.load(Relaxed) as usize);
            }
            if let Some(ahead) = links.get(c + AHEAD / 2).and_then(|near| links.get(near.load(Relaxed) as usize)) {
                prefetch(links, ahead.load(Relaxed) as usize);
            }
            // Most paths are no longer: the loop is seldom entered. With more steps ahead of it roads took longer.
            let (mut root, mut steps) = (up(up(c as u32)), 0);
            while !is_root(root) {
                steps += 1;
                root = if steps < LONG { link(root) } else { shorten(links, root, is_root) };
            }
            *label = link(root);
            // Paths through this tree become shorter. Other threads find the old link or the new, and both lead to the root.
            links[c].store(select_unpredictable(root == c as u32, *label, root), Relaxed);
        }
    });
}

/// The root above a tree that is none. All on the way become linked to it: chains may be as long as there are trees, and else each
/// of these might go the whole way.
#[inline(never)]
fn shorten(links: &[AtomicU32], start: u32, is_root: impl Fn(u32) -> bool) -> u32 {
    let link = |v: u32| links[v as usize].load(Relaxed);
    let mut root = link(start);
    while !is_root(root) {
        root = link(root);
    }
    let mut at = start;
    while at != root {
        let next = link(at);
        links[at as usize].store(root, Relaxed);
        at = next;
    }
    root
}

/// From the maps of all rounds, of which there is one at least, the complete tree in which each tree of the first round ends,
/// numbered from 0.
pub(super) fn compose(maps: Vec<Buffer<u32>>) -> Buffer<u32> {
    let mut maps = maps.into_iter().rev();
    let Some(mut last) = maps.next() else { unreachable!("every contraction ends with a map") };
    for mut map in maps {
        let (block, last_map): (usize, &[u32]) = (block(map.len()), &last);
        each(map.chunks_mut(block), |_, part| {
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
    each(last.chunks_mut(block), |_, part| part.iter_mut().for_each(|label| *label = !*label));
    last
}
