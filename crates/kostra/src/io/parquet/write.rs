//! Writing Parquet.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use super::{ROWS, VERTICES};
use crate::error::Result;
use crate::graph::Graph;
use crate::io::sink::{Sink, Stop};
use crate::names::Names;
use crate::weight::Weights;

/// Writes columns `src`, `dst` and, if there are weights, `weight`: numbers, or names where the graph has them.
pub(in crate::io) fn write(graph: &Graph, sink: &mut Sink) -> Result<(), Stop> {
    let names = graph.names().map(Spelt::new);
    let integers = |name, bits, signed| {
        let physical = if bits == 64 { Physical::INT64 } else { Physical::INT32 };
        column(name, physical, Some(LogicalType::integer(bits, signed)))
    };
    let vertex = |name| match &names {
        Some(names) => column(name, Physical::BYTE_ARRAY, names.is_text.then_some(LogicalType::String)),
        None => integers(name, 32, false),
    };
    let mut fields = vec![vertex("src"), vertex("dst")];
    fields.extend(match graph.weights() {
        Weights::Unit => None,
        Weights::U32(_) => Some(integers("weight", 32, false)),
        Weights::I32(_) => Some(integers("weight", 32, true)),
        Weights::I64(_) => Some(integers("weight", 64, true)),
        Weights::F32(_) => Some(column("weight", Physical::FLOAT, None)),
        Weights::F64(_) => Some(column("weight", Physical::DOUBLE, None)),
    });
    let fields = fields.into_iter().map(|field| field.map(Arc::new)).collect::<Result<_, _>>().map_err(refused)?;
    let schema = Type::group_type_builder("edges").with_fields(fields).build().map_err(refused)?;
    let properties = WriterProperties::builder()
        .set_created_by(concat!("kostra ", env!("CARGO_PKG_VERSION")).into())
        .set_key_value_metadata(Some(vec![KeyValue::new(VERTICES.into(), graph.vertices().to_string())]))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).map_err(refused)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // Ids and weights repeat too little; names are longer than their numbers.
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled(ColumnPath::from("src"), names.is_some())
        .set_column_dictionary_enabled(ColumnPath::from("dst"), names.is_some());
    let writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties.build()));
    let mut writer = writer.map_err(refused)?;
    for start in (0..graph.edges()).step_by(ROWS) {
        let end = graph.edges().min(start + ROWS);
        write_rows(graph, names.as_ref(), start..end, &mut writer).map_err(refused)?;
        // What is written so far goes on; the writer counts its bytes and does not look back.
        sink.bytes(&std::mem::take(writer.inner_mut()))?;
        sink.step(end, graph.edges())?;
    }
    sink.bytes(&writer.into_inner().map_err(refused)?)
}

/// Writes a row group.
fn write_rows(
    graph: &Graph,
    names: Option<&Spelt>,
    rows: std::ops::Range<usize>,
    writer: &mut SerializedFileWriter<Vec<u8>>,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for ends in [graph.sources(), graph.targets()] {
        let ends = &ends[rows.clone()];
        match names {
            None => put::<Int32Type>(&mut group, bytemuck::cast_slice(ends))?,
            Some(names) => {
                let spelt: Vec<ByteArray> = ends.iter().map(|&v| names.all[v as usize].clone()).collect();
                put::<ByteArrayType>(&mut group, &spelt)?;
            }
        }
    }
    match graph.weights() {
        Weights::Unit => {}
        Weights::U32(w) => put::<Int32Type>(&mut group, bytemuck::cast_slice(&w[rows]))?,
        Weights::I32(w) => put::<Int32Type>(&mut group, &w[rows])?,
        Weights::I64(w) => put::<Int64Type>(&mut group, &w[rows])?,
        Weights::F32(w) => put::<FloatType>(&mut group, &w[rows])?,
        Weights::F64(w) => put::<DoubleType>(&mut group, &w[rows])?,
    }
    group.close().map(drop)
}

/// Writes the next column of a row group.
fn put<T: DataType>(group: &mut SerializedRowGroupWriter<'_, Vec<u8>>, values: &[T::T]) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn column(name: &str, physical: Physical, logical: Option<LogicalType>) -> Result<Type, ParquetError> {
    let builder = Type::primitive_type_builder(name, physical);
    builder.with_repetition(Repetition::REQUIRED).with_logical_type(logical).build()
}

/// The names of all vertices, in one piece of memory.
struct Spelt {
    all: Vec<ByteArray>,
    /// Whether they are all text; else they are bytes to others.
    is_text: bool,
}

impl Spelt {
    fn new(names: &Names) -> Self {
        let of = |v| names.at(v as u32);
        let text = Bytes::from((0..names.len()).flat_map(of).copied().collect::<Vec<u8>>());
        let mut start = 0;
        let next = |v| {
            let end = start + of(v).len();
            ByteArray::from(text.slice(std::mem::replace(&mut start, end)..end))
        };
        let is_text = (0..names.len()).all(|v| std::str::from_utf8(of(v)).is_ok());
        Self { all: (0..names.len()).map(next).collect(), is_text }
    }
}

fn refused(error: ParquetError) -> Stop {
    Stop::Io(std::io::Error::other(error))
}
