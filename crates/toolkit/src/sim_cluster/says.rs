//! Sentences on rows: none says what its table does not.
use super::doc::{Compared, RowDoc, SimClusterDoc};
use super::tables::mean;
use homenode_cluster::{Server, TIMES};
use homenode_svmrun::Advice;

/// Share of the ideal speedup above which nothing is to be explained.
const NEARLY: f64 = 0.9;
/// Percent of the time below which nothing is said of a cause: threads that come to locks in another order change as much.
const LEAST: f64 = 5.0;
/// Percent of the run from which a server limits, and below which none does.
const LIMITS: f64 = 75.0;
const IDLES: f64 = 40.0;
/// Changes that a sentence names.
const NAMED: usize = 3;

/// What is between a row's speedup and the ideal one; `changed` are the rows of which something is another one.
pub(super) fn cause(r: &RowDoc, changed: &[RowDoc]) -> String {
    let mut said = format!("speedup {:.2}, and {:.2} if only computing and local misses took time", r.speedup, r.ideal);
    if r.speedup >= NEARLY * r.ideal {
        return said + ": there is little to explain";
    }
    // What comes behind the first two classes, computing and local misses.
    let lost = TIMES[2..].iter().map(|(name, of)| (*name, r.share(of(&r.row))));
    let Some((class, share)) = lost.max_by(|a, b| a.1.total_cmp(&b.1)) else { return said };
    said += &format!("; most of the rest is {class}, {share:.1} % of the processors' time");
    if class == "barrier" || class == "idle" {
        said += &uneven(r);
    }
    said + &by_changes(r, changed)
}

/// How unevenly work is shared out, at least.
fn uneven(r: &RowDoc) -> String {
    let processors = f64::from(r.row.nodes) * f64::from(r.row.processors);
    let work = (r.row.compute + r.row.local) as f64 / processors;
    let percent = 100.0 * (r.row.most_work as f64 - work) / r.row.cycles.max(1) as f64;
    if percent < LEAST {
        return String::new();
    }
    let times = r.row.most_work as f64 / work.max(1.0);
    format!(
        " (one processor has {times:.1} times the mean of computing and local misses: {percent:.0} % of the time at least is that)"
    )
}

/// What the changes that were asked for say of the cause.
fn by_changes(r: &RowDoc, changed: &[RowDoc]) -> String {
    let alone = changed.iter().filter(|c| c.compared != Some(Compared::All));
    let of = |c: &RowDoc| Some((c.what_if.clone()?, c.saves_percent?, c.row.cycles));
    let Some((what, saves, cycles)) = alone.filter_map(of).max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return "; cannot tell why without --what-if or --compare".to_owned();
    };
    if saves < LEAST {
        return format!("; cannot tell why: no change that was asked for saves {LEAST:.0} % by itself");
    }
    let ideal = r.row.sequential as f64 / r.ideal;
    let closed = 100.0 * (r.row.cycles - cycles) as f64 / (r.row.cycles as f64 - ideal);
    format!(
        "; of what was asked for, {what} takes most of it away: {saves:.1} % of the time, {closed:.0} % of what is beyond the ideal one's"
    )
}

/// Which kind of server limits.
pub(super) fn limit(r: &RowDoc) -> String {
    let most = r.row.servers.iter().max_by(|a, b| a.busiest.cmp(&b.busiest)).filter(|s| s.busiest > 0);
    let queue = r.row.servers.iter().max_by_key(|s| s.waits.waited);
    let (Some(most), Some(queue)) = (most, queue) else {
        return "cannot tell what limits: nothing went over a bus, an interface or a link".to_owned();
    };
    let used = r.used(most);
    let of = |s: &Server| format!("the busiest {}", s.name);
    let said = match used {
        u if u >= LIMITS => format!("{} limits: it is at work {u:.0} % of the run", of(most)),
        u if u >= IDLES => format!("{} is used most, {u:.0} % of the run: what comes has to wait for it", of(most)),
        u => format!("no bus, interface or link limits the run as a whole: {} is used most, {u:.0} % of it", of(most)),
    };
    if queue.waits.waited == 0 {
        return said + "; nothing waits in front of any";
    }
    format!(
        "{said}; most waiting is in front of the {}, {:.0} cycles on average before {:.0} of service",
        queue.name,
        mean(queue.waits.waited, queue),
        mean(queue.waits.busy, queue)
    )
}

