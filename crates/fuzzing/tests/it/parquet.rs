//! Valid Parquet files: as results have them, and with other encodings.
//!
//! Pages that are not compressed let a changed byte reach the decoders behind the decompression.

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use timeplane_results::TableFile;

fn written(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut content = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut content, batch.schema(), Some(properties)).unwrap_or_else(|e| panic!("{e}"));
    let done = writer.write(batch).and_then(|()| writer.close());
    done.unwrap_or_else(|e| panic!("{e}"));
    content
}

/// A table with several encodings.
fn in_all_forms(batch: &RecordBatch) -> Vec<Vec<u8>> {
    let plain = || WriterProperties::builder().set_compression(Compression::UNCOMPRESSED);
    let numbers = batch.columns().iter().all(|c| c.data_type().is_integer());
    let all = [
        plain().build(),
        plain().set_dictionary_enabled(false).build(),
        // Without a dictionary, texts would be differences, which are refused.
        plain().set_dictionary_enabled(!numbers).set_writer_version(WriterVersion::PARQUET_2_0).build(),
        WriterProperties::builder().set_compression(Compression::SNAPPY).build(),
    ];
    let mut files: Vec<Vec<u8>> = all.into_iter().map(|p| written(batch, p)).collect();
    // Delta encoding is for whole numbers only.
    if numbers {
        let delta = plain().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BINARY_PACKED);
        files.push(written(batch, delta.build()));
    }
    files
}

/// Lists of flows.
pub fn flow_lists() -> Vec<Vec<u8>> {
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let of = |start: ArrayRef, coflow: Option<ArrayRef>| {
        let mut columns = vec![
            ("start_ps", start),
            ("source", column((0..40).map(|i| i % 5).collect())),
            ("destination", Arc::new(UInt32Array::from_iter_values((0..40).map(|i| (i + 1) % 5))) as ArrayRef),
            ("size_bytes", Arc::new(UInt64Array::from_iter_values(1..41)) as ArrayRef),
        ];
        columns.extend(coflow.map(|c| ("coflow", c)));
        RecordBatch::try_from_iter(columns).unwrap_or_else(|e| panic!("{e}"))
    };
    let coflows: Int64Array = (0..40).map(|i| (i % 3 > 0).then_some(i / 4)).collect();
    let batches =
        [of(column((0..40).collect()), None), of(column((0..40).rev().collect()), Some(Arc::new(coflows) as ArrayRef))];
    batches.iter().flat_map(in_all_forms).collect()
}

/// A file of results, and its rows in other forms.
pub fn forms_of(path: &Path) -> Vec<Vec<u8>> {
    let read = || -> Result<Vec<RecordBatch>, Box<dyn std::error::Error>> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()?;
        Ok(reader.collect::<Result<_, _>>()?)
    };
    let batches = read().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut files = vec![std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))];
    files.extend(batches.first().into_iter().flat_map(in_all_forms));
    files
}

/// Whether the first step, which reads the file's metadata, refuses a file.
pub fn is_refused(path: &Path) -> bool {
    !matches!(TableFile::open(path), Ok(Ok(_)))
}
