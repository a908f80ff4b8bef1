//! Loads a scenario from a file, a text or JSON, and keeps the location of every value. Applies
//! overrides, checks the shape against the JSON Schema, and expands the sweep into points.

use crate::document::{Node, Origin, Value};
use crate::error::{Issue, Location, Problem, ScenarioError, Source};
use crate::shape::{Finding, Shape, join, one_of};
use crate::{Algorithms, Preset, Scenario};
use indexmap::IndexMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Larger files are rejected; a graph of 100,000 wires takes 4 MB.
const LARGEST_FILE: u64 = 64 << 20;
/// Maximum number of points of a sweep; more are probably a mistake.
const MOST_POINTS: usize = 100_000;
/// Keys that cannot be swept.
const NOT_SWEPT: [&str; 6] = ["name", "description", "seed", "seeds", "sweep", "check"];

/// A scenario with the locations of its values.
///
/// It has the shape of a scenario: every key is known, every quantity has a valid unit, and a sweep
/// names existing keys with valid values. [`Loaded::validate`] checks whether the values make sense
/// together.
#[derive(Debug)]
pub struct Loaded {
    /// The scenario with all overrides applied and its sweep still in it. A swept key that is
    /// absent from the file has the first value of the sweep.
    pub scenario: Scenario,
    /// The file that it was read from; `None` if it came as text, JSON or through a pipe.
    pub path: Option<PathBuf>,
    /// The folder that file names in the scenario are relative to.
    pub base: PathBuf,
    document: Node,
    sources: Arc<[Source]>,
    shape: &'static Shape,
}

/// One combination of a sweep's values; a scenario without a sweep has one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The swept values by dotted key, in the order of the file.
    pub values: IndexMap<String, serde_json::Value>,
    /// The scenario with these values and without a sweep.
    pub scenario: Scenario,
}

impl Point {
    /// Everything that one run depends on: fabric, workload, measurement, record, one scheme and
    /// the seed. Names are excluded, so renaming a scheme or a file does not repeat runs. Files of
    /// the workload are included by name only.
    ///
    /// Returns `None` if there is no such scheme.
    pub fn run_json(&self, scheme: &str, seed: u64) -> Option<serde_json::Value> {
        self.scenario.run_json(scheme, seed)
    }
}

/// A text that was read.
pub(crate) struct Input {
    pub text: String,
    /// Its name in messages.
    pub name: String,
    /// Whether it is in a file, which can be read again.
    is_file: bool,
}

impl Input {
    /// Reads a file, a pipe, or with the path `-` standard input.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let piped = path == Path::new("-");
        let name = if piped { "standard input".to_owned() } else { path.display().to_string() };
        let unreadable = |reason: String| {
            let problem = Problem::Unreadable(reason);
            ScenarioError::new(vec![Issue { key: name.clone(), problem, help: None, location: None }], Arc::from([]))
        };
        let failed = |e: io::Error| unreadable(e.to_string());
        let (mut text, mut is_file) = (String::new(), false);
        // A pipe has no length, and may have no end.
        let read = if piped {
            io::stdin().take(LARGEST_FILE + 1).read_to_string(&mut text)
        } else {
            let about = fs::metadata(path).map_err(failed)?;
            if about.is_dir() {
                return Err(unreadable("not a file".to_owned()));
            }
            is_file = about.is_file();
            fs::File::open(path).map_err(failed)?.take(LARGEST_FILE + 1).read_to_string(&mut text)
        };
        read.map_err(failed)?;
        if text.len() as u64 > LARGEST_FILE {
            return Err(unreadable(format!("more than {LARGEST_FILE} B")));
        }
        Ok(Self { text, name, is_file })
    }
}

impl Loaded {
    /// Reads a TOML file, a pipe, or with the path `-` standard input. `overrides` are dotted keys
    /// with one value, which replaces the file's, or several, which become a dimension of the
    /// sweep; see [`split_override`].
    ///
    /// # Errors
    /// If the file cannot be read or is not a scenario.
    pub fn from_file(path: impl AsRef<Path>, overrides: &[(String, Vec<String>)]) -> Result<Self, ScenarioError> {
        Self::from_input(path.as_ref(), &Input::read(path.as_ref())?, overrides)
    }

