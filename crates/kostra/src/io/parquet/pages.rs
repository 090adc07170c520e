//! Proving pages before they are decoded.

use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;

/// The pages of a column, each proved to hold what the decoder takes from it without asking. What is not proved here (the
/// lengths of strings that are delta-encoded) is caught by [`guarded`](super::guarded), which cannot keep a panic from being told.
pub(super) struct Checked {
    pages: Box<dyn PageReader>,
    column: ColumnDescPtr,
    has_dictionary: bool,
}

impl Checked {
    pub(super) fn new(pages: Box<dyn PageReader>, column: ColumnDescPtr) -> Self {
        Self { pages, column, has_dictionary: false }
    }

    fn check(&mut self, page: &Page) -> Result<(), ParquetError> {
        let wrong = |what: &str| Err(ParquetError::General(what.into()));
        let bytes = page.buffer();
        // Where the values begin, and how many there are if none is null.
        let (start, count) = match page {
            Page::DictionaryPage { .. } => {
                self.has_dictionary = true;
                (Some(0), Some(page.num_values()))
            }
            Page::DataPage { .. } if self.column.max_def_level() == 0 => (Some(0), Some(page.num_values())),
            Page::DataPage { def_level_encoding: Encoding::RLE, .. } => {
                let len = bytes.first_chunk().map_or(0, |len| u32::from_le_bytes(*len) as usize);
                (Some(4 + len), None)
            }
            // A bit for every value.
            Page::DataPage { .. } => (Some(page.num_values().div_ceil(8) as usize), None),
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, num_nulls, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                (usize::try_from(levels).ok(), (*num_nulls == 0).then_some(page.num_values()))
            }
        };
        let Some(values) = start.and_then(|start| bytes.get(start..)) else {
            return wrong("the levels of a page are longer than it");
        };
        let count = count.map(|count| count as usize);
        match (page.encoding(), self.column.physical_type()) {
            (Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY, _) if page.is_data_page() => {
                if !self.has_dictionary {
                    return wrong("a page needs a dictionary that is not there");
                }
                if values.is_empty() && count != Some(0) {
                    return wrong("a page ends before its values");
                }
            }
            (Encoding::BYTE_STREAM_SPLIT, kind) => {
                let width = match kind {
                    Physical::INT32 | Physical::FLOAT => 4,
                    Physical::INT64 | Physical::DOUBLE => 8,
                    _ => usize::try_from(self.column.type_length()).unwrap_or(0),
                };
                if count.and_then(|count| count.checked_mul(width)).is_some_and(|size| size > values.len()) {
                    return wrong("a page ends before its values");
                }
            }
            (Encoding::PLAIN | Encoding::PLAIN_DICTIONARY, Physical::BYTE_ARRAY) => {
                let mut rest = values;
                for _ in 0..count.unwrap_or(usize::MAX) {
                    let split = rest.split_first_chunk().map(|(len, rest)| (u32::from_le_bytes(*len) as usize, rest));
                    match split.and_then(|(len, rest)| rest.get(len..)) {
                        Some(after) => rest = after,
                        None if count.is_none() && rest.is_empty() => break,
                        None => return wrong("a page ends before its values"),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Iterator for Checked {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.pages.get_next_page()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.pages.at_record_boundary()
    }
}
