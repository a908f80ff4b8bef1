//! Pages of synthetic results: their sizes, their contents, and how they are written.

use crate::common::{Scratch, results};
use timeplane_report::pack::{Packed, unpack};
use timeplane_report::{ROWS, ReportError, ReportPage, write};

/// All packed tables of a page.
fn tables(html: &str) -> Vec<Packed> {
    let packed = html.split("<script type=\"text/plain\" ").skip(1).map(|part| {
        let (_, rest) = part.split_once("data-head=\"").unwrap();
        let (head, rest) = rest.split_once("\">").unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        let head = serde_json::from_str(&head.replace("&quot;", "\"")).unwrap();
        Packed { head, data: data.to_owned() }
    });
    packed.collect()
}

/// Sum of a column over all tables that have it.
fn sum(html: &str, column: &str) -> i64 {
    let columns = tables(html).into_iter().flat_map(|table| unpack(&table).unwrap());
    columns.filter(|c| c.name == column).flat_map(|c| c.values).flatten().sum()
}

#[test]
fn sixty_four_hosts_for_2000_slots_are_less_than_400_kilobytes() {
    let scratch = Scratch::new("64");
    let page = ReportPage::new(&[results(&scratch.0, 64, 2000)], ROWS).unwrap();
    eprintln!("64 hosts x 2,000 slots: {} B", page.html.len());
    assert!(page.html.len() < 400_000, "{} B", page.html.len());
    assert_eq!((page.runs, page.left_out.len()), (1, 0));
    assert_eq!(sum(&page.html, "pairs"), 64 * 2000);
    assert_eq!(sum(&page.html, "granted_bytes"), 64 * 2000 * 125_000);
}

#[test]
fn five_hundred_and_twelve_hosts_for_4000_slots_are_less_than_5_megabytes() {
    let scratch = Scratch::new("512");
    let page = ReportPage::new(&[results(&scratch.0, 512, 4000)], ROWS).unwrap();
    eprintln!("512 hosts x 4,000 slots: {} B", page.html.len());
    assert!(page.html.len() < 5_000_000, "{} B", page.html.len());
    assert_eq!(page.left_out.len(), 0);
    assert_eq!(sum(&page.html, "pairs"), 512 * 4000);
}

#[test]
fn a_negative_dark_time_of_an_edited_manifest_counts_as_none() {
    let scratch = Scratch::new("dark");
    let mut folder = results(&scratch.0, 8, 100);
    folder.manifest.scenario =
        serde_json::json!({ "scheme": { "slots": { "plan": { "circuits": { "dark": "-1 ms" } } } } });
    let page = ReportPage::new(&[folder], ROWS).unwrap();
    assert_eq!(sum(&page.html, "dark_ps"), 0);
}

#[test]
fn what_does_not_fit_is_left_out_and_said() {
    let scratch = Scratch::new("less");
    let folder = results(&scratch.0, 8, 100);
    let page = ReportPage::new(&[folder], 500).unwrap();
    assert_eq!(page.left_out.len(), 1);
    assert!(page.left_out[0].contains("the first 500 of 800 rows of `slots`"), "{:?}", page.left_out);
    assert!(page.html.contains("the first 500 of 800 rows"));
    assert_eq!(sum(&page.html, "pairs"), 500);
}

#[test]
fn a_page_is_a_function_of_the_results_and_names_no_place() {
    let scratch = Scratch::new("same");
    let folder = results(&scratch.0, 8, 20);
    let page = |folder: &timeplane_results::Folder| ReportPage::new(std::slice::from_ref(folder), ROWS).unwrap().html;
    let html = page(&folder);
    assert_eq!(html, page(&folder));
    assert!(!html.contains(&*scratch.0.to_string_lossy()));
    assert!(html.contains("Who is &lt;first&gt;?"), "the question, as text");
    assert!(html.contains("timeplane run shuffle.toml --set 'fabric.rate=10 Gb/s'"));
    for outside in ["http-equiv=\"refresh\"", "<link ", "<img ", "<iframe ", "src=\"", "@import"] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn a_table_that_is_cut_off_is_named_with_what_to_do() {
    let scratch = Scratch::new("cut");
    let folder = results(&scratch.0, 8, 20);
    let path = folder.runs[0].directory.join("slots.parquet");
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 7, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = ReportPage::new(std::slice::from_ref(&folder), ROWS).unwrap_err().to_string();
        assert!(error.starts_with("damaged run: ") && error.contains("slots.parquet"), "{error}");
        assert!(error.contains("`timeplane run ") && error.contains("runs/00000000000000aa"), "{error}");
    }
    // What is damaged within is found as well.
    let mut damaged = whole.clone();
    damaged[4..200].fill(0xff);
    std::fs::write(&path, damaged).unwrap();
    let error = ReportPage::new(&[folder], ROWS).unwrap_err().to_string();
    assert!(error.starts_with("damaged run: ") && error.contains("slots.parquet"), "{error}");
}

#[test]
fn a_table_of_another_version_is_named_with_its_column() {
    let scratch = Scratch::new("other");
    let folder = results(&scratch.0, 8, 20);
    let run = &folder.runs[0].directory;
    std::fs::copy(run.join("links.parquet"), run.join("slots.parquet")).unwrap();
    let error = ReportPage::new(&[folder], ROWS).unwrap_err().to_string();
    assert!(error.contains("the column `round` is nothing, this version reads UInt64"), "{error}");
}

#[test]
fn nothing_complete_is_no_page() {
    let scratch = Scratch::new("nothing");
    let mut folder = results(&scratch.0, 4, 2);
    folder.runs.clear();
    let error = ReportPage::new(&[folder], ROWS).unwrap_err();
    assert!(matches!(error, ReportError::Nothing { .. }), "{error}");
}

#[test]
fn a_page_that_cannot_be_written_leaves_the_one_before() {
    let scratch = Scratch::new("write");
    let path = scratch.0.join("report.html");
    write(&path, "old").unwrap();
    write(&path, "new").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    // A folder in its place cannot be replaced by a file.
    let folder = scratch.0.join("folder.html");
    std::fs::create_dir(&folder).unwrap();
    let error = write(&folder, "page").unwrap_err().to_string();
    assert!(error.contains("folder.html") && error.contains("unchanged"), "{error}");
    assert!(write(&scratch.0.join("none/report.html"), "page").is_err());
    let mut names: Vec<_> = std::fs::read_dir(&scratch.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["folder.html", "report.html"], "nothing half-written is left");
}