impl SimClusterDoc {
    /// What was run on what.
    pub(super) fn subject(&self) -> String {
        let phase = self.phase.as_ref().map_or(String::new(), |p| format!(", phase {p}"));
        format!("{} on {}{phase}, pages of {} B", self.dataset, self.machine, self.page_bytes)
    }

    /// A sentence of each row of the machine as it is, behind what the row is of.
    pub(super) fn said<'r>(&'r self, sentence: impl Fn(&'r RowDoc) -> Option<&'r String>) -> Vec<String> {
        let of = |r: &'r RowDoc| Some(format!("{} {}: {}", r.shape(), r.row.protocol, sentence(r)?));
        self.plain().filter_map(of).collect()
    }

    /// What the program could do without, by rows of the machine as it is.
    pub(super) fn advised(&self) -> Vec<String> {
        let of = |r: &RowDoc| {
            let front = format!("{} {}", r.shape(), r.row.protocol);
            let whole = r.row.cycles as f64 / (1e6 * self.mhz.max(1) as f64);
            let one = |a: &Advice| {
                let share = 100.0 * a.seconds / whole.max(f64::MIN_POSITIVE);
                format!("{front}: {:.3} ms a thread ({share:.0} %): {}", 1e3 * a.seconds, a.text)
            };
            let nothing = r.without_advice.iter().map(|why| format!("{front}: {why}"));
            r.advice.iter().map(one).chain(nothing).collect::<Vec<String>>()
        };
        self.plain().flat_map(of).collect()
    }

    /// What reads saw, if they were checked.
    pub(super) fn checked(&self) -> Vec<String> {
        let of = |r: &RowDoc| {
            let (read, stale) = (r.row.read?, r.row.stale?);
            let what = match stale {
                0 => "every one as it was written last".to_owned(),
                n => format!(
                    "{n} not as they were written last: data races of the program, synchronisation that the protocol does not see, or a mistake"
                ),
            };
            let what_if = self.change(r).map_or(String::new(), |w| format!(" {w}"));
            Some(format!("{} {}{what_if}: {read} words read from shared pages, {what}", r.shape(), r.row.protocol))
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// What faults were injected.
    pub(super) fn injected(&self) -> Vec<String> {
        self.rows.iter().filter_map(|r| super::wrong::injected(&r.row, self.change(r).as_deref())).collect()
    }

    /// What a machine that is compared with saves.
    pub(super) fn compared(&self) -> Vec<String> {
        let Some(other) = &self.compare else { return Vec::new() };
        let of = |(plain, changed): (&RowDoc, Vec<&RowDoc>)| {
            let saves = |wanted| {
                let of = changed.iter().filter(move |r| r.compared == Some(wanted));
                of.filter_map(|r| Some((r.what_if.as_ref()?, r.saves_percent?)))
            };
            let all = saves(Compared::All).next()?;
            let mut each: Vec<_> = saves(Compared::One).collect();
            each.retain(|(_, saves)| *saves > 0.0);
            each.sort_by(|a, b| b.1.total_cmp(&a.1));
            let most = each.iter().take(NAMED).map(|(what, saves)| format!("{what} alone saves {saves:.1} %"));
            let class = TIMES[2..].iter().map(|(name, of)| (*name, plain.share(of(&plain.row))));
            let (name, share) = class.max_by(|a, b| a.1.total_cmp(&b.1))?;
            let most = most.collect::<Vec<_>>().join(", ");
            let most = if most.is_empty() { "nothing of it alone saves any".to_owned() } else { most };
            Some(format!(
                "{} {}: {share:.0} % of the time is {name}; all parameters as {other} has them save {:.1} % (sizes of lines and pieces stay): {most}",
                plain.shape(),
                plain.row.protocol,
                all.1,
            ))
        };
        self.beside().filter_map(of).collect()
    }
}
