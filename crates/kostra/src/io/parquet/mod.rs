//! Parquet tables of edges, by their columns: no rows are put together and nothing of Arrow is needed, because the two or
//! three columns of an edge are flat.
//!
//! A [`Table`] is an open file whose footer has been checked against the file's size, so that nothing it says is trusted
//! with memory. It names its [`Part`]s, stretches of at most [`ROWS`] rows inside one row group, and any thread can turn any
//! part into edges: the pages before it are stepped over, not decompressed. [`read`] does so on all threads and joins the
//! parts in file order; a part for every thread is all that is in memory beside what becomes of them.

mod pages;
mod place;
mod schema;
mod write;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use half::f16;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use rayon::prelude::*;

use self::pages::Checked;
use self::place::Place;
use self::schema::{Column, Kind, Role, find, vertices};
pub(super) use self::write::write;
use super::columns::Columns;
use super::edge_list::intern;
use super::edges::{Edges, Keep, Taker, check_meant};
use super::source::{Source, Spot};
use super::{Ids, ReadOptions};
use crate::error::{Error, Result};
use crate::numbers::Numbers;
use crate::weight::first;

/// Rows of a part, and of a row group that is written: enough that pages and threads are large, few enough that a part for
/// every thread of a large machine is little memory.
const ROWS: usize = 1 << 20;

/// Rows of a part where edges are passed on rather than kept, and memory may be little.
const FEWER_ROWS: usize = 1 << 17;

/// The entry of the footer with the number of vertices, which the edges alone may not show.
const VERTICES: &str = "kostra.vertices";

pub(super) fn read(source: &mut Source, options: &ReadOptions, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let mut table = Table::open(source, options.ids, options.columns.as_ref(), taker.keeps_all())?;
    if taker.keeps_all() && table.rows > u32::MAX.into() {
        return Err(Error::TooLarge { what: "edges", count: table.rows });
    }
    if !taker.keeps_all() {
        table.at_a_time = FEWER_ROWS;
    }
    let resume = taker.resume();
    if resume.is_some_and(|resume| resume.spot.hash != table.hash) {
        return Err(source.is_other());
    }
    let mut edges = taker.begin(Keep::All)?;
    edges.entries = resume.map_or(0, |resume| resume.entries);
    edges.part.weights.append(&mut table.no_weights());
    let done = edges.entries;
    let mut parts = table.parts().skip_while(|part| part.first < done);
    loop {
        let wave: Vec<Part> = parts.by_ref().take(rayon::current_num_threads()).collect();
        let Some(last) = wave.last() else { break };
        let read: Vec<Result<Edges>> = wave.par_iter().map(|part| table.read(part)).collect();
        for part in read {
            let mut part = part?;
            if taker.keeps_all() && edges.part.src.is_empty() {
                edges.reserve(&part, table.rows as f64 / part.part.src.len() as f64);
            }
            edges.append(&mut part)?;
            edges.spot = Spot { offset: edges.entries, hash: table.hash, ..Spot::default() };
            taker.take(&mut edges)?;
        }
        source.watch().step("read", table.bytes_of(last.first + last.rows as u64), source.size())?;
    }
    drop(parts);
    match table.vertices {
        said if edges.names.is_empty() && said >= edges.vertices => {
            check_meant(said, edges.entries, &source.name())?;
            Ok((edges, said))
        }
        _ => edges.listed(None, source),
    }
}

/// An open file, its columns found and its footer checked.
struct Table {
    file: String,
    reader: SerializedFileReader<Place>,
    /// Rows of a part.
    at_a_time: usize,
    source: Column,
    target: Column,
    weight: Option<Column>,
    ids: Ids,
    /// The number of vertices if the file tells it, else 0.
    vertices: u64,
    /// The number of rows, as the footer says.
    rows: u64,
    /// Of the whole file where it is read in parts and no time tells if it is another; else 0.
    hash: u64,
}

/// A stretch of rows of one row group.
struct Part {
    group: usize,
    /// Its first row in the row group.
    start: usize,
    /// Its first row in the file, counted from 0: the id of its first edge.
    first: u64,
    rows: usize,
}

