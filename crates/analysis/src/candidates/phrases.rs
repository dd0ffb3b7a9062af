//! Words for people.
use super::fought::{Blame, Fought, Used};
use crate::names::{Names, ObjectName, SiteName};
use std::collections::BTreeMap;

/// `thread 3`, `threads 0-7`, `threads 0-3, 8 and 10`; at most `RUNS` runs are spelt out.
pub(crate) fn threads(ids: &[u32]) -> String {
    const RUNS: usize = 4;
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &id in ids {
        match runs.last_mut() {
            Some((_, to)) if to.checked_add(1) == Some(id) => *to = id,
            _ => runs.push((id, id)),
        }
    }
    let word = if ids.len() == 1 { "thread" } else { "threads" };
    let mut parts: Vec<String> =
        runs.iter().take(RUNS).map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    if runs.len() > RUNS {
        let more: u64 = runs[RUNS..].iter().map(|r| u64::from(r.1 - r.0) + 1).sum();
        parts.push(format!("{more} more"));
    }
    format!("{word} {}", list(&parts))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// `12 bytes`, `4 KiB`, `16.5 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} byte{}", if n == 1 { "" } else { "s" });
    }
    let power = (n.ilog2() / 10).min(units.len() as u32);
    let tenths = (u128::from(n) * 10 + (1u128 << (10 * power)) / 2) >> (10 * power);
    let fraction = if tenths.is_multiple_of(10) { String::new() } else { format!(".{}", tenths % 10) };
    format!("{}{fraction} {}", tenths / 10, units[power as usize - 1])
}

/// `function, file:line` as far as known.
pub(crate) fn code(site: &SiteName) -> String {
    if site.function.is_empty() { site.place.clone() } else { format!("{}, {}", site.function, site.place) }
}

/// The code of blame.
pub(crate) fn sites(blame: &[Blame]) -> Vec<SiteName> {
    blame.iter().map(|b| b.name.clone()).collect()
}

/// ` (work, lreg.c:7-11; main, lreg.c:20)`: each function and file once, lines in runs; nothing if nothing is known.
pub(crate) fn at(sites: &[Blame]) -> String {
    // By (function, file): lines, in order of first appearance.
    let mut found: Vec<((&str, &str), Vec<u32>)> = Vec::new();
    for site in sites {
        let (file, line) = match site.name.place.rsplit_once(':') {
            Some((file, line)) if line.parse::<u32>().is_ok() => (file, line.parse().ok()),
            _ => (site.name.place.as_str(), None),
        };
        let key = (site.name.function.as_str(), file);
        match found.iter_mut().find(|f| f.0 == key) {
            Some(f) => f.1.extend(line),
            None => found.push((key, line.into_iter().collect())),
        }
    }
    let code = |((function, file), lines): ((&str, &str), Vec<u32>)| {
        let place = if lines.is_empty() { file.to_owned() } else { format!("{file}:{}", runs(lines)) };
        if function.is_empty() { place } else { format!("{function}, {place}") }
    };
    match found.is_empty() {
        true => String::new(),
        false => format!(" ({})", found.into_iter().map(code).collect::<Vec<_>>().join("; ")),
    }
}

/// `7-11`, `7, 9 and 12-14`.
fn runs(mut lines: Vec<u32>) -> String {
    lines.sort_unstable();
    lines.dedup();
    let runs = lines.chunk_by(|a, b| a + 1 == *b);
    let parts: Vec<String> = runs
        .map(|r| match r {
            [one] => one.to_string(),
            more => format!("{}-{}", more[0], more[more.len() - 1]),
        })
        .collect();
    list(&parts)
}

/// `` `a` ``, `` `a` and `b` ``, `` `a`, `b` and 3 more ``.
pub(crate) fn names(case: &Fought<'_>) -> String {
    const NAMED: usize = 3;
    let mut parts: Vec<String> = case.objects.iter().take(NAMED).map(|o| format!("`{}`", o.row.name)).collect();
    if case.objects.len() > NAMED {
        parts.push(format!("{} more", case.objects.len() - NAMED));
    }
    list(&parts)
}

