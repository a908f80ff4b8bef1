//! Reads the Parquet file of a table, which may be damaged: the answer is rows or an error, never a
//! panic, an abort, or memory out of proportion to the file.
//!
//! A file of a finished run is known by its digest. Files of layout 3 have none, and programs also
//! read files by themselves. So sizes and counts are checked against the file's length before
//! memory is taken for them, and a panic of the library becomes an error.

use crate::footer;
use crate::guard::guarded;
use crate::page_headers;
use crate::recorder::ROW_GROUP_ROWS;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// An opened table. Reasons of errors are parts of sentences, without the file's name.
#[derive(Debug)]
pub struct TableFile {
    file: File,
    builder: ParquetRecordBatchReaderBuilder<File>,
}

impl TableFile {
    /// Opens a table and checks what its metadata says against the file's length.
    ///
    /// # Errors
    /// An error of the file system, which is that of a missing file too, or what is wrong with it.
    pub fn open(path: &Path) -> std::io::Result<Result<Self, String>> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        if let Err(e) = footer::check(&file, bytes)? {
            return Ok(Err(e));
        }
        let second = file.try_clone()?;
        let builder = guarded(|| ParquetRecordBatchReaderBuilder::try_new(second).map_err(|e| e.to_string()));
        Ok(builder.and_then(|builder| {
            check(builder.metadata(), bytes)?;
            Ok(Self { file, builder })
        }))
    }

    /// The number of rows, as its metadata says.
    pub fn rows(&self) -> u64 {
        self.builder.metadata().row_groups().iter().map(|group| group.num_rows() as u64).sum()
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        self.builder.schema()
    }

    /// The places of these columns, which have the types that `declared` gives them.
    ///
    /// # Errors
    /// The first column that is missing or has another type.
    ///
    /// # Panics
    /// If a column is not declared.
    pub fn places(&self, declared: &Schema, names: &[&str]) -> Result<Vec<usize>, String> {
        let found = self.schema();
        let place = |name: &&str| {
            let expected = declared.field_with_name(name).expect("a column of the table").data_type();
            let place = found.index_of(name).ok().filter(|&i| found.field(i).data_type() == expected);
            place.ok_or_else(|| {
                let found = found.field_with_name(name).map_or("nothing".to_owned(), |f| f.data_type().to_string());
                format!("the column `{name}` is {found}, this version reads {expected}")
            })
        };
        names.iter().map(place).collect()
    }

    /// Reads the columns at these places, ascending, in batches as they were written; all rows, or
    /// the first `most`.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(self, places: &[usize], most: Option<usize>) -> Result<TableRows, String> {
        check_pages(&self.file, self.builder.metadata(), |column| places.contains(&column))?;
        let rows = usize::try_from(self.rows()).unwrap_or(usize::MAX);
        guarded(move || {
            let mask = ProjectionMask::roots(self.builder.parquet_schema(), places.iter().copied());
            let builder = self.builder.with_projection(mask).with_batch_size(ROW_GROUP_ROWS.min(rows.max(1)));
            let reader = builder.with_limit(most.unwrap_or(usize::MAX)).build().map_err(|e| e.to_string())?;
            Ok(TableRows { schema: reader.schema(), reader: Some(reader) })
        })
    }
}

/// The rows of a table, batch by batch. After an error there are no more.
pub struct TableRows {
    schema: SchemaRef,
    reader: Option<ParquetRecordBatchReader>,
}

impl TableRows {
    /// The columns that are read.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for TableRows {
    type Item = Result<RecordBatch, String>;

    fn next(&mut self) -> Option<Self::Item> {
        // After a panic the reader is in an unknown state: it is dropped.
        let mut reader = self.reader.take()?;
        let next = guarded(move || {
            let batch = reader.next().transpose().map_err(|e| e.to_string())?;
            Ok(batch.map(|batch| (batch, reader)))
        });
        match next.transpose()? {
            Ok((batch, reader)) => {
                self.reader = Some(reader);
                Some(Ok(batch))
            }
            Err(e) => Some(Err(e)),
        }
    }
}

/// Checks the footer of a Parquet file before the library reads it: an unknown field in a few bytes
/// can cost it minutes. The error is a part of a sentence, without the file's name.
///
/// # Errors
/// What is wrong with the footer, or an error of the file system.
pub fn check_footer(file: &File) -> Result<(), String> {
    let checked = file.metadata().and_then(|m| footer::check(file, m.len()));
    checked.map_err(|e| e.to_string())?
}

/// Checks the headers of the pages of those columns that are read, as the library believes them: a
/// wrong length costs it minutes or all memory. Columns are numbered as in the file's schema of
/// leaves. The error is a part of a sentence, without the file's name.
///
/// # Errors
/// What is wrong with a page.
pub fn check_pages(file: &File, metadata: &ParquetMetaData, is_read: impl Fn(usize) -> bool) -> Result<(), String> {
    let bytes = file.metadata().map_err(|e| e.to_string())?.len();
    for group in metadata.row_groups() {
        for (_, column) in group.columns().iter().enumerate().filter(|(place, _)| is_read(*place)) {
            page_headers::check(file, extent(column, bytes)?, column.num_values())
                .map_err(|e| format!("the column `{}` {e}", column.column_path()))?;
        }
    }
    Ok(())
}

/// Start and length of a column's pages, in a file of this length.
fn extent(column: &ColumnChunkMetaData, bytes: u64) -> Result<(i64, i64), String> {
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let length = column.compressed_size();
    let end = start.checked_add(length).and_then(|end| u64::try_from(end).ok());
    if start < 0 || length < 0 || end.is_none_or(|end| end > bytes) {
        let found = format!("{length} bytes at {start}");
        return Err(format!("the column `{}` has {found}: expected them within {bytes}", column.column_path()));
    }
    Ok((start, length))
}

/// Checks that counts agree with each other, and that all pages are inside the file. Files of this
/// crate have at most [`ROW_GROUP_ROWS`] rows in a group, and no nested columns.
fn check(metadata: &ParquetMetaData, bytes: u64) -> Result<(), String> {
    let mut rows = 0i64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let of_group = group.num_rows();
        if !(0..=ROW_GROUP_ROWS as i64).contains(&of_group) {
            return Err(format!("row group {number} has {of_group} rows: expected up to {ROW_GROUP_ROWS}"));
        }
        rows += of_group;
        for column in group.columns() {
            let name = column.column_path();
            if column.num_values() != of_group {
                let values = column.num_values();
                return Err(format!("the column `{name}` has {values} values in a group of {of_group} rows"));
            }
            extent(column, bytes)?;
        }
    }
    let stated = metadata.file_metadata().num_rows();
    if stated != rows {
        return Err(format!("it states {stated} rows and has {rows}"));
    }
    Ok(())
}