    /// Reads a scenario file, and replaces what a [preset](Preset) has. Overrides apply on top of
    /// it.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file).
    pub fn with_preset(
        path: impl AsRef<Path>,
        preset: &Preset,
        overrides: &[(String, Vec<String>)],
    ) -> Result<Self, ScenarioError> {
        let path = path.as_ref();
        // A pipe can be read once.
        let input = Input::read(path)?;
        let plain = Self::from_input(path, &input, overrides)?;
        let mut all = preset.overrides(&plain.scenario);
        all.extend_from_slice(overrides);
        Self::from_input(path, &input, &all)
    }

    fn from_input(path: &Path, input: &Input, overrides: &[(String, Vec<String>)]) -> Result<Self, ScenarioError> {
        // Files that a piped scenario names are looked for in the current folder.
        let base = match path.parent() {
            Some(parent) if input.is_file && parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut loaded = Self::from_str(&input.text, &input.name, base, overrides)?;
        loaded.path = input.is_file.then(|| path.to_owned());
        Ok(loaded)
    }

    /// Reads a TOML text; messages use `name` instead of a file name.
    ///
    /// # Errors
    /// If the text is not a scenario.
    pub fn from_str(
        text: &str,
        name: &str,
        base: impl Into<PathBuf>,
        overrides: &[(String, Vec<String>)],
    ) -> Result<Self, ScenarioError> {
        let file = Source { name: name.to_owned(), text: text.to_owned(), is_override: false };
        match Node::parse(text, 0) {
            Ok(document) => Self::build(document, vec![file], base.into(), overrides),
            Err(e) => {
                let origin = Origin { source: Some(0), span: e.span().unwrap_or(0..0) };
                let problem = Problem::Syntax(e.message().trim().replace('\n', "; "));
                Err(report(vec![Finding { key: String::new(), problem, help: None, origin }], &Arc::from([file])))
            }
        }
    }

    /// Takes a scenario as JSON, as Python passes it; messages name keys only. Keys with value null
    /// count as absent.
    ///
    /// # Errors
    /// If the value is not a scenario.
    pub fn from_json(
        value: &serde_json::Value,
        base: impl Into<PathBuf>,
        overrides: &[(String, Vec<String>)],
    ) -> Result<Self, ScenarioError> {
        Self::build(Node::from_json(value), vec![], base.into(), overrides)
    }

    fn build(
        mut document: Node,
        mut sources: Vec<Source>,
        base: PathBuf,
        overrides: &[(String, Vec<String>)],
    ) -> Result<Self, ScenarioError> {
        let shape = Shape::of_scenarios();
        let mut findings = Vec::new();
        flatten_sweep(&mut document);
        for (key, values) in overrides {
            let source = sources.len();
            let text = values.join(",");
            let whole = Origin { source: Some(source), span: 0..text.len() };
            sources.push(Source { name: format!("--set {key}"), text, is_override: true });
            findings.extend(apply(shape, &mut document, key, values, &whole));
        }
        let sources: Arc<[Source]> = sources.into();
        if !findings.is_empty() {
            return Err(report(findings, &sources));
        }
        findings.extend(check_sweep(shape, &mut document));
        findings.extend(shape.check(&document));
        if !findings.is_empty() {
            return Err(report(findings, &sources));
        }
        let scenario = read(&document, &sources)?;
        Ok(Self { scenario, path: None, base, document, sources, shape })
    }

    /// Name of the results folder: the scenario's own, or its file's without the extension.
    pub fn name(&self) -> String {
        let stem = || self.path.as_deref().and_then(Path::file_stem).map(|s| s.to_string_lossy().into_owned());
        self.scenario.name.clone().or_else(stem).unwrap_or_else(|| "scenario".to_owned())
    }

    /// The text of the file, for manifests; `None` if the scenario came as JSON.
    pub fn text(&self) -> Option<&str> {
        self.sources.first().filter(|s| !s.is_override).map(|s| s.text.as_str())
    }

    /// Overridden keys with their values as text, separated by commas, in order.
    pub fn overrides(&self) -> impl Iterator<Item = (&str, &str)> {
        let set = self.sources.iter().filter(|s| s.is_override);
        set.map(|s| (s.name.strip_prefix("--set ").unwrap_or(&s.name), s.text.as_str()))
    }

    /// Location of the value at a dotted key, or of the table that lacks it.
    pub fn locate(&self, key: &str) -> Option<Location> {
        Location::new(self.document.origin_of(key), &self.sources)
    }

    /// Every combination of the sweep's values, in the order of the file; the last key varies
    /// fastest.
    ///
    /// # Errors
    /// If a combination is not a scenario, such as two keys of different alternatives.
    pub fn points(&self) -> Result<Vec<Point>, ScenarioError> {
        let mut points = Vec::new();
        self.each_point(|point, _| points.push(point))?;
        Ok(points)
    }

    /// Validates every point; `algorithms` are those that plans may use. Returns warnings.
    ///
    /// # Errors
    /// Everything that is wrong, without repetitions.
    pub fn validate(&self, algorithms: &Algorithms) -> Result<Vec<Issue>, ScenarioError> {
        let (mut errors, mut warnings): (Vec<Issue>, Vec<Issue>) = (Vec::new(), Vec::new());
        self.each_point(|point, document| {
            let checked = crate::validate::check(&point.scenario, algorithms, &self.base);
            for (findings, issues) in [(checked.errors, &mut errors), (checked.warnings, &mut warnings)] {
                for note in findings {
                    let issue = Issue {
                        location: Location::new(document.origin_of(&note.key), &self.sources),
                        key: note.key,
                        problem: note.problem,
                        help: note.help,
                    };
                    if !issues.contains(&issue) {
                        issues.push(issue);
                    }
                }
            }
        })?;
        if errors.is_empty() { Ok(warnings) } else { Err(ScenarioError::new(errors, self.sources.clone())) }
    }

    fn each_point(&self, mut visit: impl FnMut(Point, &Node)) -> Result<(), ScenarioError> {
        let mut bare = self.document.clone();
        let Value::Table(root) = &mut bare.value else { unreachable!("a scenario is a table") };
        let sweep = root.shift_remove("sweep").map_or_else(IndexMap::new, |(_, node)| match node.value {
            Value::Table(sweep) => sweep,
            _ => IndexMap::new(),
        });
        let dimensions: Vec<(Vec<&str>, &Vec<Node>)> = sweep
            .iter()
            .map(|(key, (_, node))| match &node.value {
                Value::List(values) => (keys_of(key), values),
                _ => unreachable!("a sweep holds lists"),
            })
            .collect();
        let total: usize = dimensions.iter().map(|(_, values)| values.len()).product();
        for mut number in 0..total {
            let mut places = Vec::with_capacity(dimensions.len());
            for (keys, values) in dimensions.iter().rev() {
                places.push((keys, &values[number % values.len()]));
                number /= values.len();
            }
            let chosen: Vec<(&str, &Node)> =
                places.into_iter().rev().flat_map(|(keys, value)| values_of(keys, value).unwrap_or_default()).collect();
            let mut document = bare.clone();
            for &(key, value) in &chosen {
                self.shape.set(&mut document, key, value.clone());
            }
            let findings = self.shape.check(&document);
            if !findings.is_empty() {
                return Err(report(findings, &self.sources));
            }
            let scenario = read(&document, &self.sources)?;
            let values = chosen.into_iter().map(|(k, v)| (k.to_owned(), v.to_json())).collect();
            visit(Point { values, scenario }, &document);
        }
        Ok(())
    }
}

/// Splits `a.b=1,2` into the key and its values. Commas within quotes, brackets or braces do not
/// split.
///
/// # Errors
/// If the equals sign, the key or a value is missing.
pub fn split_override(text: &str) -> Result<(String, Vec<String>), String> {
    let advice = || {
        format!(
            "invalid setting `{text}`: expected KEY=VALUE or KEY=VALUE,VALUE, such as workload.poisson.load=0.2,0.5"
        )
    };
    let (key, values) = text.split_once('=').ok_or_else(advice)?;
    let key = key.trim();
    let (mut parts, mut depth, mut quote) = (vec![String::new()], 0usize, None);
    for c in values.chars() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("never empty").push(c);
    }
    let parts: Vec<String> = parts.into_iter().map(|p| p.trim().to_owned()).collect();
    if key.is_empty() || parts.iter().any(String::is_empty) {
        return Err(advice());
    }
    Ok((key.to_owned(), parts))
}

