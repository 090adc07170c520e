//! Reading numbers and fields out of lines of text, fast.
//!
//! Eight bytes are looked at together: which are digits is a mask, and up to eight digits become a number by three
//! multiplications without a branch per digit.

use crate::weight::Weight;

/// Bytes that must follow the last line of a [`Cursor`]'s text, so that eight can always be loaded at once.
pub(super) const PADDING: usize = 8;

/// How to read ids of edge lists and tables that are no small numbers.
pub(super) const SPARSE: &str = "--ids sparse takes any ids and names, and numbers only those in use";

const MISSING: &str = "a vertex id is missing at the end of the line";

/// What is wrong with a line, in words.
pub(super) type Line<T> = Result<T, String>;

/// A position in a block of whole lines, whose fields are separated by `DELIMITER`; a space stands for any blanks.
pub(super) struct Cursor<'a, const DELIMITER: u8> {
    text: &'a [u8],
    at: usize,
    end: usize,
}

/// A position in lines whose fields are separated by blanks.
pub(super) type Words<'a> = Cursor<'a, b' '>;

impl<'a, const DELIMITER: u8> Cursor<'a, DELIMITER> {
    /// Starts at the first line of `text`, whose last [`PADDING`] bytes are not lines.
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, end: text.len().saturating_sub(PADDING) }
    }

    /// Whether all lines are read.
    #[inline(always)]
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.end
    }

    /// The byte at the cursor.
    #[inline(always)]
    pub(super) fn byte(&self) -> u8 {
        self.text[self.at]
    }

    /// Steps over the letter that marks a kind of line, with a blank behind it; false if the line is of another kind.
    #[inline(always)]
    pub(super) fn take_mark(&mut self, mark: u8) -> bool {
        let is_mark = self.byte() == mark && matches!(self.text[self.at + 1], b' ' | b'\t');
        self.at += usize::from(is_mark);
        is_mark
    }

    /// Steps over one byte.
    #[inline(always)]
    pub(super) fn step(&mut self) {
        self.at += 1;
    }

    /// Steps over spaces and tabs, except the delimiter of a table.
    #[inline(always)]
    pub(super) fn skip_blanks(&mut self) {
        while self.byte() == b' ' || (self.byte() == b'\t' && DELIMITER != b'\t') {
            self.at += 1;
        }
    }

    /// Whether nothing but blanks is left of the line.
    #[inline(always)]
    pub(super) fn at_line_end(&mut self) -> bool {
        self.skip_blanks();
        matches!(self.byte(), b'\n' | b'\r')
    }

    /// Goes on to the next line; an error if this one has more fields.
    #[inline(always)]
    pub(super) fn end_line(&mut self) -> Line<()> {
        if !self.at_line_end() {
            return Err(format!("unexpected {} after the last field", self.shown()));
        }
        if self.byte() == b'\r' {
            self.at += 1;
            if self.byte() != b'\n' {
                return Err("a carriage return in the middle of the line; convert the file's line ends".into());
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Goes on to the next line, whatever is left of this one.
    #[inline(always)]
    pub(super) fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }

    /// Steps over the delimiter between two fields of a table; false at the end of the line.
    #[inline(always)]
    pub(super) fn next_field(&mut self) -> bool {
        let more = self.byte() == DELIMITER;
        self.at += usize::from(more);
        more
    }

    /// The line of a table that is nothing but two vertex ids and, if `weighted`, a whole number, as most are; the cursor is
    /// then behind it, else where it was.
    #[inline(always)]
    pub(super) fn plain_row(&mut self, weighted: bool) -> Option<(u32, u32, Option<Weight>)> {
        let start = self.at;
        let row = self.take_plain_row(weighted);
        if row.is_none() {
            self.at = start;
        }
        row
    }

    #[inline(always)]
    fn take_plain_row(&mut self, weighted: bool) -> Option<(u32, u32, Option<Weight>)> {
        let u = self.plain_number(u32::MAX.into(), false)?;
        let v = self.plain_number(u32::MAX.into(), !weighted)?;
        let w = if weighted { Some(Weight::Integer(self.plain_number(1 << 63, true)? as i64)) } else { None };
        self.at += usize::from(self.byte() == b'\r');
        let is_end = self.byte() == b'\n';
        self.at += 1;
        is_end.then_some((u as u32, v as u32, w))
    }

    /// A whole number below `limit`, with the delimiter behind it unless it is the last.
    #[inline(always)]
    fn plain_number(&mut self, limit: u64, is_last: bool) -> Option<u64> {
        let number = self.digits().filter(|&number| number < limit)?;
        (is_last || self.next_field()).then_some(number)
    }

    #[inline(always)]
    fn ends_field(&self, byte: u8) -> bool {
        byte <= b' ' || byte == DELIMITER
    }

    /// Up to eight digits at the cursor: how many, and their value.
    #[inline(always)]
    fn eight(&self) -> (u32, u64) {
        let Some(&chunk) = self.text[self.at..].first_chunk::<8>() else { return (0, 0) };
        let digits = u64::from_le_bytes(chunk) ^ 0x3030_3030_3030_3030;
        // The high bit of every byte that is not 0..=9; carries run upwards only, so the lowest such byte is exact.
        let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
        let count = others.trailing_zeros() / 8;
        if count == 0 {
            return (0, 0);
        }
        // Leading zeros in front, then pairs, fours and eights.
        let digits = digits << (64 - 8 * count);
        let pairs = (digits & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(10 * 256 + 1) >> 8;
        let fours = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(100 * 65536 + 1) >> 16;
        let value = (fours & 0x0000_ffff_0000_ffff).wrapping_mul(10000 * (1 << 32) + 1) >> 32;
        (count, value)
    }

    /// A run of digits, if it is one and fits; the cursor is then behind it, else where it was.
    #[inline(always)]
    fn digits(&mut self) -> Option<u64> {
        let start = self.at;
        let (count, mut value) = self.eight();
        self.at += count as usize;
        if count == 8 {
            while self.byte().is_ascii_digit() {
                let digit = u64::from(self.byte() - b'0');
                let Some(next) = value.checked_mul(10).and_then(|v| v.checked_add(digit)) else {
                    self.at = start;
                    return None;
                };
                value = next;
                self.at += 1;
            }
        }
        if count == 0 || !self.ends_field(self.byte()) {
            self.at = start;
            return None;
        }
        Some(value)
    }

    /// A vertex of a file whose header says that there are `limit`, at most 2^32 - 1. `first` is what the format calls its first
    /// vertex, 0 or 1.
    #[inline(always)]
    pub(super) fn vertex(&mut self, first: u64, limit: u64) -> Line<u32> {
        self.skip_blanks();
        match self.digits().map(|id| id.wrapping_sub(first)) {
            Some(id) if id < limit => Ok(id as u32),
            wrong => Err(self.vertex_error(wrong.map(|id| id.wrapping_add(first)), first, limit)),
        }
    }

    /// A vertex, counted from 0, of a file that does not say how many there are. `way_out` says how to read ids that are not so.
    #[inline(always)]
    pub(super) fn any_vertex(&mut self, way_out: &str) -> Line<u32> {
        self.skip_blanks();
        match self.digits() {
            Some(id) if id < u32::MAX.into() => Ok(id as u32),
            wrong => Err(self.any_vertex_error(wrong, way_out)),
        }
    }

    /// What is wrong with an id: the number before the cursor, or whatever is at it.
    #[cold]
    fn vertex_error(&self, id: Option<u64>, first: u64, limit: u64) -> String {
        match id.map(|id| id.to_string()).or_else(|| self.integer()) {
            Some(id) if limit == 0 => format!("vertex {id}, but the header says that there are no vertices"),
            Some(id) => format!("vertex {id} is outside {first} to {}, the header's range", limit - 1 + first),
            None if self.token().is_empty() => MISSING.into(),
            None => format!("{} stands where a vertex id belongs; they are counted from {first} here", self.shown()),
        }
    }

    /// The same where the way out is told.
    #[cold]
    fn any_vertex_error(&self, id: Option<u64>, way_out: &str) -> String {
        match id.map(|id| id.to_string()).or_else(|| self.integer()) {
            Some(id) if id.starts_with("\"-") => format!("vertex id {id} is negative; {way_out}"),
            Some(id) => format!("vertex id {id} does not fit in 32 bits; {way_out}"),
            None if self.token().is_empty() => MISSING.into(),
            None => format!("{} stands where a vertex id belongs; {way_out}", self.shown()),
        }
    }

    /// The field at the cursor if it is an integer, of whatever length; in quotes, as messages show it.
    fn integer(&self) -> Option<String> {
        let token = self.token();
        let digits = token.strip_prefix(b"-").unwrap_or(token);
        (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then(|| self.shown())
    }

    /// A count in a header.
    pub(super) fn count(&mut self, what: &str) -> Line<u64> {
        self.skip_blanks();
        self.digits().ok_or_else(|| match self.token() {
            b"" => format!("the number of {what} is missing"),
            _ => format!("{} stands where the number of {what} belongs", self.shown()),
        })
    }

    /// A weight: an integer of at most 64 bits, or a decimal.
    #[inline(always)]
    pub(super) fn weight(&mut self) -> Line<Weight> {
        self.skip_blanks();
        let start = self.at;
        match self.digits() {
            Some(w) if w <= i64::MAX as u64 => Ok(Weight::Integer(w as i64)),
            _ => {
                self.at = start;
                self.other_weight()
            }
        }
    }

    /// A weight of a file that says that all are floats, also where they are written without a point.
    #[inline(always)]
    pub(super) fn real(&mut self) -> Line<Weight> {
        match self.weight() {
            Ok(Weight::Integer(w)) => Ok(Weight::Float(w as f64)),
            Err(what) => {
                // Where the cursor still stands: perhaps an integer too long for 64 bits.
                let token = self.token();
                let is_integer = token.iter().any(u8::is_ascii_digit) && !token.iter().any(u8::is_ascii_alphabetic);
                let weight =
                    if is_integer { parse_weight(&[token, b".0"].concat()).map_err(|_| what) } else { Err(what) };
                self.at += token.len();
                weight
            }
            other => other,
        }
    }

    /// A weight with a sign, a point or an exponent.
    fn other_weight(&mut self) -> Line<Weight> {
        let token = self.token();
        let weight = parse_weight(token)?;
        self.at += token.len();
        Ok(weight)
    }

    /// The bytes up to the end of the field.
    pub(super) fn token(&self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        &rest[..rest.iter().position(|&b| self.ends_field(b)).unwrap_or(rest.len())]
    }

    /// The bytes up to the end of the field; the cursor is then behind them.
    pub(super) fn take_token(&mut self) -> &'a [u8] {
        let token = self.token();
        self.at += token.len();
        token
    }

    /// The bytes up to the delimiter or the end of the line, blanks included; the cursor is then behind them.
    pub(super) fn take_cell(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let len = memchr::memchr2(DELIMITER, b'\n', rest).unwrap_or(rest.len());
        self.at += len;
        rest[..len].strip_suffix(b"\r").unwrap_or(&rest[..len])
    }

    /// What stands at the cursor, for a message.
    fn shown(&self) -> String {
        shown(self.token())
    }
}

/// A weight written alone: an integer of at most 64 bits, or a decimal.
pub(super) fn parse_weight(token: &[u8]) -> Line<Weight> {
    let unsigned = token.strip_prefix(b"-").or(token.strip_prefix(b"+")).unwrap_or(token);
    if unsigned.is_empty() {
        return Err("a weight is missing".into());
    }
    let plain = token.strip_prefix(b"+").unwrap_or(token);
    if unsigned.iter().all(u8::is_ascii_digit) {
        return match std::str::from_utf8(plain).ok().and_then(|digits| digits.parse().ok()) {
            Some(w) => Ok(Weight::Integer(w)),
            None => Err(format!(
                "weight {} is too large for a 64-bit integer; write it with a decimal point to have it read as a float",
                shown(token)
            )),
        };
    }
    // "+-1" and "+inf" are fine to the parser after the sign is taken off only when they are numbers.
    if plain.len() != token.len() && plain.starts_with(b"-") {
        return Err(format!("{} stands where a weight belongs", shown(token)));
    }
    let Ok(w) = fast_float2::parse::<f64, _>(plain) else {
        return Err(format!("{} stands where a weight belongs", shown(token)));
    };
    if w.is_nan() {
        return Err("the weight is NaN, which has no place in an order; remove the edge or give it a weight".into());
    }
    if w.is_infinite() && unsigned[0].is_ascii_digit() {
        return Err(format!("weight {} is too large for a 64-bit float; write inf if infinity is meant", shown(token)));
    }
    Ok(Weight::Float(w))
}

/// A token, cut short and without control characters.
pub(super) fn shown(token: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&token[..token.len().min(LONGEST)]);
    format!("{text:?}{}", if token.len() > LONGEST { "..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(line: &str) -> Vec<u8> {
        [line.as_bytes(), b"\n", &[b'\n'; PADDING]].concat()
    }

    fn weight(line: &str) -> Line<Weight> {
        Words::new(&padded(line)).weight()
    }

    fn vertex(line: &str, first: u64, limit: u64) -> Line<u32> {
        Words::new(&padded(line)).vertex(first, limit)
    }

    #[test]
    fn vertices_of_every_length() {
        let mut id = 0u64;
        while id < u64::from(u32::MAX) {
            assert_eq!(vertex(&format!("  {id} x"), 0, u32::MAX.into()), Ok(id as u32));
            id = id * 3 + 1;
        }
        assert_eq!(vertex("00000000000000000000000012", 0, 13), Ok(12));
    }

    #[test]
    fn wrong_vertices_say_why() {
        let says = |line: &str, first, limit, part: &str| {
            let message = vertex(line, first, limit).expect_err(line);
            assert!(message.contains(part), "{line}: {message}");
        };
        says("0", 1, 5, "vertex 0 is outside 1 to 5");
        says("6", 1, 5, "vertex 6 is outside 1 to 5");
        says("99999999999999999999999", 0, 9, "vertex \"99999999999999999999999\" is outside 0 to 8");
        says("-3", 1, 9, "vertex \"-3\" is outside 1 to 9");
        says("5", 1, 0, "no vertices");
        says("", 0, 9, "missing");
        says("1.5", 0, 9, "where a vertex id belongs");
        says("7a", 0, 9, "\"7a\" stands where a vertex id belongs; they are counted from 0 here");
        for (line, expected) in [
            ("4294967295", "vertex id 4294967295 does not fit in 32 bits; do so"),
            ("99999999999999999999999", "vertex id \"99999999999999999999999\" does not fit in 32 bits; do so"),
            ("-3", "vertex id \"-3\" is negative; do so"),
            ("7a", "\"7a\" stands where a vertex id belongs; do so"),
            ("", "a vertex id is missing at the end of the line"),
        ] {
            assert_eq!(Words::new(&padded(line)).any_vertex("do so").expect_err(line), expected);
        }
    }

    #[test]
    fn plain_rows_are_taken_whole_or_not_at_all() {
        let row = |line: &str, weighted| {
            let text = padded(line);
            let mut cursor = Cursor::<b','>::new(&text);
            let row = cursor.plain_row(weighted);
            (row, cursor.at)
        };
        let weight = |w| Some(Weight::Integer(w));
        assert_eq!(row("1,22,333", true), (Some((1, 22, weight(333))), 9));
        assert_eq!(row("1,22\r", false), (Some((1, 22, None)), 6));
        assert_eq!(row("4294967294,0,9223372036854775807", true).0, Some((4294967294, 0, weight(i64::MAX))));
        for line in
            ["", "#", "1", "1,", "1,2", "1,2,", "1,2,-3", "1,2,3.5", " 1,2,3", "1, 2,3", "1,2,3 ", "1,2,3,4", "x,2,3"]
        {
            assert_eq!(row(line, true), (None, 0), "{line}");
        }
        for line in ["4294967295,2", "1,4294967295", "1,2,3", "1,2\r3", "\"1\",2"] {
            assert_eq!(row(line, false), (None, 0), "{line}");
        }
        assert_eq!(row("1,2,9223372036854775808", true), (None, 0));
    }

    #[test]
    fn weights_keep_their_kind() {
        assert_eq!(weight("0"), Ok(Weight::Integer(0)));
        assert_eq!(weight("-12 "), Ok(Weight::Integer(-12)));
        assert_eq!(weight("+7"), Ok(Weight::Integer(7)));
        assert_eq!(weight("123456789012"), Ok(Weight::Integer(123456789012)));
        assert_eq!(weight("9223372036854775807"), Ok(Weight::Integer(i64::MAX)));
        assert_eq!(weight("-9223372036854775808"), Ok(Weight::Integer(i64::MIN)));
        assert_eq!(weight("1.0"), Ok(Weight::Float(1.0)));
        assert_eq!(weight("12345678.5"), Ok(Weight::Float(12345678.5)));
        assert_eq!(weight("-2.5e-3"), Ok(Weight::Float(-0.0025)));
        assert_eq!(weight(".5"), Ok(Weight::Float(0.5)));
        assert_eq!(weight("1e3"), Ok(Weight::Float(1000.0)));
        assert_eq!(weight("inf"), Ok(Weight::Float(f64::INFINITY)));
        assert_eq!(weight("-Infinity"), Ok(Weight::Float(f64::NEG_INFINITY)));
    }

    #[test]
    fn wrong_weights_say_why() {
        for (line, part) in [
            ("", "missing"),
            ("-", "missing"),
            ("nan", "NaN"),
            ("9223372036854775808", "too large"),
            ("1e999", "too large"),
            ("abc", "\"abc\""),
            ("1.2.3", "\"1.2.3\""),
            ("+-1.5", "\"+-1.5\""),
        ] {
            let message = weight(line).expect_err(line);
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
