//! `report`: the results of one or more folders as one HTML page. The page is one file that needs
//! no other, so it can be mailed and kept.

use crate::compare::read;
use crate::fail::Failure;
use crate::{ReportArgs, output};
use timeplane_experiment::say;
use timeplane_report::{ReportPage, write};

pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    let folders = read(&args.folders)?;
    let page = ReportPage::new(&folders, args.rows.unwrap_or(timeplane_report::ROWS)).map_err(Failure::failed)?;
    let place = args.output.clone().unwrap_or_else(|| args.folders[0].join("report.html"));
    write(&place, &page.html).map_err(Failure::failed)?;
    for text in &page.left_out {
        say!("warning: the page is incomplete: {text}");
    }
    if args.json {
        output::json(&page.to_json(&place))
    } else {
        let runs = output::count(page.runs as u64, "run");
        let kilobytes = output::count((page.html.len() as u64).div_ceil(1000), "kB").replace("kBs", "kB");
        output::text(&format!("{}: {runs}, {kilobytes}\n", place.display()))
    }
}
