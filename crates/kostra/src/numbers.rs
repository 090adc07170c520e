//! Weights that arrive one by one or in parts, whose type is known only at the end.

use crate::weight::{Weight, Weights, each_weights};

/// Integers beyond this are not all `f64` numbers.
const EXACT: u64 = 1 << 53;

/// Weights in the smallest type that holds them all: `u32`, `i32`, `i64` for integers of text, `f64` with decimals. Binary
/// formats bring their own types, of which only `f32` is not among these.
#[derive(Clone, Debug, Default)]
pub(crate) enum Numbers {
    #[default]
    None,
    U32(Vec<u32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// The types of [`Numbers`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    #[default]
    None,
    U32,
    I32,
    I64,
    F32,
    F64,
}

/// Runs an expression with the vector behind any variant; `None` has its own arm.
macro_rules! each_numbers {
    ($numbers:expr, None => $none:expr, $all:ident => $body:expr) => {
        match $numbers {
            $crate::numbers::Numbers::None => $none,
            $crate::numbers::Numbers::U32($all) => $body,
            $crate::numbers::Numbers::I32($all) => $body,
            $crate::numbers::Numbers::I64($all) => $body,
            $crate::numbers::Numbers::F32($all) => $body,
            $crate::numbers::Numbers::F64($all) => $body,
        }
    };
}
pub(crate) use each_numbers;

macro_rules! numbers_from {
    ($($variant:ident $type:ty),*) => {$(
        impl From<Vec<$type>> for Numbers {
            fn from(all: Vec<$type>) -> Self {
                Numbers::$variant(all)
            }
        }
    )*};
}
numbers_from!(U32 u32, I32 i32, I64 i64, F32 f32, F64 f64);

impl From<&Weights<'_>> for Numbers {
    fn from(weights: &Weights) -> Self {
        each_weights!(weights, Unit => Numbers::None, w => w.to_vec().into())
    }
}

impl From<&Weights<'_>> for Kind {
    fn from(weights: &Weights) -> Self {
        match weights {
            Weights::Unit => Kind::None,
            Weights::U32(_) => Kind::U32,
            Weights::I32(_) => Kind::I32,
            Weights::I64(_) => Kind::I64,
            Weights::F32(_) => Kind::F32,
            Weights::F64(_) => Kind::F64,
        }
    }
}

impl Kind {
    pub(crate) const ALL: [Kind; 6] = [Kind::None, Kind::U32, Kind::I32, Kind::I64, Kind::F32, Kind::F64];

    /// The smallest type that holds numbers of both; for `u32` and `i32` the numbers themselves have a say, too.
    fn joined(self, other: Kind) -> Kind {
        let is_float = |kind| matches!(kind, Kind::F32 | Kind::F64);
        match (self, other) {
            (Kind::None, kind) | (kind, Kind::None) => kind,
            (one, other) if one == other => one,
            (one, other) if is_float(one) || is_float(other) => Kind::F64,
            (one, other) => one.max(other),
        }
    }

    /// Bytes of one number.
    pub(crate) fn size(self) -> usize {
        match self {
            Kind::None => 0,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::I64 | Kind::F64 => 8,
        }
    }
}

impl Numbers {
    /// So many zeros.
    pub(crate) fn zeros(kind: Kind, len: usize) -> Self {
        match kind {
            Kind::None => Numbers::None,
            Kind::U32 => Numbers::U32(vec![0; len]),
            Kind::I32 => Numbers::I32(vec![0; len]),
            Kind::I64 => Numbers::I64(vec![0; len]),
            Kind::F32 => Numbers::F32(vec![0.0; len]),
            Kind::F64 => Numbers::F64(vec![0.0; len]),
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, weight: Weight) {
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

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Numbers::None => Kind::None,
            Numbers::U32(_) => Kind::U32,
            Numbers::I32(_) => Kind::I32,
            Numbers::I64(_) => Kind::I64,
            Numbers::F32(_) => Kind::F32,
            Numbers::F64(_) => Kind::F64,
        }
    }

