//! Which columns of a Parquet file are those of an edge, and what they hold.

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::ColumnDescriptor;

use super::VERTICES;
use crate::io::Ids;
use crate::io::columns::{Columns, Found, usual_endpoints, usual_names, usual_weight};

/// What pandas calls the columns of an index, which is no weight.
const PANDAS_INDEX: &str = "__index_level_";

/// A column of the file.
pub(super) struct Column {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What a column holds, as far as an edge can use it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
    Text,
}

/// What a column is for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Role {
    Vertex,
    Weight,
}

impl Column {
    /// The column of that name, if it can be what it is for.
    pub(super) fn find(name: &str, role: Role, ids: Ids, metadata: &ParquetMetaData) -> Result<Self, String> {
        let columns = metadata.file_metadata().schema_descr().columns();
        let flat = |column: &ColumnDescriptor| column.path().parts() == [name] && column.max_rep_level() == 0;
        let index = columns.iter().position(|column| flat(column));
        let kind = index.map_or(Err("lists or structures"), |index| Kind::of(&columns[index]));
        let held = match (kind, role) {
            (Ok(Kind::Text), Role::Vertex) if ids == Ids::Dense => {
                return Err(format!("column {name:?} holds names; --ids sparse reads them"));
            }
            (Ok(Kind::F16 | Kind::F32 | Kind::F64), Role::Vertex) => "floats",
            (Ok(Kind::Text), Role::Weight) => "strings",
            (Ok(kind), _) => return Ok(Self { index: index.unwrap_or(0), name: name.into(), kind }),
            (Err(held), _) => held,
        };
        Err(match role {
            Role::Vertex => format!("column {name:?} holds {held}; vertices are integers or names"),
            Role::Weight => format!(
                "column {name:?} holds {held}; weights are integers or floats: convert it, or name other columns \
                 (--columns SRC,DST[,WEIGHT])"
            ),
        })
    }
}

impl Kind {
    /// What a column holds; else what it holds that is of no use, in words.
    fn of(column: &ColumnDescriptor) -> Result<Self, &'static str> {
        let signed = match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Integer(integer)), _) => integer.is_signed,
            (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => return Err("decimals"),
            (Some(LogicalType::Date | LogicalType::Time(_) | LogicalType::Timestamp(_)), _) => return Err("times"),
            (
                None,
                ConvertedType::DATE
                | ConvertedType::TIME_MILLIS
                | ConvertedType::TIME_MICROS
                | ConvertedType::TIMESTAMP_MILLIS
                | ConvertedType::TIMESTAMP_MICROS,
            ) => return Err("times"),
            (None, kind) => !matches!(
                kind,
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            ),
            _ => true,
        };
        match column.physical_type() {
            Physical::INT32 if signed => Ok(Kind::I32),
            Physical::INT32 => Ok(Kind::U32),
            Physical::INT64 if signed => Ok(Kind::I64),
            Physical::INT64 => Ok(Kind::U64),
            Physical::FLOAT => Ok(Kind::F32),
            Physical::DOUBLE => Ok(Kind::F64),
            Physical::BYTE_ARRAY => Ok(Kind::Text),
            Physical::FIXED_LEN_BYTE_ARRAY if column.logical_type_ref() == Some(&LogicalType::Float16) => Ok(Kind::F16),
            Physical::BOOLEAN => Err("booleans"),
            Physical::INT96 => Err("times"),
            Physical::FIXED_LEN_BYTE_ARRAY => Err("bytes"),
        }
    }
}

/// Where the columns of an edge are among the columns of the file.
pub(super) fn find(names: &[String], wanted: Option<&Columns>) -> Result<Found, String> {
    if let Some(wanted) = wanted {
        return wanted.find(names);
    }
    let kept: Vec<usize> = (0..names.len()).filter(|&at| !names[at].starts_with(PANDAS_INDEX)).collect();
    let names: Vec<String> = kept.iter().map(|&at| names[at].clone()).collect();
    let (source, target) = usual_endpoints(&names).ok_or_else(|| {
        let names = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let usual = usual_names();
        format!("no two columns are named as endpoints ({usual}); there are {names}: say --columns SRC,DST[,WEIGHT]")
    })?;
    let weight = usual_weight(&names, (source, target))?;
    Ok(Found { source: kept[source], target: kept[target], weight: weight.map(|weight| kept[weight]) })
}

/// The number of vertices that the footer tells; 0 if it does not.
pub(super) fn vertices(metadata: &ParquetMetaData) -> Result<u64, String> {
    let entries = metadata.file_metadata().key_value_metadata();
    let Some(entry) = entries.into_iter().flatten().find(|entry| entry.key == VERTICES) else { return Ok(0) };
    let told = entry.value.as_deref().unwrap_or_default();
    told.parse().map_err(|_| format!("its entry {VERTICES} is {told:?}, not a number of vertices"))
}