pub(crate) fn report(findings: Vec<Finding>, sources: &Arc<[Source]>) -> ScenarioError {
    let issue = |f: Finding| Issue {
        location: Location::new(&f.origin, sources),
        key: f.key,
        problem: f.problem,
        help: f.help,
    };
    ScenarioError::new(findings.into_iter().map(issue).collect(), sources.clone())
}

/// Fills the types. The shape check has passed, so serde only fails if schema and types differ.
fn read(document: &Node, sources: &Arc<[Source]>) -> Result<Scenario, ScenarioError> {
    let finding = |e: serde_json::Error| Finding {
        key: String::new(),
        problem: Problem::Conflict(e.to_string()),
        help: None,
        origin: document.origin.clone(),
    };
    serde_json::from_value(document.to_json()).map_err(|e| report(vec![finding(e)], sources))
}

/// `[sweep]` with an unquoted `workload.poisson.load = [...]` is a table of tables; converts it to
/// the dotted key.
fn flatten_sweep(document: &mut Node) {
    fn collect(node: Node, at: &str, key: Origin, flat: &mut IndexMap<String, (Origin, Node)>) {
        match node.value {
            Value::Table(table) if !table.is_empty() => {
                for (name, (origin, child)) in table {
                    collect(child, &join(at, &name), origin, flat);
                }
            }
            value => {
                flat.insert(at.to_owned(), (key, Node { value, origin: node.origin }));
            }
        }
    }
    let Value::Table(root) = &mut document.value else { return };
    let Some((_, sweep)) = root.get_mut("sweep") else { return };
    let Value::Table(table) = &mut sweep.value else { return };
    let mut flat = IndexMap::new();
    for (name, (origin, child)) in std::mem::take(table) {
        collect(child, &name, origin, &mut flat);
    }
    *table = flat;
}

