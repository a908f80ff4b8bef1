//! Tables with a header line.
//!
//! Cells are comma-separated, comments start with `#`, and every error names its line.

use crate::error::{InputError, shorten};
use core::ops::RangeInclusive;

/// A table as text, with the line numbers of its rows.
#[derive(Debug)]
pub(crate) struct Sheet<'a> {
    file: &'a str,
    header: Vec<String>,
    rows: Vec<Row>,
}

/// One line of a table.
#[derive(Debug)]
pub(crate) struct Row {
    pub line: u64,
    cells: csv::StringRecord,
}

/// A column, found by its name.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    index: usize,
    pub name: String,
}

impl<'a> Sheet<'a> {
    pub(crate) fn read(file: &'a str, text: &str) -> Result<Self, InputError> {
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
        let bad = |e: csv::Error| {
            let line = e.position().map_or(1, |p| p.line());
            match e.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    InputError::line(file, line, format!("{len} cells"), format!("{expected_len}, as in the header"))
                }
                _ => InputError::line(file, line, shorten(&e.to_string()), "lines of cells with commas between"),
            }
        };
        // A byte order mark is not part of the first name.
        let name = |cell: &str| cell.trim_start_matches('\u{feff}').to_owned();
        let header: Vec<String> = reader.headers().map_err(bad)?.iter().map(name).collect();
        for (i, column) in header.iter().enumerate() {
            if header[..i].contains(column) {
                let found = format!("two columns `{}`", shorten(column));
                return Err(InputError::line(file, 1, found, "each name once"));
            }
        }
        let mut rows = Vec::new();
        for record in reader.into_records() {
            let cells = record.map_err(bad)?;
            rows.push(Row { line: cells.position().map_or(0, |p| p.line()), cells });
        }
        if rows.is_empty() {
            return Err(InputError::file(file, "there are no rows", "a header line and at least one row"));
        }
        Ok(Self { file, header, rows })
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Names of all columns, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.header.iter().map(String::as_str)
    }

    pub(crate) fn find(&self, name: &str) -> Option<Column> {
        let index = self.header.iter().position(|h| h == name)?;
        Some(Column { index, name: name.to_owned() })
    }

    pub(crate) fn column(&self, name: &str) -> Result<Column, InputError> {
        self.find(name).ok_or_else(|| {
            let found = format!("the columns are `{}`", shorten(&self.header.join(",")));
            InputError::line(self.file, 1, found, format!("one of them must be `{name}`"))
        })
    }

    /// A finite number in a range.
    pub(crate) fn number(
        &self,
        row: &Row,
        column: &Column,
        bounds: RangeInclusive<f64>,
        allowed: &str,
    ) -> Result<f64, InputError> {
        match self.text(row, column).parse::<f64>() {
            // Ranges exclude NaN.
            Ok(x) if bounds.contains(&x) => Ok(x),
            _ => Err(self.cell(row, column, allowed)),
        }
    }

    /// A whole number.
    pub(crate) fn integer(&self, row: &Row, column: &Column, most: u64, allowed: &str) -> Result<u64, InputError> {
        match self.text(row, column).parse::<u64>() {
            Ok(x) if x <= most => Ok(x),
            _ => Err(self.cell(row, column, allowed)),
        }
    }

    pub(crate) fn text<'r>(&self, row: &'r Row, column: &Column) -> &'r str {
        row.cells.get(column.index).unwrap_or("")
    }

    /// An error about a cell.
    pub(crate) fn cell(&self, row: &Row, column: &Column, allowed: impl Into<String>) -> InputError {
        InputError::Cell {
            file: self.file.to_owned(),
            line: row.line,
            column: shorten(&column.name),
            found: shorten(self.text(row, column)),
            allowed: allowed.into(),
        }
    }

    /// An error about a line.
    pub(crate) fn line(&self, row: &Row, found: impl Into<String>, allowed: impl Into<String>) -> InputError {
        InputError::line(self.file, row.line, found, allowed)
    }
}