impl Table {
    /// Opens the file. If it is a plain one it is mapped, or read where it lies (`whole` or not); else it is read whole.
    fn open(source: &mut Source, ids: Ids, wanted: Option<&Columns>, whole: bool) -> Result<Self> {
        let place = Place::of(source, whole)?;
        let (size, hash) = (place.len(), if whole { 0 } else { place.hash() });
        let reader = guarded(|| SerializedFileReader::new(place)).map_err(|error| damaged(&source.name(), &error))?;
        let fields = reader.metadata().file_metadata().schema_descr().root_schema().get_fields();
        let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
        let found = find(&names, wanted).map_err(|what| source.error(what))?;
        let column = |at: usize, role: Role| Column::find(&names[at], role, ids, reader.metadata());
        let column = |at, role| column(at, role).map_err(|what| source.error(what));
        let table = Self {
            file: source.name(),
            source: column(found.source, Role::Vertex)?,
            target: column(found.target, Role::Vertex)?,
            weight: found.weight.map(|at| column(at, Role::Weight)).transpose()?,
            ids,
            vertices: vertices(reader.metadata()).map_err(|what| source.error(what))?,
            rows: 0,
            hash,
            at_a_time: ROWS,
            reader,
        };
        let rows = table.check(size).map_err(|what| source.error(what))?;
        Ok(Self { rows, ..table })
    }

    fn columns(&self) -> impl Iterator<Item = &Column> {
        [&self.source, &self.target].into_iter().chain(&self.weight)
    }

    /// Proves that what the footer says of our columns lies in a file of `size` bytes; returns the number of rows.
    fn check(&self, size: u64) -> Result<u64, String> {
        let metadata = self.reader.metadata();
        let mut rows = 0u64;
        for (i, group) in metadata.row_groups().iter().enumerate() {
            let wrong = |what: &str| Err(format!("row group {i}: {what}; the file is damaged, get it again"));
            let Some(sum) = u64::try_from(group.num_rows()).ok().and_then(|count| rows.checked_add(count)) else {
                return wrong("its number of rows is impossible");
            };
            rows = sum;
            if group.columns().len() != metadata.file_metadata().schema_descr().num_columns() {
                return wrong("it has other columns than the file");
            }
            for Column { index, name, .. } in self.columns() {
                let chunk = group.column(*index);
                if chunk.file_path().is_some() {
                    return Err(format!("column {name:?} is in another file; write the table as one file"));
                }
                if matches!(chunk.compression(), Compression::BROTLI(_) | Compression::LZO) {
                    let codec = chunk.compression();
                    return Err(format!("is compressed with {codec}; write it with zstd, snappy, gzip or lz4"));
                }
                let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
                let range = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
                if range.and_then(|(start, len)| start.checked_add(len)).is_none_or(|end| end > size) {
                    return wrong(&format!("column {name:?} does not lie in the file"));
                }
                if chunk.num_values() != group.num_rows() {
                    return wrong(&format!("column {name:?} has {} values", chunk.num_values()));
                }
            }
        }
        Ok(rows)
    }

    /// The parts in file order; there is nothing to hold for them, however many rows the footer promises.
    fn parts(&self) -> impl Iterator<Item = Part> {
        let (mut before, at_a_time) = (0, self.at_a_time);
        self.reader.metadata().row_groups().iter().enumerate().flat_map(move |(group, metadata)| {
            let (count, first) = (metadata.num_rows() as usize, before);
            before += count as u64;
            let part =
                move |start| Part { group, start, first: first + start as u64, rows: at_a_time.min(count - start) };
            (0..count).step_by(at_a_time).map(part)
        })
    }

    /// The edges of a part; where ids are sparse, with names of its own.
    fn read(&self, part: &Part) -> Result<Edges> {
        let mut edges = Edges::new(Keep::All);
        match self.ids {
            Ids::Dense => {
                edges.part.src = self.vertices_of(&self.source, part)?;
                edges.part.dst = self.vertices_of(&self.target, part)?;
            }
            Ids::Sparse => self.read_names(part, &mut edges)?,
        }
        if let Some(weight) = &self.weight {
            edges.part.weights = self.weights_of(weight, part)?;
        }
        edges.entries = part.rows as u64;
        edges.count_vertices();
        Ok(edges)
    }

    /// About how many bytes of the file so many rows are.
    fn bytes_of(&self, rows: u64) -> u64 {
        let size = self.reader.metadata().row_groups().iter().map(|group| group.compressed_size()).sum::<i64>();
        (size as f64 * rows as f64 / self.rows.max(1) as f64) as u64
    }

