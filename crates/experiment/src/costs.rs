//! The wall time of runs, learnt from other runs of the same scheme: which run is next, and how
//! long all of them still take. Runs are on threads of this process, or go elsewhere in batches.
//!
//! The longest runs go first, so that no core waits for the last of them. What takes long is only
//! known of a kind (a scheme at a point) once a run of it has ended. So one run of each kind goes
//! before all others. The machine may do other work, so all times are relative to its pace, which
//! every run of a known kind tells. Times are in seconds since some start.

use crate::planned::PlannedRun;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

/// The completed share from which on a run tells how long it takes.
const TELLING: f64 = 0.02;
/// The share by which a run has to grow, or it does not go on.
const STEP: f64 = 0.001;
/// The longest batch of runs, in seconds: a worker asks for the next one in far less.
const BATCH: f64 = 0.5;
/// The longest batch as a share of the time that is left, so that workers end together.
const SHARE: f64 = 0.25;
/// The most runs of a batch, whose files are in memory at once.
const MOST: usize = 64;
/// How much of a run's deviation in time per event is put down to the machine's pace. The rest is
/// its seed's.
const LEARNT: f64 = 0.3;
/// From how many seconds on a run tells that much. A shorter one may only have met a moment of
/// other work, so it tells less in proportion.
const LONG: f64 = 10.0;

/// The mean of what was added so far.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// A run in progress.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// Infinite as long as it waits for a worker elsewhere.
    began: f64,
    /// The completed share, 0 to 1.
    fraction: f64,
    /// The share when it last grew by a [`STEP`], and when that was.
    grown: (f64, f64),
}

impl UnderWay {
    /// The time of the whole run, if it goes on like this.
    fn projected(self, now: f64) -> Option<f64> {
        (self.fraction > TELLING).then(|| (now - self.began) / self.fraction)
    }

    fn elapsed(self, now: f64) -> f64 {
        (now - self.began).max(0.0)
    }

    /// How long it has hardly gone on. The last flows of a run may wait for their timers when
    /// nearly all bytes have arrived; as long as they have waited, they may wait again.
    fn stalled(self, now: f64) -> f64 {
        if self.fraction > TELLING { now - self.grown.1 } else { 0.0 }
    }
}

/// The cost that was expected of a kind's runs, in a heap.
#[derive(Debug, PartialEq)]
struct Expected(f64, usize);

impl Eq for Expected {}

