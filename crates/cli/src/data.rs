//! `data export`: a bundled trace, distribution or matrix as a file, to read or to change.
//! A scenario that names the file gets the same traffic as one that names the data.

use crate::fail::Failure;
use crate::new::write;
use crate::{DataExportArgs, output};
use clap::builder::PossibleValue;
use std::path::{Path, PathBuf};
use timeplane_experiment::say;
use timeplane_workload::{BUNDLED, bundled};

/// The names for the command line: help, completion and suggestions.
pub fn names() -> Vec<PossibleValue> {
    BUNDLED.iter().map(|b| PossibleValue::new(b.name).help(b.about)).collect()
}

pub fn export(args: &DataExportArgs) -> Result<(), Failure> {
    let data = bundled(&args.name).expect("the command line knows their names");
    let file = match &args.out {
        Some(file) if file.as_os_str() == "-" => return output::data(data.text),
        Some(file) => file.clone(),
        None => Path::new(data.file).file_name().map(PathBuf::from).expect("it is a file"),
    };
    write(&file, data.text, args.force)?;
    say!("{}: {}", file.display(), data.about);
    let key = data.kind.key();
    say!("A scenario reads it by `{key} = {:?}`; docs/traces.md describes the format", file.display().to_string());
    Ok(())
}
