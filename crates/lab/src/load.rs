//! What daemons of a lab have run, and how long they have waited for a core: the kernel's counts of
//! their threads (`/proc/PID/task/TID/schedstat`).
//!
//! A machine that does not keep up shows here, whatever else runs on it. Elapsed times show only
//! that something took long.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The counts of a thread since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    ran_ns: u64,
    waited_ns: u64,
    /// How often it got a core.
    times: u64,
}

/// A thread: its process and its number.
type Thread = (u32, u32);

/// The counts of all threads of some daemons at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads(BTreeMap<Thread, (String, Counts)>);

/// What threads have done between two times.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// CPU time of all threads.
    pub cpu_ms: f64,
    /// How long a thread that was to run waited for a core, on average.
    pub lag_us: f64,
    /// How often threads got a core.
    pub wakes: u64,
    /// CPU time by kind of thread.
    pub cpu_ms_of: BTreeMap<String, f64>,
    /// How often threads got a core, by kind.
    pub wakes_of: BTreeMap<String, u64>,
}

impl Threads {
    /// Adds the threads of a process. `kind` is the kind of daemon. A process that has ended adds
    /// none.
    pub fn read(&mut self, process: u32, kind: &str) {
        self.read_at(&Path::new("/proc").join(process.to_string()), process, kind);
    }

    fn read_at(&mut self, folder: &Path, process: u32, kind: &str) {
        for task in std::fs::read_dir(folder.join("task")).into_iter().flatten().flatten() {
            let Some(number) = task.file_name().to_str().and_then(|n| n.parse().ok()) else { continue };
            let text = |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
            let numbers: Vec<u64> = text("schedstat").split_whitespace().filter_map(|n| n.parse().ok()).collect();
            let [ran_ns, waited_ns, times] = numbers[..] else { continue };
            // Threads of programs have a number in their name.
            let name = text("comm");
            let name = name.split_whitespace().next().unwrap_or_default();
            let name = if number == process { format!("{kind}: loop") } else { format!("{kind}: {name}") };
            self.0.insert((process, number), (name, Counts { ran_ns, waited_ns, times }));
        }
    }

    /// What has been done since an earlier time. A thread that has started since counts from its
    /// start; one that has ended does not count.
    pub fn since(&self, before: &Self) -> Load {
        let (mut load, mut waited_ns) = (Load::default(), 0);
        for (thread, (name, now)) in &self.0 {
            let then = before.0.get(thread).map_or(Counts::default(), |(_, then)| *then);
            let cpu_ms = now.ran_ns.saturating_sub(then.ran_ns) as f64 / 1e6;
            let times = now.times.saturating_sub(then.times);
            load.cpu_ms += cpu_ms;
            load.wakes += times;
            waited_ns += now.waited_ns.saturating_sub(then.waited_ns);
            *load.cpu_ms_of.entry(name.clone()).or_default() += cpu_ms;
            *load.wakes_of.entry(name.clone()).or_default() += times;
        }
        load.lag_us = waited_ns as f64 / 1e3 / load.wakes.max(1) as f64;
        load
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(folder: &Path, number: u32, name: &str, schedstat: &str) {
        let task = folder.join("task").join(number.to_string());
        std::fs::create_dir_all(&task).unwrap();
        std::fs::write(task.join("comm"), format!("{name}\n")).unwrap();
        std::fs::write(task.join("schedstat"), schedstat).unwrap();
    }

    #[test]
    fn a_load_is_what_threads_have_done_meanwhile() {
        let folder = std::env::temp_dir().join(format!("tp-load-{}", std::process::id()));
        task(&folder, 7, "timeplane-lab", "5000000 900 3\n");
        task(&folder, 8, "api 12", "1000000 100 1\n");
        task(&folder, 9, "gone", "not numbers\n");
        let mut before = Threads::default();
        before.read_at(&folder, 7, "agent");
        task(&folder, 7, "timeplane-lab", "8000000 40900 5\n");
        task(&folder, 10, "api 13", "2000000 20000 4\n");
        let mut after = Threads::default();
        after.read_at(&folder, 7, "agent");
        std::fs::remove_dir_all(&folder).unwrap();
        let load = after.since(&before);
        assert_eq!((load.cpu_ms, load.wakes, load.lag_us), (5.0, 6, 10.0));
        let of: Vec<_> = load.cpu_ms_of.iter().map(|(name, ms)| (name.as_str(), *ms)).collect();
        assert_eq!(of, [("agent: api", 2.0), ("agent: loop", 3.0)]);
        assert_eq!(load.wakes_of["agent: loop"], 2);
        // Nothing has been done since now, and a process without number adds none.
        assert_eq!(after.since(&after), Load { cpu_ms_of: after.since(&after).cpu_ms_of, ..of_nothing(&after) });
        let mut none = Threads::default();
        none.read(0, "agent");
        assert_eq!(none, Threads::default());
    }

    fn of_nothing(threads: &Threads) -> Load {
        let kinds = threads.0.values().map(|(name, _)| (name.clone(), 0));
        Load { wakes_of: kinds.collect(), ..Load::default() }
    }
}
