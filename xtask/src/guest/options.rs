//! What one guest is: its nodes, its content, its limits.
use super::topology::Shape;
use anyhow::ensure;
use std::path::PathBuf;

/// Emulated processors are threads of the host: beyond this many even the boot takes minutes.
const CPUS_MAX: usize = 16;
/// The kernel itself takes about 60 MiB of node 0.
const NODE_MIB_MIN: u64 = 90;

/// Options of one guest, as `guest` takes them and as the first lines of a scenario state them.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Vm {
    /// Nodes with processors
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub(crate) nodes: usize,
    /// Processors of each of them
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) cpus_per_node: usize,
    /// Memory of every node, such as 256M or 1G; below 512 MiB in all the kernel switches huge pages off
    #[arg(long = "memory-per-node", default_value = "256M", value_name = "SIZE", value_parser = mebibytes)]
    pub(crate) node_mib: u64,
    /// Adds a node without processors, numbered after the others; may be repeated
    #[arg(long = "memory-only-node", action = clap::ArgAction::Count)]
    pub(crate) memory_only_nodes: u8,
    /// Distances: 10, and 10 more for every hop; or a file with a matrix
    #[arg(long, default_value = "flat", value_name = "flat|ring|hypercube|FILE", value_parser = Shape::parse)]
    pub(crate) topology: Shape,
    /// Adds a table of latencies and bandwidths (ACPI HMAT); with it, memory-only nodes are a slower tier
    #[arg(long)]
    pub(crate) hmat: bool,
    /// Leaves the kernel's automatic NUMA balancing on; it moves pages behind a test's back
    #[arg(long)]
    pub(crate) numa_balancing: bool,
    /// More kernel arguments
    #[arg(long, default_value = "", value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) append: String,
    /// Runs COMMAND as user 1000 instead of root
    #[arg(long)]
    pub(crate) user: bool,
    /// Copies a file or a folder in, with the libraries it needs; GUEST is /test/NAME if not given
    #[arg(long, value_name = "FILE[:GUEST]")]
    pub(crate) add: Vec<String>,
    /// Where the guest's /out is unpacked
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Limit for boot and COMMAND together, in seconds
    #[arg(long = "timeout", default_value_t = 120, value_name = "SECONDS")]
    pub(crate) timeout_s: u64,
    /// A kernel image of your own; by default Debian's newest cloud kernel is fetched once
    #[arg(long, value_name = "VMLINUZ")]
    pub(crate) kernel: Option<PathBuf>,
}

impl Vm {
    /// Nodes with and without processors.
    pub(crate) fn all_nodes(&self) -> usize {
        self.nodes + usize::from(self.memory_only_nodes)
    }

    /// Refuses what QEMU or the kernel would refuse much later and less clearly.
    pub(crate) fn validate(&self) -> anyhow::Result<()> {
        ensure!(self.nodes > 0 && self.cpus_per_node > 0, "--nodes and --cpus-per-node must be at least 1");
        let cpus = self.nodes.saturating_mul(self.cpus_per_node);
        ensure!(cpus <= CPUS_MAX, "{cpus} processors: at most {CPUS_MAX} can be emulated in reasonable time");
        let mib = self.node_mib;
        ensure!(mib >= NODE_MIB_MIN, "--memory-per-node {mib}M: the kernel needs at least {NODE_MIB_MIN}M a node");
        ensure!(self.timeout_s > 0, "--timeout must be at least 1 second");
        self.topology.distances(self.nodes, self.all_nodes()).map(drop)
    }
}

/// "256M", "1G" or a bare number of MiB.
fn mebibytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size such as 256M or 1G");
    let (digits, factor) = match text.strip_suffix('G') {
        Some(d) => (d, 1024),
        None => (text.strip_suffix('M').unwrap_or(text), 1),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).filter(|n| (1..=1 << 20).contains(n)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        vm: Vm,
    }

    fn parse(line: &str) -> anyhow::Result<Vm> {
        let vm = Line::try_parse_from(line.split_whitespace())?.vm;
        vm.validate()?;
        Ok(vm)
    }

    #[test]
    fn sizes_are_read_and_nonsense_is_refused() {
        assert_eq!(mebibytes("256M"), Ok(256));
        assert_eq!(mebibytes("2G"), Ok(2048));
        assert_eq!(mebibytes("90"), Ok(90));
        for wrong in ["", "M", "0", "0G", "-1M", "1T", "1.5G", "99999999999999999999M", "18446744073709551615G"] {
            assert!(mebibytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_are_checked_before_anything_starts() {
        let vm = parse("--nodes 8 --topology hypercube --memory-only-node --memory-only-node --hmat").unwrap();
        assert_eq!((vm.nodes, vm.all_nodes(), vm.hmat, vm.numa_balancing), (8, 10, true, false));
        for (line, word) in [
            ("--nodes 0", "at least 1"),
            ("--nodes 8 --cpus-per-node 4", "32 processors"),
            ("--nodes 6 --topology hypercube", "power of two"),
            ("--memory-per-node 60M", "at least 90M"),
            ("--timeout 0", "at least 1 second"),
            ("--topology /no/such/matrix", "/no/such/matrix"),
            ("--nodes two", "two"),
        ] {
            let error = format!("{:#}", parse(line).unwrap_err());
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
