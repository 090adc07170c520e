//! Weights as they come from a file: of text, whose type is known only at the end, or of a binary table, whose is known.

use crate::weight::{Weight, Weights};

/// Weights of text in the smallest type that holds them all: `u32`, `i32`, `i64` for integers, `f64` with decimals; weights
/// of a table in the type of their column.
pub(super) enum Numbers {
    None,
    U32(Vec<u32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    /// Never from text.
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// The types of [`Numbers`], each with room for more than the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    None,
    U32,
    I32,
    I64,
    F32,
    F64,
}

impl Numbers {
    #[inline(always)]
    pub(super) fn push(&mut self, weight: Weight) {
        match (&mut *self, weight) {
            (Numbers::U32(all), Weight::Integer(w)) if u32::try_from(w).is_ok() => all.push(w as u32),
            (Numbers::F64(all), Weight::Float(w)) => all.push(w),
            _ => self.push_other(weight),
        }
    }

    #[inline(never)]
    fn push_other(&mut self, weight: Weight) {
        let kind = match weight {
            Weight::Integer(w) if u32::try_from(w).is_ok() => match self {
                Numbers::I32(_) if w > i32::MAX.into() => Kind::I64,
                _ => Kind::U32,
            },
            Weight::Integer(w) if i32::try_from(w).is_ok() => Kind::I32,
            Weight::Integer(_) => Kind::I64,
            Weight::Float(_) => Kind::F64,
        };
        self.promote(kind);
        match (self, weight) {
            (Numbers::U32(all), Weight::Integer(w)) => all.push(w as u32),
            (Numbers::I32(all), Weight::Integer(w)) => all.push(w as i32),
            (Numbers::I64(all), Weight::Integer(w)) => all.push(w),
            (Numbers::F64(all), Weight::Integer(w)) => all.push(w as f64),
            (Numbers::F64(all), Weight::Float(w)) => all.push(w),
            _ => unreachable!("promotion made room for the weight"),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Numbers::None => Kind::None,
            Numbers::U32(_) => Kind::U32,
            Numbers::I32(_) => Kind::I32,
            Numbers::I64(_) => Kind::I64,
            Numbers::F32(_) => Kind::F32,
            Numbers::F64(_) => Kind::F64,
        }
    }

    /// Makes room for numbers of this kind: the smallest type that holds both.
    pub(super) fn promote(&mut self, kind: Kind) {
        if kind <= self.kind() {
            return;
        }
        let taken = std::mem::replace(self, Numbers::None);
        *self = match (taken, kind) {
            (Numbers::U32(all), Kind::I32) if all.iter().any(|&w| w > i32::MAX as u32) => convert_i64(all),
            (Numbers::U32(all), Kind::I32) => Numbers::I32(all.into_iter().map(|w| w as i32).collect()),
            (Numbers::U32(all), Kind::I64) => convert_i64(all),
            (Numbers::I32(all), Kind::I64) => convert_i64(all),
            (Numbers::U32(all), _) => Numbers::F64(all.into_iter().map(f64::from).collect()),
            (Numbers::I32(all), _) => Numbers::F64(all.into_iter().map(f64::from).collect()),
            (Numbers::I64(all), _) => Numbers::F64(all.into_iter().map(|w| w as f64).collect()),
            (Numbers::F32(all), _) => Numbers::F64(all.into_iter().map(f64::from).collect()),
            (_, Kind::U32) => Numbers::U32(Vec::new()),
            (_, Kind::I32) => Numbers::I32(Vec::new()),
            (_, Kind::I64) => Numbers::I64(Vec::new()),
            (_, Kind::F32) => Numbers::F32(Vec::new()),
            (other, _) => match other {
                Numbers::F64(_) => other,
                _ => Numbers::F64(Vec::new()),
            },
        };
    }

    /// Adds the numbers of the next block and leaves it empty.
    pub(super) fn append(&mut self, part: &mut Numbers) {
        if let (Numbers::I32(_), Numbers::U32(all)) = (&*self, &*part)
            && all.iter().any(|&w| w > i32::MAX as u32)
        {
            self.promote(Kind::I64);
        }
        self.promote(part.kind());
        part.promote(self.kind());
        // Integers beside singles are doubles, which neither was before.
        self.promote(part.kind());
        match (self, part) {
            (Numbers::U32(all), Numbers::U32(more)) => all.append(more),
            (Numbers::I32(all), Numbers::I32(more)) => all.append(more),
            (Numbers::I64(all), Numbers::I64(more)) => all.append(more),
            (Numbers::F32(all), Numbers::F32(more)) => all.append(more),
            (Numbers::F64(all), Numbers::F64(more)) => all.append(more),
            (_, rest) => debug_assert!(rest.kind() == Kind::None, "promotion made the kinds equal"),
        }
    }

    pub(super) fn into_weights(self) -> Weights<'static> {
        fn tight<T>(mut all: Vec<T>) -> Vec<T> {
            all.shrink_to_fit();
            all
        }
        match self {
            Numbers::None => Weights::Unit,
            Numbers::U32(all) => tight(all).into(),
            Numbers::I32(all) => tight(all).into(),
            Numbers::I64(all) => tight(all).into(),
            Numbers::F32(all) => tight(all).into(),
            Numbers::F64(all) => tight(all).into(),
        }
    }
}

fn convert_i64<T: Into<i64>>(all: Vec<T>) -> Numbers {
    Numbers::I64(all.into_iter().map(Into::into).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(blocks: &[&[Weight]]) -> &'static str {
        let mut all = Numbers::None;
        for block in blocks {
            let mut part = Numbers::None;
            block.iter().for_each(|&w| part.push(w));
            all.append(&mut part);
        }
        let weights = all.into_weights();
        for (e, &w) in blocks.iter().copied().flatten().enumerate() {
            match (weights.at(e), w) {
                (Weight::Float(kept), Weight::Integer(w)) => assert_eq!(kept, w as f64),
                (kept, w) => assert_eq!(kept, w),
            }
        }
        weights.type_name()
    }

    #[test]
    fn numbers_take_the_smallest_type_however_they_are_cut_into_blocks() {
        use Weight::{Float, Integer};
        let big = Integer(u32::MAX.into());
        for (numbers, kind) in [
            (vec![Integer(0), big], "u32"),
            (vec![Integer(7), Integer(-7)], "i32"),
            (vec![big, Integer(-1)], "i64"),
            (vec![Integer(-1), big], "i64"),
            (vec![Integer(1), Integer(1 << 40)], "i64"),
            (vec![Integer(i64::MIN), Integer(3)], "i64"),
            (vec![Integer(3), Float(0.5), Integer(-4), big], "f64"),
            (vec![Integer(1 << 40), Float(0.5)], "f64"),
        ] {
            assert_eq!(kind_of(&[&numbers]), kind);
            for cut in 0..=numbers.len() {
                assert_eq!(kind_of(&[&numbers[..cut], &numbers[cut..]]), kind, "{numbers:?} cut at {cut}");
            }
        }
        assert_eq!(kind_of(&[]), "unit");
    }
}