    /// Numbers without any, in the type of the weights.
    fn no_weights(&self) -> Numbers {
        match self.weight.as_ref().map(|column| column.kind) {
            None => Numbers::None,
            Some(Kind::U32) => Numbers::U32(Vec::new()),
            Some(Kind::I32) => Numbers::I32(Vec::new()),
            Some(Kind::F16 | Kind::F32) => Numbers::F32(Vec::new()),
            Some(Kind::F64) => Numbers::F64(Vec::new()),
            Some(Kind::I64 | Kind::U64 | Kind::Text) => Numbers::I64(Vec::new()),
        }
    }

    fn vertices_of(&self, column: &Column, part: &Part) -> Result<Vec<u32>> {
        let wrong = |at: Option<usize>, id: &dyn Fn(usize) -> i128| match at {
            None => Ok(()),
            Some(at) if id(at) < 0 => Err(self.row_error(
                part,
                at,
                column,
                format!("vertex id {} is negative; --ids sparse takes it", id(at)),
            )),
            Some(at) => {
                let what = format!("vertex id {} does not fit in 32 bits; --ids sparse takes it", id(at));
                Err(self.row_error(part, at, column, what))
            }
        };
        match self.values(column, part)? {
            Values::I32(ids) if column.kind == Kind::I32 => {
                wrong(first(&ids, |id| id < 0), &|at| ids[at].into())?;
                Ok(bytemuck::cast_vec(ids))
            }
            Values::I32(ids) => {
                let ids: Vec<u32> = bytemuck::cast_vec(ids);
                wrong(first(&ids, |id| id == u32::MAX), &|at| ids[at].into())?;
                Ok(ids)
            }
            Values::I64(ids) if column.kind == Kind::I64 => {
                wrong(first(&ids, |id| !(0..i64::from(u32::MAX)).contains(&id)), &|at| ids[at].into())?;
                Ok(ids.into_iter().map(|id| id as u32).collect())
            }
            Values::I64(ids) => {
                wrong(first(&ids, |id| id as u64 >= u32::MAX.into()), &|at| (ids[at] as u64).into())?;
                Ok(ids.into_iter().map(|id| id as u32).collect())
            }
            _ => Err(self.error("its columns changed while it was read")),
        }
    }

    /// Numbers the names of a part in the order in which they appear, row by row.
    fn read_names(&self, part: &Part, edges: &mut Edges) -> Result<()> {
        let (sources, targets) = (self.values(&self.source, part)?, self.values(&self.target, part)?);
        let mut digits = itoa::Buffer::new();
        for row in 0..part.rows {
            let mut name = |column: &Column, values: &Values| {
                let name = match values {
                    Values::I32(ids) if column.kind == Kind::I32 => digits.format(ids[row]).as_bytes(),
                    Values::I32(ids) => digits.format(ids[row] as u32).as_bytes(),
                    Values::I64(ids) if column.kind == Kind::I64 => digits.format(ids[row]).as_bytes(),
                    Values::I64(ids) => digits.format(ids[row] as u64).as_bytes(),
                    Values::Text(names) => names[row].data(),
                    Values::F32(_) | Values::F64(_) => b"",
                };
                intern(name, edges).map_err(|what| self.row_error(part, row, column, what))
            };
            let (u, v) = (name(&self.source, &sources)?, name(&self.target, &targets)?);
            edges.part.src.push(u);
            edges.part.dst.push(v);
        }
        Ok(())
    }

    fn weights_of(&self, column: &Column, part: &Part) -> Result<Numbers> {
        let nan = |at: Option<usize>| match at {
            None => Ok(()),
            Some(at) => {
                let what = "the weight is NaN, which has no place in an order; remove the row or give it a weight";
                Err(self.row_error(part, at, column, what.into()))
            }
        };
        match self.values(column, part)? {
            Values::I32(weights) if column.kind == Kind::U32 => Ok(Numbers::U32(bytemuck::cast_vec(weights))),
            Values::I32(weights) => Ok(Numbers::I32(weights)),
            Values::I64(weights) => {
                if column.kind == Kind::U64
                    && let Some(at) = first(&weights, |w| w < 0)
                {
                    let what = format!("the weight {} does not fit in 64 bits with a sign", weights[at] as u64);
                    return Err(self.row_error(part, at, column, what));
                }
                Ok(Numbers::I64(weights))
            }
            Values::F32(weights) => nan(first(&weights, f32::is_nan)).map(|()| Numbers::F32(weights)),
            Values::F64(weights) => nan(first(&weights, f64::is_nan)).map(|()| Numbers::F64(weights)),
            Values::Text(_) => Err(self.error("its columns changed while it was read")),
        }
    }

