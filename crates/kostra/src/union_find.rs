//! Disjoint sets of vertices.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::par::{block, prefetch, shared};

/// Disjoint sets over `0..n`. The root of a set is always its smallest vertex.
#[derive(Clone, Debug)]
pub(crate) struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    /// Every vertex in a set of its own.
    pub(crate) fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).collect() }
    }

    /// The smallest vertex of `v`'s set; halves the path on the way.
    #[inline]
    pub(crate) fn find(&mut self, mut v: u32) -> u32 {
        loop {
            let parent = self.parent[v as usize];
            let grandparent = self.parent[parent as usize];
            if parent == grandparent {
                return parent;
            }
            self.parent[v as usize] = grandparent;
            v = grandparent;
        }
    }

    /// Asks for `v`'s entry ahead of a `find` or `union`.
    #[inline(always)]
    pub(crate) fn prefetch(&self, v: u32) {
        prefetch(&self.parent, v as usize);
    }

    /// Joins the sets of `u` and `v`; false when they were one already.
    #[inline]
    pub(crate) fn union(&mut self, u: u32, v: u32) -> bool {
        let (u, v) = (self.find(u), self.find(v));
        // The smaller vertex stays root. Linking by index rather than by size keeps depth logarithmic on average,
        // needs no second array, and gives every set its canonical name.
        self.parent[u.max(v) as usize] = u.min(v);
        u != v
    }

    /// The root of every vertex, found on all threads.
    pub(crate) fn roots(&mut self) -> &[u32] {
        let block = block(self.parent.len());
        let parents = shared(&mut self.parent);
        parents.par_chunks(block).enumerate().for_each(|(part, entries)| {
            for (v, entry) in (part * block..).zip(entries) {
                // No halving here: it could put a parent read earlier over the root that another thread has stored.
                let mut root = v;
                loop {
                    let parent = parents[root].load(Ordering::Relaxed) as usize;
                    if parent == root {
                        break;
                    }
                    root = parent;
                }
                entry.store(root as u32, Ordering::Relaxed);
            }
        });
        &self.parent
    }

    /// A number for every vertex: sets counted from 0 by their smallest vertex.
    pub(crate) fn labels(mut self) -> Vec<u32> {
        let mut next = 0;
        for v in 0..self.parent.len() {
            // Parents are smaller than their children, so the parent's entry already holds its label.
            let parent = self.parent[v] as usize;
            self.parent[v] = if parent == v {
                next += 1;
                next - 1
            } else {
                self.parent[parent]
            };
        }
        self.parent
    }
}

/// The root above `v`, while other threads may look for roots as well; halves the path on the way.
///
/// Relaxed: a thread only ever replaces a parent by one further up the same path, so all end at the same root whether
/// they read the old or the new. The parents themselves need not be roots afterwards: keep what this returns elsewhere.
#[inline(always)]
pub(crate) fn root(parents: &[AtomicU32], mut v: u32) -> u32 {
    loop {
        let parent = parents[v as usize].load(Ordering::Relaxed);
        let grandparent = parents[parent as usize].load(Ordering::Relaxed);
        if parent == grandparent {
            return parent;
        }
        parents[v as usize].store(grandparent, Ordering::Relaxed);
        v = grandparent;
    }
}

#[cfg(test)]
mod tests {
    use super::UnionFind;

    #[test]
    fn labels_count_sets_by_their_smallest_vertex() {
        let mut sets = UnionFind::new(6);
        assert!(sets.union(5, 1));
        assert!(sets.union(4, 2));
        assert!(sets.union(2, 5));
        assert!(!sets.union(1, 4));
        assert_eq!(sets.roots(), [0, 1, 1, 3, 1, 1]);
        assert_eq!(sets.labels(), [0, 1, 1, 2, 1, 1]);
    }
}