    pub(crate) fn count(&self) -> Option<usize> {
        each_numbers!(self, None => None, all => Some(all.len()))
    }

    /// Forgets all but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        each_numbers!(self, None => {}, all => all.truncate(len));
    }

    /// Makes room for numbers of this kind: the smallest type that holds both.
    pub(crate) fn promote(&mut self, kind: Kind) {
        let kind = self.kind().joined(kind);
        if kind == self.kind() {
            return;
        }
        let taken = std::mem::take(self);
        *self = match (taken, kind) {
            (Numbers::U32(all), Kind::I32) if is_large(&all) => convert_i64(all),
            (Numbers::U32(all), Kind::I32) => Numbers::I32(all.into_iter().map(|w| w as i32).collect()),
            (Numbers::U32(all), Kind::I64) => convert_i64(all),
            (Numbers::I32(all), Kind::I64) => convert_i64(all),
            (Numbers::U32(all), _) => convert_f64(all),
            (Numbers::I32(all), _) => convert_f64(all),
            (Numbers::I64(all), _) => Numbers::F64(all.into_iter().map(|w| w as f64).collect()),
            (Numbers::F32(all), _) => convert_f64(all),
            (other @ Numbers::F64(_), _) => other,
            (Numbers::None, kind) => Numbers::zeros(kind, 0),
        };
    }

    /// Makes two of one type: the smallest that holds the numbers of both.
    pub(crate) fn unify(&mut self, other: &mut Numbers) {
        // Unsigned numbers that no signed one of 32 bits holds.
        fn widen(signed: &mut Numbers, unsigned: &Numbers) {
            if let (Numbers::I32(_), Numbers::U32(all)) = (&*signed, unsigned)
                && is_large(all)
            {
                signed.promote(Kind::I64);
            }
        }
        widen(self, other);
        widen(other, self);
        self.promote(other.kind());
        other.promote(self.kind());
    }

    /// Adds the numbers of the next part and leaves it empty.
    pub(crate) fn append(&mut self, part: &mut Numbers) {
        self.unify(part);
        match (self, part) {
            (Numbers::U32(all), Numbers::U32(more)) => all.append(more),
            (Numbers::I32(all), Numbers::I32(more)) => all.append(more),
            (Numbers::I64(all), Numbers::I64(more)) => all.append(more),
            (Numbers::F32(all), Numbers::F32(more)) => all.append(more),
            (Numbers::F64(all), Numbers::F64(more)) => all.append(more),
            (_, rest) => debug_assert!(rest.kind() == Kind::None, "unification made the kinds equal"),
        }
    }

    /// Whether there are integers that are not exactly `f64` numbers.
    pub(crate) fn is_beyond_floats(&self) -> bool {
        matches!(self, Numbers::I64(all) if are_beyond_floats(all))
    }

    /// The numbers as weights.
    pub(crate) fn weights(&self) -> Weights<'_> {
        each_numbers!(self, None => Weights::Unit, all => Weights::from(all))
    }

    pub(crate) fn into_weights(self) -> Weights<'static> {
        fn tight<T>(mut all: Vec<T>) -> Vec<T> {
            all.shrink_to_fit();
            all
        }
        each_numbers!(self, None => Weights::Unit, all => tight(all).into())
    }
}

/// Whether some of these are not exactly `f64` numbers.
pub(crate) fn are_beyond_floats(all: &[i64]) -> bool {
    all.iter().fold(false, |any, w| any | (w.unsigned_abs() > EXACT))
}

fn is_large(all: &[u32]) -> bool {
    all.iter().fold(false, |any, &w| any | (w > i32::MAX as u32))
}

fn convert_i64<T: Into<i64>>(all: Vec<T>) -> Numbers {
    Numbers::I64(all.into_iter().map(Into::into).collect())
}

fn convert_f64<T: Into<f64>>(all: Vec<T>) -> Numbers {
    Numbers::F64(all.into_iter().map(Into::into).collect())
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
