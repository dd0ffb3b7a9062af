//! Prints the hot address ranges of a process: `damon_regions PID SECONDS` (root, a kernel with DAMON).
use homenode_sampling::damon::{Damon, DamonOptions, hot_ranges};
use std::path::Path;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [pid, seconds] = words.as_slice() else { return Err("damon_regions PID SECONDS".into()) };
    let damon = Damon::start(Path::new("/"), pid.parse()?, &DamonOptions::default())?;
    std::thread::sleep(Duration::from_secs(seconds.parse()?));
    let regions = damon.regions()?;
    for r in &regions {
        println!("{:x}-{:x} {} KiB accesses {} age {}", r.start, r.end, (r.end - r.start) >> 10, r.accesses, r.age);
    }
    for (start, end) in hot_ranges(&regions, 0.9) {
        println!("hot {start:x} {}", end - start);
    }
    Ok(())
}
