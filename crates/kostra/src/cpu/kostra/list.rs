//! Edges between trees, in blocks that shrink in place.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::contest::{BATCH, Ballot, Ballots, Contest, Selected};
use super::touched::{SharedMarks, mark};
use crate::bits::{not_both_in, ones, pack_flags};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::par::{PARALLEL_FROM, prefetch, scan, shared};
use crate::team::each;
use crate::weight::Key;

/// Of 64 edges, so many are listed without a look at their labels.
const MANY: u32 = 16;

/// Edges of a list that are looked at to guess where its lightest end: fewer than of the graph, as lists are shorter, and other cores
/// have them.
const SAMPLES: usize = 1024;

/// The upper half of a word.
const UPPER: u64 = !0 << 32;

/// Where the ends and the id of the edge at a position are found.
pub(super) trait Edges: Sync {
    fn ends(&self, at: usize) -> (u32, u32);
    fn id(&self, at: usize) -> u32;
    fn prefetch(&self, at: usize);
}

/// The edges of the graph itself.
pub(super) struct Whole<'a> {
    pub(super) src: &'a [u32],
    pub(super) dst: &'a [u32],
}

impl Edges for Whole<'_> {
    #[inline(always)]
    fn ends(&self, at: usize) -> (u32, u32) {
        (self.src[at], self.dst[at])
    }
    #[inline(always)]
    fn id(&self, at: usize) -> u32 {
        at as u32
    }
    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.src, at);
        prefetch(self.dst, at);
    }
}

/// What the vertices of the graph are called in a list.
pub(super) trait Names: Copy + Sync {
    fn of(self, v: u32) -> u32;
    fn prefetch(self, v: u32);
}

/// As they are.
#[derive(Clone, Copy)]
pub(super) struct Themselves;

impl Names for Themselves {
    #[inline(always)]
    fn of(self, v: u32) -> u32 {
        v
    }
    #[inline(always)]
    fn prefetch(self, _: u32) {}
}

/// By the labels of their trees.
impl Names for &[u32] {
    #[inline(always)]
    fn of(self, v: u32) -> u32 {
        self[v as usize]
    }
    #[inline(always)]
    fn prefetch(self, v: u32) {
        prefetch(self, v as usize);
    }
}

/// Edges between trees, in the order of their ids. Two words each: the ends; the short key with the id behind it.
pub(super) struct List {
    words: Buffer<u64>,
    spans: Vec<Span>,
}

/// The edges of a block, and where they begin.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    len: usize,
}

/// The words of a list.
pub(super) struct Words<'a>(&'a [u64]);

impl Edges for Words<'_> {
    #[inline(always)]
    fn ends(&self, at: usize) -> (u32, u32) {
        split(self.0[2 * at])
    }
    #[inline(always)]
    fn id(&self, at: usize) -> u32 {
        self.0[2 * at + 1] as u32
    }
    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.0, 2 * at);
    }
}

#[inline(always)]
fn split(ends: u64) -> (u32, u32) {
    ((ends >> 32) as u32, ends as u32)
}

#[inline(always)]
fn join(u: u32, v: u32) -> u64 {
    u64::from(u) << 32 | u64::from(v)
}

/// Offers a batch of edges, those at these positions, to their trees.
#[inline(always)]
fn offer<K: Key>(contest: &Contest<K>, words: &[AtomicU64], ballot: Ballot, from: usize, to: usize) {
    let edges = (from as u64..).zip(words[2 * from..2 * to].chunks_exact(2)).map(|(at, edge)| {
        let (u, v) = split(edge[0].load(Relaxed));
        (u, v, edge[1].load(Relaxed) & UPPER | at)
    });
    contest.offer(ballot, edges, |at| words[2 * at as usize + 1].load(Relaxed) as u32);
}

/// One bit for each of up to 64 edges: whether it joins two trees.
#[inline(never)]
pub(super) fn joining(labels: &[u32], src: &[u32], dst: &[u32]) -> u64 {
    let mut flags = [0; 64];
    for ((flag, &u), &v) in flags.iter_mut().zip(src).zip(dst) {
        *flag = u8::from(labels[u as usize] != labels[v as usize]);
    }
    pack_flags(&flags)
}

/// As [`joining`], but looks at labels only where many edges have an end that is not in the largest tree, `inside`, which has a bit
/// for every vertex: most edges have both ends there, and the bits fit in a cache where the labels do not. Few others may be inside
/// another tree; that is seen when they are listed.
#[inline(never)]
pub(super) fn leaving(inside: &[u64], labels: &[u32], src: &[u32], dst: &[u32]) -> u64 {
    let bits = not_both_in(inside, src, dst);
    if bits.count_ones() > MANY { joining(labels, src, dst) } else { bits }
}

