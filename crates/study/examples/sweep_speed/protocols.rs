//! How fast protocols of page coherence are: all six at six page sizes, and the plain engine beside.
use crate::clock::timed;
use crate::question::NODES;
use crate::{Failure, Input, partition, sample};
use homenode_base::NodeId;
use homenode_coherence::protocols::ALL;
use homenode_machine::models;
use homenode_sim::ThreadBinding;
use homenode_study::{Question, answer, plain};

/// Page sizes of the source: 64 B to 64 KiB.
const PAGES: [u64; 6] = [64, 256, 1024, 4096, 16_384, 65_536];
/// References that the plain engine is timed with.
const PLAIN_REFS: usize = 200_000;

/// The head of the table.
pub(crate) const HEAD: &str =
    "kernel        refs  partition  protocols  sum ns/ref  1e6 ref/s of all 36  without times  x plain";

fn question(threads: u32, timed: bool) -> Result<Question, Failure> {
    let machine = models::find("markatos").ok_or("no such machine")?;
    let binding = |t: u32| ThreadBinding { cpu: t as u16 % 64, node: NodeId(t as u16 % 64), space: 0 };
    let bindings = (0..threads.max(NODES)).map(binding).collect();
    let mut question = Question::new(vec![machine], vec![bindings], PAGES.to_vec());
    let names = ALL.iter().filter(|s| timed || !s.name.contains("freez"));
    question.protocols = names.map(|s| s.choose(&[])).collect::<Result<_, _>>()?;
    Ok(question)
}

/// One row: all protocols, those without freezing, and the plain engine on a part.
pub(crate) fn row(name: &str, input: &Input) -> Result<(), Failure> {
    let all = question(input.threads(), true)?;
    let (t_merge, refs) = timed(|| input.all(&mut |_| ()));
    let refs = refs? as f64;
    let (t_both, cut) = timed(|| partition(&all, input));
    let (cut, t_cut) = (cut?, t_both - t_merge);
    let (t_all, found) = timed(|| answer(&all, &cut, 0..cut.regions()));
    found?;
    let untimed = question(input.threads(), false)?;
    let (t_both, cut) = timed(|| partition(&untimed, input));
    let (cut, t_cut_untimed) = (cut?, t_both - t_merge);
    let (t_untimed, found) = timed(|| answer(&untimed, &cut, 0..cut.regions()));
    found?;
    let mut some = sample(input, refs as u64)?;
    some.truncate(PLAIN_REFS);
    let (t_plain, checked) = timed(|| plain::answer(&all, &some));
    let slowly = checked?;
    // What is compared in speed says the same.
    let cut = partition(&all, &Input::Memory(some.clone()))?;
    if answer(&all, &cut, 0..cut.regions())? != slowly {
        return Err("the plain engine says something else".into());
    }
    println!(
        "{name:10} {:7.1} M {:9.1} {:10.1} {:11.1} {:20.1} {:14.1} {:7.0}x",
        refs / 1e6,
        t_cut * 1e9 / refs,
        t_all * 1e9 / refs,
        (t_cut + t_all) * 1e9 / refs,
        refs / (t_cut + t_all) / 1e6,
        refs / (t_cut_untimed + t_untimed) / 1e6,
        t_plain / some.len() as f64 / ((t_cut + t_all) / refs),
    );
    Ok(())
}
