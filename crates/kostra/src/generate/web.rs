//! `web`: pages that link to their neighbours and to hubs, and copy links from each other.
//!
//! Page v draws degree / 2 links. Each goes with fixed odds to a page nearby; to a hub, chosen by Zipf's law; or
//! where the link of the same number goes on the page that v is modelled on, an earlier one, mostly of the same site
//! (the copying model of Kleinberg, Kumar and others). The links of a page can be found without drawing those of
//! others first: copying follows models until a link is not copied, a few steps on average.
//!
//! The top hub of n vertices has about n * degree / (9 log2 n) neighbours (of 1.4 M with degree 20 about 153,000), as
//! in the graph that the design was measured with. About 2 % of the links are repeats.

use super::edges::{Edges, push, ranges, sorted};
use super::random::{Random, Stream, below};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

/// Of 2^16 links, how many are copied; of the others, how many go to hubs.
const COPIED: u64 = 26_000;
const TO_HUBS: u64 = 15_750;
/// Copies of copies beyond this many steps, one link in 600, go to a hub.
const DEPTH: usize = 7;
/// Local links go this far per link of a page, so that few of them meet.
const NEAR: u64 = 6;
/// Pages of a site: seven of eight models are this near.
const SITE: u64 = 1 << 12;

pub(super) fn web(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    let half = spec.degree(20.0)? / 2.0;
    let m = spec.edges(f64::from(n) * half)?;
    let web = Web {
        n: n.into(),
        window: NEAR * (half + 1.0) as u64,
        links: Random::new(spec.seed, Stream::Pairs),
        models: Random::new(spec.seed, Stream::Ends),
        hubs: Random::new(spec.seed, Stream::Hubs),
    };
    // Page v has the links from before(v) to before(v + 1): degree / 2 on average, whole for each.
    let before = |v: u64| (v as f64 * half) as u64;
    sorted(spec, watch, n, m, &ranges(n.into(), m), |range, pairs| {
        for v in range.clone() {
            for link in 0..before(v + 1) - before(v) {
                push(pairs, v as u32, web.target(v, link) as u32);
            }
        }
    })
}

struct Web {
    n: u64,
    /// How far local links go.
    window: u64,
    links: Random,
    models: Random,
    hubs: Random,
}

impl Web {
    /// Where a link of page `v` goes.
    fn target(&self, mut v: u64, link: u64) -> u64 {
        let mut bits = self.links.at(v << 32 | link);
        for _ in 0..DEPTH {
            if v == 0 || bits % (1 << 16) >= COPIED {
                break;
            }
            v = self.model(v);
            bits = self.links.at(v << 32 | link);
        }
        if (bits >> 16) % (1 << 16) < TO_HUBS { self.hub(bits) } else { self.nearby(v, bits) }
    }

    /// The page that `v` > 0 is modelled on.
    fn model(&self, v: u64) -> u64 {
        let bits = self.models.at(v);
        let near = if bits.is_multiple_of(8) { v } else { v.min(SITE) };
        v - 1 - below(bits, near)
    }

    /// A page a little before `v`; after it where there are too few before.
    fn nearby(&self, v: u64, bits: u64) -> u64 {
        let distance = 1 + below(bits, self.window);
        if distance <= v { v - distance } else { (v + distance) % self.n }
    }

    /// Zipf's law for ranks below n, in powers of two: each range from 2^k to 2^(k+1) gets the same share of links.
    fn hub(&self, bits: u64) -> u64 {
        let ranges = u64::from(u64::BITS - self.n.leading_zeros());
        let range = below(bits, ranges);
        let rank = (1 << range) | below(self.hubs.at(bits), 1 << range);
        below(self.hubs.at(rank), self.n)
    }
}
