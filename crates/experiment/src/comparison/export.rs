//! The comparison as JSON and CSV, for programs. Both hold all metrics with their intervals,
//! differences and bounds.

use super::{Cell, Comparison, Line};
use serde_json::{Map, Value, json};

impl Comparison {
    /// Everything as JSON. Times are in ps; keys name their unit.
    pub fn to_json(&self) -> Value {
        let line = |line: &Line| {
            let cells: Map<String, Value> =
                line.cells.iter().map(|c| (c.metric.name().to_owned(), c.to_json())).collect();
            json!({
                "point": line.point,
                "scheme": line.scheme,
                "seeds": line.seeds,
                "flows": line.flows,
                "coflows": line.coflows,
                "metrics": cells,
            })
        };
        json!({
            "baseline": self.baseline,
            "level": self.level,
            "margin": self.margin,
            "tests": self.tests,
            "windows": self.windows,
            "differences": self.context.differences(),
            "bounds": self.bounds.iter().map(|b| json!({ "label": b.label, "metric": b.metric.name() })).collect::<Vec<_>>(),
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }

    /// CSV with a header and one row per point, scheme and metric. A missing number is empty.
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let in_memory = "writing to memory";
        let fixed = "scheme metric seeds measured_flows unfinished_flows measured_coflows unfinished_coflows mean half_width \
                     difference difference_half_width relative_difference relative_half_width significant equivalent bound lower_bound untested p_value corrected_p_value";
        let keys = self.keys.iter().map(String::as_str);
        writer.write_record(keys.chain(fixed.split_whitespace())).expect(in_memory);
        let real = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
        for line in &self.lines {
            for cell in &line.cells {
                let point = self.keys.iter().map(|key| line.point.get(key).cloned().unwrap_or_default());
                let (difference, relative) =
                    (cell.difference.map(|d| d.absolute), cell.difference.and_then(|d| d.relative));
                let rest = [
                    line.scheme.clone(),
                    cell.metric.name().to_owned(),
                    cell.value.map_or(0, |v| v.count).to_string(),
                    line.flows.measured.to_string(),
                    line.flows.unfinished.to_string(),
                    line.coflows.measured.to_string(),
                    line.coflows.unfinished.to_string(),
                    real(cell.value.map(|v| v.mean)),
                    real(cell.value.and_then(|v| v.half_width)),
                    real(difference.map(|d| d.mean)),
                    real(difference.and_then(|d| d.half_width)),
                    real(relative.map(|d| d.mean)),
                    real(relative.and_then(|d| d.half_width)),
                    cell.significant.map_or(String::new(), |b| b.to_string()),
                    cell.equivalence.map_or(String::new(), |e| e.equivalent.to_string()),
                    real(cell.bound),
                    cell.lower_bound.to_string(),
                    cell.untested.to_string(),
                    real(cell.difference.and_then(|d| d.p_value)),
                    real(cell.corrected_p_value),
                ];
                writer.write_record(point.chain(rest)).expect(in_memory);
            }
        }
        String::from_utf8(writer.into_inner().expect(in_memory)).expect("written from text")
    }
}

impl Cell {
    fn to_json(&self) -> Value {
        json!({
            "value": self.value,
            "lower_bound": self.lower_bound,
            "difference": self.difference,
            "unfinished": self.unfinished,
            "untested": self.untested,
            "corrected_p_value": self.corrected_p_value,
            "significant": self.significant,
            "equivalence": self.equivalence,
            "bound": self.bound,
            "over_bound": self.value.zip(self.bound).map(|(value, bound)| value.mean / bound),
        })
    }
}
