//! What the basic operations of each transport cost between two nodes, as in table 1.5 of Bilas and Singh:
//! `cargo run --release -p homenode-svm --example transport_speed [TRANSPORT...]`. The nodes are threads of one process here; each has
//! its own memory as ever. Copies between their memories take the place of an MPI's operations; `rank_speed` of `homenode-svmrun` has an MPI.
use homenode_svm::transports;
use homenode_svm::trial::speeds;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    for spec in transports::ALL.iter().filter(|spec| is_wanted(spec.name)) {
        println!("{}, microseconds: median / 99 %", spec.name);
        for times in speeds(spec).expect("memory and sockets") {
            println!("  {times}");
        }
    }
}