/// The keys of a dimension of the sweep: one, or several separated by commas that change together.
fn keys_of(dimension: &str) -> Vec<&str> {
    dimension.split(',').map(str::trim).collect()
}

/// The keys of a dimension with one of its values; `None` if their numbers differ.
fn values_of<'a>(keys: &[&'a str], value: &'a Node) -> Option<Vec<(&'a str, &'a Node)>> {
    match (keys, &value.value) {
        ([key], _) => Some(vec![(*key, value)]),
        (keys, Value::List(values)) if values.len() == keys.len() => Some(keys.iter().copied().zip(values).collect()),
        _ => None,
    }
}

fn unknown_key((above, problem): (String, Problem), origin: &Origin) -> Finding {
    let help = match &problem {
        Problem::UnknownKey { allowed, .. } => Some(one_of("expected one of", allowed)),
        _ => None,
    };
    Finding { key: above, problem, help, origin: origin.clone() }
}

/// Applies one override to the document: a value, or a dimension of the sweep.
fn apply(shape: &Shape, document: &mut Node, key: &str, values: &[String], origin: &Origin) -> Option<Finding> {
    let conflict = |message: &str| {
        let problem = Problem::Conflict(message.to_owned());
        Some(Finding { key: key.to_owned(), problem, help: None, origin: origin.clone() })
    };
    if key == "sweep" || key.starts_with("sweep.") {
        return conflict(
            "`sweep` in a setting: expected several values of the key, such as workload.poisson.load=0.2,0.5",
        );
    }
    if let Err(e) = shape.exists(key, document) {
        return Some(unknown_key(e, origin));
    }
    let source = origin.source.expect("an override is a source");
    let takes_text = shape.takes_text(key, document);
    let nodes: Vec<Node> = values
        .iter()
        .map(|text| {
            let node = Node::parse_value(text, source, origin.span.clone());
            match node.value {
                Value::Text(_) => node,
                _ if takes_text => Node { value: Value::Text(text.trim().to_owned()), origin: node.origin },
                _ => node,
            }
        })
        .collect();
    match <[Node; 1]>::try_from(nodes) {
        Ok([node]) => {
            if let Value::Table(root) = &mut document.value
                && let Some((_, Node { value: Value::Table(sweep), .. })) = root.get_mut("sweep")
            {
                if let Some(together) = sweep.keys().find(|k| k.contains(',') && keys_of(k).contains(&key)) {
                    return conflict(&format!(
                        "one key of `{together}`, which the file sweeps together: expected all of them"
                    ));
                }
                sweep.shift_remove(key);
            }
            shape.set(document, key, node);
        }
        Err(nodes) if nodes.is_empty() => return conflict("missing value"),
        Err(nodes) => {
            let Value::Table(root) = &mut document.value else { return None };
            let made = || (origin.clone(), Node::table(origin.clone()));
            let (_, sweep) = root.entry("sweep".to_owned()).or_insert_with(made);
            if let Value::Table(sweep) = &mut sweep.value {
                sweep.insert(
                    key.to_owned(),
                    (origin.clone(), Node { value: Value::List(nodes), origin: origin.clone() }),
                );
            }
        }
    }
    None
}