    /// The values of a column in a part: as many as it has rows.
    fn values(&self, column: &Column, part: &Part) -> Result<Values> {
        let descriptor = self.reader.metadata().file_metadata().schema_descr().column(column.index);
        let reader = guarded(|| {
            let pages = self.reader.get_row_group(part.group)?.get_column_page_reader(column.index)?;
            let pages = Checked::new(pages, Arc::clone(&descriptor));
            Ok(get_column_reader(descriptor, Box::new(pages)))
        });
        let values = match reader.map_err(|error| damaged(&self.file, &error))? {
            ColumnReader::Int32ColumnReader(reader) => Values::I32(self.decode(column, part, reader)?),
            ColumnReader::Int64ColumnReader(reader) => Values::I64(self.decode(column, part, reader)?),
            ColumnReader::FloatColumnReader(reader) => Values::F32(self.decode(column, part, reader)?),
            ColumnReader::DoubleColumnReader(reader) => Values::F64(self.decode(column, part, reader)?),
            ColumnReader::ByteArrayColumnReader(reader) => Values::Text(self.decode(column, part, reader)?),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                let halves = self.decode::<FixedLenByteArrayType>(column, part, reader)?;
                Values::F32(halves.iter().map(|half| single(half.data())).collect())
            }
            _ => return Err(self.error("its columns changed while it was read")),
        };
        Ok(values)
    }

    fn decode<T: DataType>(&self, column: &Column, part: &Part, mut reader: ColumnReaderImpl<T>) -> Result<Vec<T::T>> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let read = guarded(|| {
            let skipped = reader.skip_records(part.start)?;
            let (rows, ..) = reader.read_records(part.rows, Some(&mut levels), None, &mut values)?;
            Ok(skipped + rows)
        });
        let rows = read.map_err(|error| damaged(&self.file, &error))?;
        // A flat column has one level for what is missing, so every other level is a value.
        if let Some(at) = levels.iter().position(|&level| level == 0) {
            return Err(self.row_error(part, at, column, "is null; remove the row or give it a value".into()));
        }
        if rows != part.start + part.rows || values.len() != part.rows {
            let what = format!("column {:?} of row group {} is cut short; get the file again", column.name, part.group);
            return Err(self.error(what));
        }
        Ok(values)
    }

    fn error(&self, what: impl Into<String>) -> Error {
        Error::File { file: self.file.clone(), what: what.into() }
    }

    fn row_error(&self, part: &Part, at: usize, column: &Column, what: String) -> Error {
        self.error(format!("row {}: column {:?}: {what}", part.first + at as u64, column.name))
    }
}

/// Values as they are stored.
enum Values {
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<ByteArray>),
}

/// The single of a half in two bytes, which holds it exactly.
fn single(half: &[u8]) -> f32 {
    half.try_into().map_or(0.0, |bytes| f16::from_le_bytes(bytes).to_f32())
}

/// Runs the decoder, which panics on some damaged pages: that is an error of the file like any other.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    // What the decoder leaves behind half done is dropped with it.
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(ParquetError::General("a page holds less than it says".into())))
}

fn damaged(file: &str, error: &ParquetError) -> Error {
    let what = match error {
        ParquetError::General(what) | ParquetError::EOF(what) | ParquetError::NYI(what) => what.clone(),
        other => other.to_string(),
    };
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    Error::File { file: file.into(), what: format!("the Parquet data cannot be read ({what}); get the file again") }
}

#[cfg(test)]
mod tests {
    use super::single;

    #[test]
    fn halves_are_exact_singles() {
        for (bits, value) in [
            (0x3c00u16, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0400, 6.103_515_6e-5),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
            (0x8000, -0.0),
        ] {
            assert_eq!(single(&bits.to_le_bytes()).to_bits(), f32::to_bits(value), "{bits:#x}");
        }
        assert!(single(&0x7e00u16.to_le_bytes()).is_nan());
    }
}