impl Ord for Expected {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of two that take as long, the first in the order of tables.
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Expected {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What runs take, and those that wait.
#[derive(Debug, Default)]
pub struct Costs {
    /// By run: its kind.
    kinds: Vec<usize>,
    /// By kind: its scheme.
    schemes: Vec<usize>,
    /// By kind: times of ended runs.
    ended: Vec<Mean>,
    /// By kind: times of ended runs for each event. Seeds differ in their events, and hardly in
    /// this.
    per_event: Vec<Mean>,
    /// By scheme: times of ended runs.
    ended_of_scheme: Vec<Mean>,
    ended_of_all: Mean,
    /// What the machine takes now, relative to the beginning. Means are relative to it.
    pace: f64,
    under_way: BTreeMap<usize, UnderWay>,
    /// The first runs of batches that wait for a worker elsewhere.
    queued: VecDeque<usize>,
    /// By kind: runs that wait.
    waiting: Vec<VecDeque<usize>>,
    /// The next kind of which no run has begun, or more.
    next_kind: usize,
    /// Kinds with known costs; those that are out of date are passed over.
    known: BinaryHeap<Expected>,
}

impl Costs {
    /// The costs of these runs. None of them waits.
    pub fn new(planned: &[PlannedRun]) -> Self {
        let mut costs = Self { pace: 1.0, ..Self::default() };
        let mut schemes = HashMap::new();
        let mut kinds = HashMap::new();
        for run in planned {
            let count = schemes.len();
            let scheme = *schemes.entry(run.scheme.as_str()).or_insert(count);
            let kind = *kinds.entry((run.point, scheme)).or_insert_with(|| {
                costs.schemes.push(scheme);
                costs.schemes.len() - 1
            });
            costs.kinds.push(kind);
        }
        costs.ended = vec![Mean::default(); costs.schemes.len()];
        costs.per_event = costs.ended.clone();
        costs.waiting = vec![VecDeque::new(); costs.schemes.len()];
        costs.ended_of_scheme = vec![Mean::default(); schemes.len()];
        costs
    }

    /// These runs wait, and no others.
    pub fn wait_for(&mut self, runs: &[usize]) {
        self.waiting.iter_mut().for_each(VecDeque::clear);
        runs.iter().for_each(|&run| self.waiting[self.kinds[run]].push_back(run));
        self.next_kind = 0;
        self.known = (0..self.ended.len()).filter_map(|k| Some(Expected(self.ended[k].get()?, k))).collect();
    }

    /// Takes the run that is to begin next.
    pub fn next(&mut self, now: f64) -> Option<usize> {
        let kind = self.choose()?;
        self.take(kind, now)
    }

    /// Takes a batch of runs for one of `workers` workers elsewhere. A worker runs one at a time.
    /// Several runs are together if they take a short time only, of which little is left to
    /// balance. Empty if none waits.
    pub fn next_batch(&mut self, now: f64, workers: usize) -> Vec<usize> {
        let longest = self.left(now, workers).map_or(0.0, |left| BATCH.min(left * SHARE));
        let busy = self.under_way.values().filter(|u| u.began <= now).count();
        let (mut batch, mut seconds) = (Vec::new(), 0.0);
        while batch.len() < MOST
            && let Some(kind) = self.choose()
        {
            let each = self.ended[kind].get().or_else(|| self.ended_of_scheme[self.schemes[kind]].get());
            let each = each.map_or(f64::INFINITY, |each| each * self.pace);
            if !batch.is_empty() && seconds + each > longest {
                break;
            }
            seconds += each;
            batch.extend(self.take(kind, f64::INFINITY));
        }
        if let Some(&first) = batch.first() {
            self.queued.push_back(first);
            if busy < workers {
                self.begin_queued(now);
            }
        }
        batch
    }

    /// A worker begins the batch that has waited longest for one.
    fn begin_queued(&mut self, now: f64) {
        if let Some(under_way) = self.queued.pop_front().and_then(|first| self.under_way.get_mut(&first)) {
            under_way.began = now;
        }
    }

    /// A batch has come back, with the seconds that each run took.
    pub fn end_batch(&mut self, batch: &[(usize, f64)], now: f64) {
        for &(run, seconds) in batch {
            self.queued.retain(|&first| first != run);
            if let Some(under_way) = self.under_way.get_mut(&run) {
                under_way.began = now - seconds;
                // Its events are in its files. Without them, its time stands for that of an event.
                self.end(run, now, Some(1));
            }
        }
        self.begin_queued(now);
    }

    fn take(&mut self, kind: usize, began: f64) -> Option<usize> {
        let run = self.waiting[kind].pop_front()?;
        self.under_way.insert(run, UnderWay { began, fraction: 0.0, grown: (0.0, began) });
        Some(run)
    }

    /// The kind of the run that is to begin next.
    fn choose(&mut self) -> Option<usize> {
        let begun = |costs: &Self, kind: usize| {
            costs.ended[kind].count > 0 || costs.under_way.keys().any(|&run| costs.kinds[run] == kind)
        };
        while self.next_kind < self.waiting.len()
            && (self.waiting[self.next_kind].is_empty() || begun(self, self.next_kind))
        {
            self.next_kind += 1;
        }
        let unknown = (self.next_kind < self.waiting.len()).then_some(self.next_kind);
        unknown.or_else(|| self.longest()).or_else(|| self.waiting.iter().position(|w| !w.is_empty()))
    }

    /// Of the kinds with known costs and runs that wait, the one that takes longest.
    fn longest(&mut self) -> Option<usize> {
        loop {
            let Expected(seconds, kind) = self.known.peek()?;
            let (seconds, kind) = (*seconds, *kind);
            if self.ended[kind].get() == Some(seconds) && !self.waiting[kind].is_empty() {
                return Some(kind);
            }
            self.known.pop();
        }
    }

    /// A run has come this far.
    pub fn is_at(&mut self, run: usize, fraction: f64, now: f64) {
        if let Some(under_way) = self.under_way.get_mut(&run) {
            under_way.fraction = fraction;
            if fraction >= under_way.grown.0 + STEP {
                under_way.grown = (fraction, now);
            }
        }
    }

    /// A run has ended with this many events; `None` if it is not complete.
    pub fn end(&mut self, run: usize, now: f64, events: Option<u64>) {
        let Some(UnderWay { began, .. }) = self.under_way.remove(&run) else { return };
        if let Some(events) = events {
            let kind = self.kinds[run];
            let each = (now - began) / events.max(1) as f64;
            if let Some(mean) = self.per_event[kind].get().filter(|&mean| mean > 0.0) {
                let expected = mean * self.pace * events.max(1) as f64;
                let learnt = LEARNT * (expected.min(now - began) / LONG).clamp(0.0, 1.0);
                let deviation = (each / (mean * self.pace)).clamp(0.25, 4.0);
                self.pace *= 1.0 + learnt * (deviation - 1.0);
            }
            self.per_event[kind].add(each / self.pace);
            let took = (now - began) / self.pace;
            self.ended[kind].add(took);
            self.ended_of_scheme[self.schemes[kind]].add(took);
            self.ended_of_all.add(took);
            self.known.extend(self.ended[kind].get().map(|seconds| Expected(seconds, kind)));
        }
    }

    /// How long the waiting runs and those in progress still take with this many at the same time.
    /// `None` if that cannot be known yet.
    pub fn left(&self, now: f64, jobs: usize) -> Option<f64> {
        let mut projected = BTreeMap::<usize, Mean>::new();
        let mut of_all = Mean::default();
        for (run, under_way) in &self.under_way {
            if let Some(seconds) = under_way.projected(now) {
                projected.entry(self.kinds[*run]).or_default().add(seconds);
                of_all.add(seconds);
            }
        }
        let expected = |kind: usize| {
            let ended = |mean: Mean| mean.get().map(|seconds| seconds * self.pace);
            let known = ended(self.ended[kind]).or_else(|| projected.get(&kind)?.get());
            let known = known.or_else(|| ended(self.ended_of_scheme[self.schemes[kind]]));
            known.or_else(|| ended(self.ended_of_all)).or(of_all.get())
        };
        let (mut work, mut longest) = (0.0, 0.0f64);
        for (&run, under_way) in &self.under_way {
            let kind = expected(self.kinds[run])?;
            // Its own progress counts the more, the further it is.
            let own = under_way.projected(now).unwrap_or(kind);
            let total = own * under_way.fraction + kind * (1.0 - under_way.fraction);
            let left = (total - under_way.elapsed(now)).max(under_way.stalled(now));
            work += left;
            longest = longest.max(left);
        }
        for (kind, waiting) in self.waiting.iter().enumerate().filter(|(_, w)| !w.is_empty()) {
            let each = expected(kind)?;
            work += each * waiting.len() as f64;
            longest = longest.max(each);
        }
        Some(longest.max(work / jobs.max(1) as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmap::IndexMap;

    /// Two points, of three schemes each, with four seeds.
    fn planned() -> Vec<PlannedRun> {
        let mut all = Vec::new();
        for point in 0..2 {
            for scheme in ["short", "long", "middle"] {
                for seed in 0..4 {
                    let (values, key, complete) = (IndexMap::new(), String::new(), false);
                    all.push(PlannedRun { point, values, scheme: scheme.to_owned(), seed, key, complete });
                }
            }
        }
        all
    }

    fn takes(run: &PlannedRun) -> f64 {
        let point = run.point as f64 + 1.0;
        point
            * match run.scheme.as_str() {
                "short" => 1.0,
                "middle" => 5.0,
                _ => 20.0,
            }
    }

    /// What was thought to be left, by time.
    type Left = Vec<(f64, Option<f64>)>;

    /// Runs everything, two at a time, on a machine that is twice as slow before some time. Returns
    /// what was next, what was thought to be left by time, and when the last run ended.
    fn all(planned: &[PlannedRun], slow_until: f64) -> (Vec<usize>, Left, f64) {
        let mut costs = Costs::new(planned);
        costs.wait_for(&(0..planned.len()).collect::<Vec<_>>());
        let (mut now, mut order, mut left) = (0.0, Vec::new(), Vec::new());
        let mut running: Vec<(f64, f64, usize)> = Vec::new();
        loop {
            while running.len() < 2
                && let Some(run) = costs.next(now)
            {
                order.push(run);
                let takes = takes(&planned[run]) * if now < slow_until { 2.0 } else { 1.0 };
                running.push((now + takes, takes, run));
            }
            running.sort_by(|a, b| b.0.total_cmp(&a.0));
            for &(ends, takes, run) in &running {
                costs.is_at(run, 1.0 - (ends - now) / takes, now);
            }
            left.push((now, costs.left(now, 2)));
            let Some(&(ends, _, run)) = running.last() else { return (order, left, now) };
            // Once on the way, and once at the end of the first.
            if ends - now > 0.5 {
                now += 0.5;
            } else {
                now = ends;
                running.pop();
                costs.end(run, now, Some(1000));
            }
        }
    }

    #[test]
    fn one_of_each_kind_goes_first_and_then_the_longest() {
        let planned = planned();
        let (order, ..) = all(&planned, 0.0);
        let kinds: Vec<_> = order.iter().map(|&r| (planned[r].point, planned[r].scheme.as_str())).collect();
        assert_eq!(kinds[..6], [(0, "short"), (0, "long"), (0, "middle"), (1, "short"), (1, "long"), (1, "middle")]);
        assert_eq!(kinds[18..], [(1, "short"), (1, "short"), (1, "short"), (0, "short"), (0, "short"), (0, "short")]);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..planned.len()).collect::<Vec<_>>(), "each runs once");
    }

    #[test]
    fn what_is_left_is_known_once_each_kind_has_run() {
        let planned = planned();
        let (_, left, end) = all(&planned, 0.0);
        let known = left.iter().filter(|(now, _)| (0.25..0.95).contains(&(now / end)));
        for (now, left) in known {
            let (left, is) = (left.expect("known"), end - now);
            assert!((0.7..1.3).contains(&(left / is)), "at {now} of {end} s: {left}, it takes {is}");
        }
        let work: f64 = planned.iter().map(takes).sum();
        assert!(end < work / 2.0 * 1.05, "both are busy until the end: {end}, work {work}");
        assert!(left[0].1.is_none() && left.last().is_some_and(|l| l.1 == Some(0.0)));
    }

    #[test]
    fn a_machine_that_becomes_faster_is_noticed() {
        let many: Vec<PlannedRun> = (0..8).flat_map(|_| planned()).collect();
        let (_, left, end) = all(&many, 400.0);
        let late = left.iter().filter(|(now, _)| (0.6..0.95).contains(&(now / end)));
        for (now, left) in late {
            let (left, is) = (left.expect("known"), end - now);
            assert!((0.7..1.3).contains(&(left / is)), "at {now} of {end} s: {left}, it takes {is}");
        }
    }

    /// Of 300 short runs, three in a row meet other work of the machine.
    #[test]
    fn a_moment_of_other_work_is_no_slower_machine() {
        let planned: Vec<PlannedRun> = (0..75).flat_map(|_| planned().into_iter().take(4)).collect();
        let mut costs = Costs::new(&planned);
        costs.wait_for(&(0..planned.len()).collect::<Vec<_>>());
        let mut now = 0.0;
        for number in 0..150 {
            let run = costs.next(now).expect("one waits");
            now += if (140..143).contains(&number) { 0.4 } else { 0.1 };
            costs.end(run, now, Some(1000));
        }
        let left = costs.left(now, 1).expect("known");
        assert!((13.5..16.5).contains(&left), "{left} s, it takes 15 s");
    }

    /// A seed with twice the events takes twice as long: the next one is not expected to.
    #[test]
    fn a_seed_with_more_events_is_no_slower_machine() {
        let planned = planned();
        let mut costs = Costs::new(&planned);
        costs.wait_for(&[0, 1, 2, 3]);
        let mut now = 0.0;
        for events in [100, 100, 200] {
            let run = costs.next(now).expect("one waits");
            now += events as f64 / 100.0;
            costs.end(run, now, Some(events));
        }
        assert_eq!(costs.left(now, 1), Some(4.0 / 3.0), "the mean of 1, 1 and 2 s");
    }

    /// The last flows of a run wait for their timers, and nobody knows for how long.
    #[test]
    fn a_run_that_hardly_goes_on_is_not_about_to_end() {
        let planned = planned();
        let mut costs = Costs::new(&planned);
        costs.wait_for(&[0]);
        costs.next(0.0);
        costs.is_at(0, 0.999, 10.0);
        for (now, fraction) in [(20.0, 0.999_1), (40.0, 0.999_2)] {
            costs.is_at(0, fraction, now);
            assert_eq!(costs.left(now, 1), Some(now - 10.0), "as long as it has waited");
        }
        costs.is_at(0, 1.0, 50.0);
        assert_eq!(costs.left(50.0, 1), Some(0.0));
    }

    #[test]
    fn what_was_cancelled_teaches_nothing() {
        let planned = planned();
        let mut costs = Costs::new(&planned);
        costs.wait_for(&[0, 1, 4]);
        assert_eq!((costs.next(0.0), costs.next(0.0)), (Some(0), Some(4)), "a kind at a time");
        costs.end(0, 0.1, None);
        assert_eq!(costs.left(0.1, 1), None);
        costs.is_at(4, 0.5, 10.0);
        assert_eq!(costs.left(10.0, 1), Some(30.0), "10 s of it, and another like it");
        assert_eq!((costs.next(10.0), costs.next(10.0)), (Some(1), None));
    }

    /// Runs everything on workers elsewhere, with a batch more at each than it runs. Returns the
    /// batches, what was thought to be left by time, and when the last run ended.
    fn elsewhere(planned: &[PlannedRun], workers: usize, scale: f64) -> (Vec<Vec<usize>>, Left, f64) {
        let mut costs = Costs::new(planned);
        costs.wait_for(&(0..planned.len()).collect::<Vec<_>>());
        let (mut now, mut batches, mut left) = (0.0, Vec::new(), Vec::new());
        let mut free_at: Vec<f64> = vec![0.0; workers];
        let mut out: Vec<(f64, Vec<(usize, f64)>)> = Vec::new();
        loop {
            while out.len() < 2 * workers {
                let batch = costs.next_batch(now, workers);
                if batch.is_empty() {
                    break;
                }
                batches.push(batch.clone());
                let took: Vec<(usize, f64)> = batch.iter().map(|&r| (r, takes(&planned[r]) * scale)).collect();
                let worker = free_at.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
                *worker = worker.max(now) + took.iter().map(|t| t.1).sum::<f64>();
                out.push((*worker, took));
            }
            out.sort_by(|a, b| b.0.total_cmp(&a.0));
            let Some((ends, batch)) = out.pop() else { return (batches, left, now) };
            now = ends;
            costs.end_batch(&batch, now);
            left.push((now, costs.left(now, workers)));
        }
    }

    #[test]
    fn runs_elsewhere_go_longest_first_and_end_together() {
        let many: Vec<PlannedRun> = (0..4).flat_map(|_| planned()).collect();
        let (batches, left, end) = elsewhere(&many, 2, 1.0);
        assert!(batches.iter().all(|b| b.len() == 1), "each takes long");
        let work: f64 = many.iter().map(takes).sum();
        assert!(end < work / 2.0 * 1.05, "both are busy until the end: {end}, work {work}");
        for (now, left) in left.iter().filter(|(now, _)| (0.5..0.9).contains(&(now / end))) {
            let (left, is) = (left.expect("known"), end - now);
            assert!((0.7..1.3).contains(&(left / is)), "at {now} of {end} s: {left}, it takes {is}");
        }
    }

    #[test]
    fn short_runs_go_elsewhere_in_batches_that_shrink() {
        let many: Vec<PlannedRun> = (0..50).flat_map(|_| planned()).collect();
        let (batches, left, end) = elsewhere(&many, 2, 1e-3);
        let mut all: Vec<usize> = batches.iter().flatten().copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..many.len()).collect::<Vec<_>>(), "each once");
        assert!(batches.iter().map(Vec::len).max() <= Some(MOST) && batches.len() < many.len() / 8, "{batches:?}");
        let work: f64 = many.iter().map(takes).sum::<f64>() * 1e-3;
        assert!(end < work / 2.0 * 1.05, "both are busy until the end: {end}, work {work}");
        assert_eq!(left.last().map(|l| l.1), Some(Some(0.0)));
    }
}
