//! What is run of a recording: a machine, a shape, a step of the protocol, and what is another one than on the machine.
use homenode_cluster::WhatIf;
use homenode_command::Failure;
use homenode_machine::{Machine, models};

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    /// Machine of the registry.
    pub(super) machine: &'static str,
    /// Nodes, and processors of each.
    pub(super) shape: (u16, u16),
    /// Bytes of a page.
    pub(super) page: u64,
    /// Step of the protocol.
    pub(super) step: &'static str,
    /// What is another one, as on the command line.
    pub(super) what_if: Vec<String>,
}

/// Points of a parameter in a figure.
pub(super) struct Sweep {
    /// Figure of the study.
    pub(super) figure: &'static str,
    /// Parameter, as on the command line.
    pub(super) parameter: &'static str,
    /// Points, from the best to the worst.
    pub(super) points: &'static [u64],
    /// Of them, that of table 1.1 which can be achieved, and the best there.
    pub(super) achievable: u64,
    /// The best of table 1.1, which is no point of the figure for the occupancy.
    pub(super) best: u64,
}

/// Figures 1.3 to 1.6, in the printed order of importance.
pub(super) static SWEEPS: [Sweep; 4] = [
    Sweep {
        figure: "1.6",
        parameter: "interrupts",
        points: &[0, 500, 1000, 2500, 5000, 10_000, 50_000],
        achievable: 500,
        best: 0,
    },
    Sweep { figure: "1.5", parameter: "io", points: &[2000, 1000, 500, 250], achievable: 500, best: 2000 },
    Sweep { figure: "1.3", parameter: "overhead", points: &[0, 600, 1000, 5000, 10_000], achievable: 600, best: 0 },
    Sweep {
        figure: "1.4",
        parameter: "occupancy",
        points: &[50, 250, 500, 1000, 2000, 10_000],
        achievable: 1000,
        best: 200,
    },
];

/// Processors of a node in figure 1.7, of 16 in all.
pub(super) const CLUSTERS: [u16; 4] = [1, 4, 8, 16];
/// Bytes of pages (O6 of the model).
pub(super) const PAGES: [u64; 5] = [1024, 2048, 4096, 8192, 16_384];
/// Nodes and processors that were emulated (section 1.5).
pub(super) const EMULATED: [(u16, u16); 6] = [(8, 4), (4, 8), (2, 16), (16, 4), (8, 8), (4, 16)];
/// Steps of the ladder.
pub(super) const LADDER: [&str; 5] = ["base", "dw", "rf", "dd", "nil"];
const ALL: u16 = 16;
const PAGE: u64 = 4096;
const EMULATED_PAGE: u64 = 16_384;
/// What a notification alone costs, half of it issue (table 1.5).
pub(super) const NOTIFICATION: &str = "interrupts=2800";
/// Options that the emulated protocol has (section 1.5.1).
pub(super) const OPTIONS: [&str; 3] = ["prefetch", "sorted", "tickets"];

impl Setting {
    /// Base on the machine with achievable values.
    pub(super) fn achievable() -> Setting {
        Setting { machine: "svm-achievable", shape: (4, 4), page: PAGE, step: "base", what_if: Vec::new() }
    }
    /// Base with the best values.
    pub(super) fn best() -> Setting {
        Setting { machine: "svm-best", ..Setting::achievable() }
    }
    /// The cluster that was measured, by a step.
    pub(super) fn measured(step: &'static str) -> Setting {
        Setting { machine: "svm-myrinet", step, ..Setting::achievable() }
    }
    /// The emulated cluster, by the last step.
    pub(super) fn emulated(shape: (u16, u16)) -> Setting {
        Setting { machine: "svm-origin", shape, page: EMULATED_PAGE, step: "nil", what_if: Vec::new() }
    }
    /// With one thing more that is another one.
    pub(super) fn with(mut self, what_if: impl Into<String>) -> Setting {
        self.what_if.push(what_if.into());
        self
    }
    /// One point of a figure.
    pub(super) fn point(sweep: &Sweep, value: u64) -> Setting {
        match value == sweep.achievable {
            true => Setting::achievable(),
            false => Setting::achievable().with(format!("{}={value}", sweep.parameter)),
        }
    }
    /// So many processors a node, of 16.
    pub(super) fn clustered(processors: u16) -> Setting {
        Setting { shape: (ALL / processors, processors), ..Setting::achievable() }
    }
    /// Pages of that size.
    pub(super) fn paged(page: u64) -> Setting {
        Setting { page, ..Setting::achievable() }
    }
    /// Name among kept results.
    pub(super) fn name(&self) -> String {
        let (nodes, processors) = self.shape;
        format!("{} {nodes}x{processors} {} {} {}", self.machine, self.page, self.step, self.what_if.join(" "))
    }
    /// What runs of the same binding have in common.
    pub(super) fn binding(&self) -> (&'static str, (u16, u16), u64) {
        (self.machine, self.shape, self.page)
    }
    /// The machine with this shape and page.
    ///
    /// # Errors
    /// None: it is in the registry.
    pub(super) fn machine(&self) -> Result<Machine, Failure> {
        let mut machine =
            models::find(self.machine).ok_or_else(|| Failure::work(format!("no machine '{}'", self.machine)))?;
        let (nodes, processors) = self.shape;
        machine.shape.cores = vec![processors; nodes.into()];
        machine.shape.page_bytes = self.page;
        Ok(machine)
    }
    /// What is another one.
    ///
    /// # Errors
    /// None: the words are known.
    pub(super) fn what_ifs(&self) -> Result<Vec<WhatIf>, Failure> {
        self.what_if.iter().map(|w| w.parse().map_err(Failure::work)).collect()
    }
}

