//! QEMU's command line.
use super::options::Vm;
use std::path::Path;

/// Latency per unit of distance, so that local memory has 100 ns; the table is read by the guest, nothing behaves so.
const NS_PER_DISTANCE: u32 = 10;
/// Bandwidth at distance 1, in MB/s: 20,000 for local memory.
const MBYTES_PER_S_AT_1: u32 = 200_000;
/// No sleep states, no randomised kernel: nothing that differs from run to run. A panic ends the guest at once.
const KERNEL_ARGUMENTS: &str =
    "console=ttyS0 panic=-1 oops=panic mitigations=off nokaslr nowatchdog random.trust_cpu=on rdinit=/init";

/// Files of one run.
pub(crate) struct Files<'a> {
    /// Kernel image.
    pub(crate) kernel: &'a Path,
    /// Initramfs.
    pub(crate) image: &'a Path,
    /// Listening sockets of the guest's ports 1, 2 and 3.
    pub(crate) ports: [&'a Path; 3],
}

/// Arguments of qemu-system-x86_64. The console goes to its standard output.
pub(crate) fn arguments(vm: &Vm, distances: &[Vec<u32>], files: &Files, verbose: bool) -> Vec<String> {
    let hmat = if vm.hmat { "on" } else { "off" };
    let mut words: Vec<String> =
        ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-cpu", "max"].map(str::to_owned).into();
    let mut add = |option: &str, value: String| words.extend([format!("-{option}"), value]);
    add("machine", format!("q35,hmat={hmat}"));
    add("accel", "tcg,thread=multi,tb-size=256".to_owned());
    add("kernel", escaped(files.kernel));
    add("initrd", escaped(files.image));
    add("append", kernel_arguments(vm, verbose));
    add("chardev", "stdio,id=console,signal=off".to_owned());
    add("serial", "chardev:console".to_owned());
    add("device", "virtio-serial-pci".to_owned());
    for (socket, number) in files.ports.iter().zip(1..) {
        add("chardev", format!("socket,id=port{number},path={},server=off", escaped(socket)));
        add("device", format!("virtserialport,nr={number},chardev=port{number}"));
    }
    words.extend(nodes(vm, distances));
    words
}

/// QEMU splits option values at commas and takes two for one.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

fn kernel_arguments(vm: &Vm, verbose: bool) -> String {
    let balancing = if vm.numa_balancing { "enable" } else { "disable" };
    let quiet = if verbose { "" } else { " quiet loglevel=4" };
    format!("{KERNEL_ARGUMENTS}{quiet} numa_balancing={balancing} {}", vm.append).trim_end().to_owned()
}

/// Processors, memory, distances and, if asked for, latencies and bandwidths.
fn nodes(vm: &Vm, distances: &[Vec<u32>]) -> Vec<String> {
    let (with_cpus, per_node, all) = (vm.nodes, vm.cpus_per_node, distances.len());
    let mut words = vec![
        "-smp".to_owned(),
        format!("cpus={},sockets={with_cpus},cores={per_node},threads=1", with_cpus * per_node),
        "-m".to_owned(),
        format!("{}M", vm.node_mib * all as u64),
    ];
    for (i, row) in distances.iter().enumerate() {
        words.extend(["-object".to_owned(), format!("memory-backend-ram,id=memory{i},size={}M", vm.node_mib)]);
        let mut node = format!("node,nodeid={i},memdev=memory{i}");
        if i < with_cpus {
            node.push_str(&format!(",cpus={}-{}", i * per_node, (i + 1) * per_node - 1));
        }
        if vm.hmat {
            let nearest = (0..with_cpus).min_by_key(|&c| if c == i { 0 } else { row[c] }).unwrap_or(0);
            node.push_str(&format!(",initiator={nearest}"));
        }
        words.extend(["-numa".to_owned(), node]);
    }
    for (i, row) in distances.iter().enumerate() {
        for (j, distance) in row.iter().enumerate() {
            words.extend(["-numa".to_owned(), format!("dist,src={i},dst={j},val={distance}")]);
        }
    }
    if vm.hmat {
        let pairs = (0..with_cpus).flat_map(|i| (0..all).map(move |j| (i, j)));
        words.extend(pairs.flat_map(|(i, j)| latency_and_bandwidth(i, j, distances[i][j])));
    }
    words
}

fn latency_and_bandwidth(from: usize, to: usize, distance: u32) -> [String; 4] {
    let pair = format!("hmat-lb,initiator={from},target={to},hierarchy=memory");
    let (latency, bandwidth) = (NS_PER_DISTANCE * distance, MBYTES_PER_S_AT_1 / distance);
    [
        "-numa".to_owned(),
        format!("{pair},data-type=access-latency,latency={latency}"),
        "-numa".to_owned(),
        format!("{pair},data-type=access-bandwidth,bandwidth={bandwidth}M"),
    ]
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

    fn line(options: &str) -> String {
        let vm = Line::try_parse_from(options.split_whitespace()).unwrap().vm;
        let distances = vm.topology.distances(vm.nodes, vm.all_nodes()).unwrap();
        let p = Path::new("/t/a,b");
        let files = Files { kernel: p, image: p, ports: [p; 3] };
        arguments(&vm, &distances, &files, false).join(" ")
    }

    #[test]
    fn nodes_processors_and_memory_are_stated() {
        let words = line("--nodes 2 --cpus-per-node 3 --memory-only-node --memory-per-node 1G --hmat");
        for part in [
            "-smp cpus=6,sockets=2,cores=3,threads=1 -m 3072M",
            "node,nodeid=1,memdev=memory1,cpus=3-5,initiator=1",
            "node,nodeid=2,memdev=memory2,initiator=0",
            "dist,src=1,dst=2,val=30",
            "hmat-lb,initiator=1,target=2,hierarchy=memory,data-type=access-latency,latency=300",
            "hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-bandwidth,bandwidth=20000M",
            "hmat=on",
            "socket,id=port3,path=/t/a,,b,server=off",
        ] {
            assert!(words.contains(part), "{part} is not in {words}");
        }
        assert!(!line("").contains("hmat-lb") && !line("").contains("initiator"));
    }

    #[test]
    fn balancing_is_off_unless_asked_for() {
        assert!(line("").contains("numa_balancing=disable"));
        assert!(line("--numa-balancing").contains("numa_balancing=enable"));
        assert!(line("--append=maxcpus=1").contains(" maxcpus=1"));
    }
}