/// What edges do as soon as they are listed.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    /// They offer themselves to their trees.
    Offer(Ballots<'a>),
    /// They mark their trees as touched.
    Mark(SharedMarks<'a>),
}

impl List {
    /// The words, taken out once: looking into the buffer each time would check its alignment.
    pub(super) fn edges(&self) -> Words<'_> {
        Words(&self.words)
    }

    /// How many edges there are.
    pub(super) fn len(&self) -> usize {
        self.spans.iter().map(|span| span.len).sum()
    }

    /// The edges, as ends and ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let words: &[u64] = &self.words;
        let edges = self.spans.iter().flat_map(|span| words[2 * span.start..][..2 * span.len].chunks_exact(2));
        edges.map(|edge| {
            let (u, v) = split(edge[0]);
            (u, v, edge[1] as u32)
        })
    }

    /// Whether one thread alone works on it.
    pub(super) fn is_alone(&self) -> bool {
        self.spans.len() <= 1
    }

    /// Makes one span of many where the edges have become too few to be shared out.
    pub(super) fn gather(&mut self) {
        let len = self.len();
        if len >= PARALLEL_FROM || self.spans.len() <= 1 {
            return;
        }
        let mut next = 0;
        for span in &self.spans {
            self.words.copy_within(2 * span.start..2 * (span.start + span.len), 2 * next);
            next += span.len;
        }
        self.spans = vec![Span { start: 0, len }];
    }

    /// The selected edges of the graph between the trees that `names` says, those inside a tree excepted.
    pub(super) fn selected<K: Key>(
        contest: &Contest<K>,
        selected: &Selected,
        names: impl Names,
        purpose: Purpose,
        room: impl FnOnce(usize) -> Result<Buffer<u64>>,
    ) -> Result<Self> {
        let (src, dst) = (contest.graph.sources(), contest.graph.targets());
        let mut starts = selected.counts.clone();
        let mut words = room(2 * scan(&mut starts))?;
        let list = shared(&mut words);
        let fill = |number, (start, selected): (usize, &[u64])| {
            // Its own copies, which the compiler can keep in registers.
            let (src, dst, names) = (src, dst, names);
            let (ballot, own_marks) = match purpose {
                Purpose::Offer(ballots) => (Some(ballots.mine()), None),
                Purpose::Mark(marks) => (None, Some(marks.mine())),
            };
            let mut next = start;
            let put = |batch: &[u32]| {
                let from = next;
                for &e in batch {
                    names.prefetch(src[e as usize]);
                    names.prefetch(dst[e as usize]);
                }
                for &e in batch {
                    let (u, v) = (names.of(src[e as usize]), names.of(dst[e as usize]));
                    if let Some(ballot) = ballot {
                        ballot.prefetch(u, v);
                    }
                    list[2 * next].store(join(u, v), Relaxed);
                    list[2 * next + 1].store(contest.short(e as usize) | u64::from(e), Relaxed);
                    next += usize::from(u != v);
                }
                if let Some(ballot) = ballot {
                    offer(contest, list, ballot, from, next);
                }
                if let Some(own) = own_marks {
                    for edge in list[2 * from..2 * next].chunks_exact(2) {
                        let (u, v) = split(edge[0].load(Relaxed));
                        mark(own, u);
                        mark(own, v);
                    }
                }
            };
            contest.each_batch(number, selected, put)?;
            Ok(Span { start, len: next - start })
        };
        let blocks = starts.into_iter().zip(selected.bits.chunks(contest.block / 64));
        let spans = each(blocks, fill).into_iter().collect::<Result<_>>()?;
        Ok(Self { words, spans })
    }

    /// A list of the lightest edges, about this share of all. They offer themselves.
    pub(super) fn lightest<K: Key>(&self, contest: &Contest<K>, share: f64, ballots: Ballots) -> Result<Self> {
        let step = self.len().div_ceil(SAMPLES).max(1);
        let words: &[u64] = &self.words;
        let places = self.spans.iter().flat_map(|span| (span.start..span.start + span.len).step_by(step));
        let places: Vec<usize> = places.map(|at| 2 * at + 1).collect();
        let mut sample = super::look_up(&places, |at| prefetch(words, at), |at| contest.ranked(words[at]));
        let threshold = super::at_share(&mut sample, share);
        let short = contest.short(K::edge(threshold) as usize) | u64::from(K::edge(threshold));
        let is_light = |entry: u64| {
            if !K::SHORT && entry >> 32 == short >> 32 { contest.ranked(entry) <= threshold } else { entry <= short }
        };
        let entries = |span: &Span| words[2 * span.start..][..2 * span.len].chunks_exact(2);
        let count = |_, span: &Span| entries(span).map(|edge| usize::from(is_light(edge[1]))).sum::<usize>();
        let mut starts: Vec<usize> = each(&self.spans, count);
        let counts = starts.clone();
        let mut light = Buffer::<u64>::of_any(2 * scan(&mut starts))?;
        let list = shared(&mut light);
        let spans = each(self.spans.iter().zip(starts).zip(counts), |_, ((span, start), len)| {
            contest.watch.check()?;
            let (ballot, mut next) = (ballots.mine(), start);
            for few in words[2 * span.start..][..2 * span.len].chunks(2 * 64) {
                let mut flags = [0; 64];
                for (flag, edge) in flags.iter_mut().zip(few.chunks_exact(2)) {
                    *flag = u8::from(is_light(edge[1]));
                }
                let from = next;
                for at in ones(pack_flags(&flags)).map(|bit| 2 * bit) {
                    let (u, v) = split(few[at]);
                    ballot.prefetch(u, v);
                    list[2 * next].store(few[at], Relaxed);
                    list[2 * next + 1].store(few[at + 1], Relaxed);
                    next += 1;
                }
                offer(contest, list, ballot, from, next);
            }
            Ok(Span { start, len })
        });
        let spans = spans.into_iter().collect::<Result<_>>()?;
        Ok(Self { words: light, spans })
    }

    /// Lets all edges offer themselves.
    pub(super) fn offer<K: Key>(&mut self, contest: &Contest<K>, ballots: Ballots) -> Result<()> {
        let words = shared(&mut self.words);
        let blocks = each(&self.spans, |_, span| {
            contest.watch.check()?;
            let (ballot, end) = (ballots.mine(), span.start + span.len);
            for first in (span.start..end).step_by(BATCH) {
                offer(contest, words, ballot, first, end.min(first + BATCH));
            }
            Ok(())
        });
        blocks.into_iter().collect()
    }

    /// Renames the ends of edges and drops those inside a tree. The others offer themselves where `ballots` are given.
    pub(super) fn relabel<K: Key>(
        &mut self,
        contest: &Contest<K>,
        names: impl Names,
        ballots: Option<Ballots>,
    ) -> Result<()> {
        let words = shared(&mut self.words);
        let blocks = each(&mut self.spans, |_, span| {
            contest.watch.check()?;
            let ballot = ballots.map(|ballots| ballots.mine());
            #[cfg(target_arch = "x86_64")]
            if crate::bits::has_popcnt() {
                // SAFETY: nothing but the instruction makes the function unsafe to call, and the processor has it.
                #[allow(unsafe_code)]
                unsafe {
                    relabel_popcnt(contest, words, names, ballot, span)
                };
                return Ok(());
            }
            relabel(contest, words, names, ballot, span);
            Ok(())
        });
        blocks.into_iter().collect()
    }
}

