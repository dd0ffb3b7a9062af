//! What the basic operations of each transport cost between two nodes, as in table 1.5 of Bilas and Singh:
//! `cargo run --release -p homenode-svm --example transport_speed [TRANSPORT...]`. The nodes are threads of one process here; each has
//! its own memory as ever. Copies between their memories take the place of an MPI's operations.
use homenode_svm::transports;
use homenode_svm::trial::speeds;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    for spec in transports::ALL.iter().filter(|spec| is_wanted(spec.name)) {
        println!("{}, microseconds: median / 99 %", spec.name);
        for times in speeds(spec).expect("memory and sockets") {
            let at = |part: usize| times.microseconds[times.microseconds.len() * part / 100];
            let rate = match times.bytes {
                0 => String::new(),
                bytes => format!("  {:.0} MB/s", bytes as f64 / at(50)),
            };
            println!("  {:40} {:10.2} / {:8.1}{rate}", times.what, at(50), at(99));
        }
    }
}
