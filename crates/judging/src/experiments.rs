//! Experiments of a paper: which are asked for, and what all of them found as one page.
use crate::Found;
use crate::doc::Table;
use homenode_command::Failure;

/// The experiments with these names (`E8`, in any case), in their order; all if none is named.
///
/// # Errors
/// A name that does not exist.
pub fn chosen<'s, S>(
    all: impl Iterator<Item = &'s S> + Clone,
    id: impl Fn(&S) -> &'static str,
    only: &[String],
) -> Result<Vec<&'s S>, Failure> {
    let is = |name: &String, s: &S| id(s).eq_ignore_ascii_case(name);
    if let Some(name) = only.iter().find(|name| !all.clone().any(|s| is(name, s))) {
        let known = all.map(&id).collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!("--experiment: there is no '{name}'; known are {known}")));
    }
    Ok(all.filter(|s| only.is_empty() || only.iter().any(|name| is(name, s))).collect())
}

/// What experiments found as one; their names and titles (`E8`, `block size`) stand before the titles of their tables.
pub fn whole<'s>(parts: impl IntoIterator<Item = (&'s str, &'s str, Found)>) -> Found {
    let mut all = Found::default();
    for (id, title, found) in parts {
        let titled = |t: Table| Table { title: format!("{id} {title}: {}", t.title), ..t };
        all.tables.extend(found.tables.into_iter().map(titled));
        all.bars.extend(found.bars);
        all.figures.extend(found.figures);
        all.judged.extend(found.judged);
        all.notes.extend(found.notes);
    }
    all
}