/// As [`relabel`]: new numbers are counts of bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn relabel_popcnt<K: Key>(
    contest: &Contest<K>,
    words: &[AtomicU64],
    names: impl Names,
    ballot: Option<Ballot>,
    span: &mut Span,
) {
    relabel(contest, words, names, ballot, span);
}

/// Renames the edges of a block.
#[inline(always)]
fn relabel<K: Key>(
    contest: &Contest<K>,
    words: &[AtomicU64],
    names: impl Names,
    ballot: Option<Ballot>,
    span: &mut Span,
) {
    let (mut kept, end) = (span.start, span.start + span.len);
    for first in (span.start..end).step_by(BATCH) {
        for at in first + BATCH..end.min(first + 2 * BATCH) {
            let (u, v) = split(words[2 * at].load(Relaxed));
            names.prefetch(u);
            names.prefetch(v);
        }
        let from = kept;
        for at in first..end.min(first + BATCH) {
            let (u, v) = split(words[2 * at].load(Relaxed));
            let (u, v) = (names.of(u), names.of(v));
            if let Some(ballot) = ballot {
                ballot.prefetch(u, v);
            }
            words[2 * kept].store(join(u, v), Relaxed);
            words[2 * kept + 1].store(words[2 * at + 1].load(Relaxed), Relaxed);
            kept += usize::from(u != v);
        }
        if let Some(ballot) = ballot {
            offer(contest, words, ballot, from, kept);
        }
    }
    span.len = kept - span.start;
}
