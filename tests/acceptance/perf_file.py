"""A perf.data file with samples of memory accesses, as `perf record` writes it (tools/perf/Documentation/perf.data-file-format.txt)."""
import struct

SAMPLE_TYPE = 0x1 | 0x2 | 0x4 | 0x8 | 0x80 | 0x100  # IP, TID, TIME, ADDR, CPU, PERIOD
FLAGS = 1 << 8 | 1 << 18 | 1 << 23  # mmap, sample_id_all, mmap2
MMAP2, SAMPLE, PROT_READ, PROT_EXEC = 10, 9, 1, 4


def record(kind, body):
    """One record of the data section."""
    return struct.pack("<IHH", kind, 2, 8 + len(body)) + body


def write(path, program, count=200):
    """Writes `count` samples of one thread in the code of `program`, which is mapped at 0x400000."""
    name = str(program).encode() + b"\0"
    name += bytes(-len(name) % 8)
    ids = struct.pack("<IIQII", 7, 7, 1, 0, 0)  # pid, tid, time, cpu, reserved
    data = record(MMAP2, struct.pack("<IIQQQIIQQII", 7, 7, 0x400000, 0x10000, 0, 0, 0, 0, 0, PROT_READ | PROT_EXEC, 2) + name + ids)
    for n in range(count):
        ip, addr = 0x401000 + n % 64, 0x7F0000000000 + n * 64
        data += record(SAMPLE, struct.pack("<QIIQQIIQ", ip, 7, 7, 1000 + n * 1000, addr, 0, 0, 1000))
    # perf_event_attr: a raw event of the processor that samples loads; 136 bytes, then the place of its (no) ids.
    attr = struct.pack("<IIQQQQQ", 4, 136, 0x1CD, 1000, SAMPLE_TYPE, 0, FLAGS).ljust(136, b"\0") + struct.pack("<QQ", 104, 0)
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, len(attr), 104, len(attr), 104 + len(attr), len(data), 0, 0) + bytes(32)
    path.write_bytes(header + attr + data)