/// All that is run of a program whose row of table 1.2 counts.
pub(super) fn simulated() -> Vec<Setting> {
    let mut all = vec![Setting::achievable(), Setting::best()];
    for sweep in &SWEEPS {
        all.extend(sweep.points.iter().map(|value| Setting::point(sweep, *value)));
        all.push(Setting::point(sweep, sweep.best));
    }
    all.extend(CLUSTERS.map(Setting::clustered));
    all.extend(PAGES.map(Setting::paged));
    for base in [Setting::achievable(), Setting::best()] {
        all.push(base.with("local-faults"));
    }
    all.push(Setting::achievable().with("no-protect"));
    all.push(Setting::achievable().with("round-robin"));
    all.push(Setting::achievable().with("interrupts=10000").with("round-robin"));
    unique(all)
}

/// What claims look at, of all that.
pub(super) fn judged() -> Vec<Setting> {
    let mut all = vec![Setting::achievable(), Setting::best()];
    for sweep in &SWEEPS {
        let ends = [sweep.points[0], sweep.best, sweep.points[sweep.points.len() - 1]];
        all.extend(ends.map(|value| Setting::point(sweep, value)));
        let at = sweep.points.iter().position(|p| *p == sweep.achievable).unwrap_or(0);
        all.extend(sweep.points.get(at + 1).map(|value| Setting::point(sweep, *value)));
    }
    all.extend([1000, 2500, 10_000].map(|value| Setting::point(&SWEEPS[0], value)));
    all.extend(CLUSTERS.map(Setting::clustered));
    all.extend([Setting::achievable(), Setting::best()].map(|base| base.with("local-faults")));
    all.push(Setting::achievable().with("no-protect"));
    unique(all)
}

/// All that is run of a program whose row of table 1.3 counts.
pub(super) fn measured() -> Vec<Setting> {
    let mut all: Vec<Setting> = LADDER.map(Setting::measured).into();
    all.extend(["base", "nil"].map(|step| Setting::measured(step).with(NOTIFICATION)));
    unique(all)
}

/// All that is run of a program that was emulated, by processors in all.
pub(super) fn emulated(processors: u32) -> Vec<Setting> {
    let shapes = EMULATED.iter().filter(|(n, p)| u32::from(*n) * u32::from(*p) == processors);
    let mut all: Vec<Setting> = Vec::new();
    for (n, shape) in shapes.enumerate() {
        all.push(Setting::emulated(*shape));
        if n == 0 {
            all.extend(OPTIONS.map(|option| Setting::emulated(*shape).with(option)));
        }
    }
    unique(all)
}

/// Whatever is run of any program.
pub(super) fn all() -> Vec<Setting> {
    let emulated = super::EMULATED.iter().flat_map(|processors| emulated(*processors));
    unique(simulated().into_iter().chain(judged()).chain(measured()).chain(emulated).collect())
}

fn unique(mut all: Vec<Setting>) -> Vec<Setting> {
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_runs_have_one_name() {
        let mut names: Vec<String> = all().iter().map(Setting::name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert!(count > 40 && names.len() == count, "{} names of {count} runs", names.len());
    }

    #[test]
    fn every_setting_is_one_of_a_machine_and_has_a_name_of_its_own() {
        let all: Vec<Setting> = [simulated(), measured(), emulated(32), emulated(64)].into_iter().flatten().collect();
        for setting in &all {
            assert!(setting.machine().expect("in the registry").sections.network.is_some(), "{}", setting.name());
            assert_eq!(setting.what_ifs().expect("known").len(), setting.what_if.len());
        }
        assert!(judged().iter().all(|s| simulated().contains(s)), "less of the same");
        let names: std::collections::BTreeSet<String> = all.iter().map(Setting::name).collect();
        assert_eq!(names.len(), all.len());
        assert_eq!(emulated(32).len(), 6);
    }

    #[test]
    fn a_point_that_can_be_achieved_is_the_machine() {
        for sweep in &SWEEPS {
            assert!(sweep.points.contains(&sweep.achievable), "{}", sweep.parameter);
            assert_eq!(Setting::point(sweep, sweep.achievable), Setting::achievable());
        }
    }
}
