//! Two workers at once.
use crate::Failure;
use crate::clock::timed;
use homenode_study::{Partition, Question, answer_these};

/// Seconds of the slower of two workers at once, each with its own copy and half of the regions by weight.
pub(crate) fn two(q: &Question, partition: &Partition) -> Result<f64, Failure> {
    let mut bytes = Vec::new();
    partition.write(&mut |b| {
        bytes.extend_from_slice(b);
        Ok(())
    })?;
    let mut order: Vec<usize> = (0..partition.regions()).collect();
    order.sort_by_key(|r| std::cmp::Reverse(partition.weight(*r)));
    let mut parts = [(0, Vec::new()), (0, Vec::new())];
    for region in order {
        let part = usize::from(parts[1].0 < parts[0].0);
        parts[part].0 += partition.weight(region);
        parts[part].1.push(region);
    }
    let seconds = std::thread::scope(|scope| {
        let work = parts.map(|(_, regions)| {
            let (q, bytes) = (q.clone(), bytes.clone());
            scope.spawn(move || {
                let partition = Partition::open(Box::new(bytes)).ok()?;
                let (seconds, done) = timed(|| answer_these(&q, &partition, regions));
                done.is_ok().then_some(seconds)
            })
        });
        work.map(|w| w.join().ok().flatten())
    });
    let [Some(a), Some(b)] = seconds else { return Err("a worker failed".into()) };
    Ok(a.max(b))
}