/// Checks keys and values of the sweep, and sets swept keys that are absent to their first value.
fn check_sweep(shape: &Shape, document: &mut Node) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(Value::Table(sweep)) = document.child("sweep").map(|n| n.value.clone()) else { return findings };
    let mut points = 1usize;
    let mut swept = std::collections::BTreeSet::new();
    for (key, (origin, node)) in &sweep {
        let place = join("sweep", key);
        let mut conflict = |message: String, origin: &Origin| {
            let problem = Problem::Conflict(message);
            findings.push(Finding { key: place.clone(), problem, help: None, origin: origin.clone() });
        };
        // The check of the whole document rejects anything but a list.
        let Value::List(values) = &node.value else { continue };
        let keys = keys_of(key);
        if let Some(key) = keys.iter().find(|k| NOT_SWEPT.contains(&k.split('.').next().unwrap_or(k))) {
            conflict(format!("`{key}` in a sweep: expected another key, as it cannot be swept"), origin);
            continue;
        }
        if let Some(Err((above, problem))) = keys.iter().map(|k| shape.exists(k, document)).find(Result::is_err) {
            findings.push(unknown_key((join("sweep", &above), problem), origin));
            continue;
        }
        if let Some(twice) = keys.iter().find(|k| !swept.insert((**k).to_owned())) {
            conflict(format!("duplicate key `{twice}` in the sweep: expected it once"), origin);
            continue;
        }
        if let Some(other) = values.iter().find(|v| values_of(&keys, v).is_none()) {
            let message = format!("{}: expected a list of {} values, one for each key", other.to_json(), keys.len());
            conflict(message, &other.origin);
            continue;
        }
        if values.is_empty() {
            conflict("an empty list: expected at least one value".to_owned(), &node.origin);
        }
        for (i, value) in values.iter().enumerate() {
            let json = value.to_json();
            if values[..i].iter().any(|v| v.to_json() == json) {
                conflict(format!("duplicate value {json}: expected it once"), &value.origin);
            }
        }
        for (key, value) in values.iter().flat_map(|v| values_of(&keys, v).unwrap_or_default()) {
            findings.extend(shape.check_at(key, value, document));
        }
        points = points.saturating_mul(values.len().max(1));
        if points > MOST_POINTS {
            let problem = Problem::Conflict(format!("too many points: expected at most {MOST_POINTS}"));
            findings.push(Finding { key: place.clone(), problem, help: None, origin: origin.clone() });
            break;
        }
        for (key, first) in values.first().and_then(|v| values_of(&keys, v)).unwrap_or_default() {
            if document.at(key).is_none() {
                shape.set(document, key, first.clone());
            }
        }
    }
    findings
}