/// Where words lie in their objects: `` `s.count` `` where the type is known, else `` `s` +0 and +16 ``; at most a few are
/// spelt out.
pub(crate) fn fields(words: &[&Used<'_>], names: &dyn Names) -> String {
    const NAMED: usize = 4;
    let mut labels: Vec<String> = Vec::new();
    let mut offsets: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    // An array of structures has a few fields and many words.
    for used in words.iter().take(256) {
        match names.field(used.object, used.addr).filter(|f| !f.member.is_empty()) {
            Some(field) => labels.push(format!("`{}{}`", names.object(used.object).name, field.member)),
            None => offsets.entry(used.object).or_default().push(used.addr.saturating_sub(used.start)),
        }
    }
    labels.sort_unstable();
    labels.dedup();
    for (object, mut at) in offsets {
        at.dedup();
        let mut parts: Vec<String> = at.iter().take(NAMED).map(|o| format!("+{o}")).collect();
        if at.len() > NAMED {
            parts.push("more".into());
        }
        labels.push(format!("`{}` {}", names.object(object).name, list(&parts)));
    }
    let more = labels.len() > NAMED;
    labels.truncate(NAMED);
    if more {
        labels.push("more".into());
    }
    list(&labels)
}

/// `heat (16 MiB, allocated at stencil.c:41 in allocate)`; what the name says already is left out.
pub(crate) fn object(o: &ObjectName) -> String {
    let mut facts = Vec::new();
    if o.bytes > 0 {
        facts.push(bytes(o.bytes));
    }
    if o.instances > 1 {
        facts.push(format!("{} allocations", o.instances));
    }
    match &o.place {
        Some(place) if !o.name.contains(place.as_str()) => {
            let verb = if o.kind == "global" { "defined" } else { "allocated" };
            let function = o.function.as_ref().filter(|f| !f.is_empty()).map_or(String::new(), |f| format!(" in {f}"));
            facts.push(format!("{verb} at {place}{function}"));
        }
        None if o.kind == "global" => facts.push("global".into()),
        _ => {}
    }
    if facts.is_empty() { format!("`{}`", o.name) } else { format!("`{}` ({})", o.name, facts.join(", ")) }
}

/// The places to change: of the allocation, then of the code, each once.
pub(crate) fn places(o: &ObjectName, sites: &[SiteName]) -> Vec<String> {
    let mut out: Vec<String> = o.place.iter().cloned().collect();
    for s in sites {
        if !out.contains(&s.place) {
            out.push(s.place.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_listed_in_runs() {
        assert_eq!(threads(&[3]), "thread 3");
        assert_eq!(threads(&[0, 1]), "threads 0-1");
        assert_eq!(threads(&[0, 1, 2, 3, 8, 10]), "threads 0-3, 8 and 10");
        let odd: Vec<u32> = (0..100).map(|i| 2 * i + 1).collect();
        assert_eq!(threads(&odd), "threads 1, 3, 5, 7 and 96 more");
        assert_eq!(threads(&[u32::MAX - 1, u32::MAX]), "threads 4294967294-4294967295");
    }
    #[test]
    fn sizes_are_rounded_to_tenths() {
        let all = [0, 1, 24, 1024, 1536, 16 << 20, (16 << 20) + (1 << 19), u64::MAX];
        let words = all.map(bytes);
        assert_eq!(words, ["0 bytes", "1 byte", "24 bytes", "1 KiB", "1.5 KiB", "16 MiB", "16.5 MiB", "16 EiB"]);
    }
    #[test]
    fn what_the_name_says_is_not_repeated() {
        let heap = ObjectName {
            name: "heap allocated at a.c:3 in main".into(),
            kind: "heap".into(),
            place: Some("a.c:3".into()),
            function: Some("main".into()),
            instances: 1,
            bytes: 4096,
        };
        assert_eq!(object(&heap), "`heap allocated at a.c:3 in main` (4 KiB)");
        let named = ObjectName { name: "grid".into(), instances: 2, ..heap };
        assert_eq!(object(&named), "`grid` (4 KiB, 2 allocations, allocated at a.c:3 in main)");
    }
}
