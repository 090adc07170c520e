//! Names of vertices: what `ids sparse` replaces by dense ids, and puts back in the output.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

/// Distinct names, numbered from 0 in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Names {
    bytes: Vec<u8>,
    /// Where each name ends in `bytes`; it begins where the one before it ends.
    ends: Vec<u64>,
    ids: HashTable<u32>,
}

impl Names {
    /// The number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name of vertex `v`, as it stood in the file.
    ///
    /// # Panics
    ///
    /// When there is no such vertex.
    pub fn at(&self, v: u32) -> &[u8] {
        name(&self.bytes, &self.ends, v)
    }

    /// Bytes of memory that they take.
    pub(crate) fn bytes(&self) -> u64 {
        (self.bytes.capacity() + 8 * self.ends.capacity() + 5 * self.ids.capacity()) as u64
    }

    /// All names in one piece, and where each ends.
    pub(crate) fn parts(&self) -> (&[u8], &[u64]) {
        (&self.bytes, &self.ends)
    }

    /// The names of [`parts`](Self::parts); `None` where these are no distinct names.
    pub(crate) fn from_parts(bytes: Vec<u8>, ends: Vec<u64>) -> Option<Self> {
        let mut names = Self::default();
        let mut start = 0;
        for (v, &end) in ends.iter().enumerate() {
            let name = bytes.get(start..usize::try_from(end).ok()?)?;
            if names.intern(name)? as usize != v {
                return None;
            }
            start = end as usize;
        }
        (start == bytes.len()).then_some(names)
    }

    /// The vertex of that name.
    pub fn find(&self, wanted: &[u8]) -> Option<u32> {
        self.ids.find(xxh3_64(wanted), |&v| self.at(v) == wanted).copied()
    }

    /// The vertex of that name, new if it was not there; `None` when there are no ids left.
    pub(crate) fn intern(&mut self, new: &[u8]) -> Option<u32> {
        let Self { bytes, ends, ids } = self;
        let next = u32::try_from(ends.len()).ok().filter(|&id| id < u32::MAX)?;
        let hash_of = |&v: &u32| xxh3_64(name(bytes, ends, v));
        let entry = ids.entry(xxh3_64(new), |&v| name(bytes, ends, v) == new, hash_of);
        if let hashbrown::hash_table::Entry::Occupied(entry) = entry {
            return Some(*entry.get());
        }
        entry.or_insert(next);
        bytes.extend_from_slice(new);
        ends.push(bytes.len() as u64);
        Some(next)
    }
}

fn name<'a>(bytes: &'a [u8], ends: &[u64], v: u32) -> &'a [u8] {
    let start = if v == 0 { 0 } else { ends[v as usize - 1] };
    &bytes[start as usize..ends[v as usize] as usize]
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_are_numbered_by_first_appearance() {
        let mut names = Names::default();
        let ids: Vec<_> = ["b", "a", "", "b", "18446744073709551615", "a"]
            .iter()
            .map(|n| names.intern(n.as_bytes()).unwrap())
            .collect();
        assert_eq!(ids, [0, 1, 2, 0, 3, 1]);
        assert_eq!(names.at(3), b"18446744073709551615");
        assert_eq!(names.find(b"a"), Some(1));
        assert_eq!(names.find(b"c"), None);
        assert_eq!(names.len(), 4);
    }
}
