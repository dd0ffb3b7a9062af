"""Exported rows, folded by Arrow until plain Python can afford them. Nothing here knows costs."""
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEQ_BITS = 21  # rows of a batch
BATCH_ROWS = 1 << 20
OPS = ["load", "store", "atomic", "spin"]
WRITE = OPS.index("store")
SPIN = OPS.index("spin")


def operations(words):
    """The column `op` as indices into OPS."""
    return pc.cast(pc.index_in(words, value_set=pa.array(OPS)), pa.uint8())


def batches(path):
    """Tables of at most BATCH_ROWS rows in file order, busy-wait references left out."""
    for batch in pq.ParquetFile(path).iter_batches(BATCH_ROWS, columns=["thread", "addr", "size", "op", "site"]):
        table = pa.Table.from_batches([batch])
        table = table.set_column(3, "op", operations(table["op"]))
        table = table.filter(pc.not_equal(table["op"], SPIN)).combine_chunks()
        if table.num_rows:
            yield table


def column(table, name, kind=pa.uint64()):
    """One column as one array of this type."""
    chunked = pc.cast(table[name], kind)
    return chunked.combine_chunks() if isinstance(chunked, pa.ChunkedArray) else chunked


def number(value):
    return pa.scalar(value, pa.uint64())


def pieces(table, shift):
    """The batch cut at multiples of 2^shift bytes: arrays seq, first byte, last byte, operation, thread."""
    count = table.num_rows
    first = column(table, "addr")
    last = pc.add(first, pc.subtract(column(table, "size"), number(1)))
    seq = pa.array(range(count), pa.uint64())
    parts = [seq, first, last, column(table, "op"), column(table, "thread")]
    crossing = pc.not_equal(pc.shift_right(first, number(shift)), pc.shift_right(last, number(shift)))
    if not pc.any(crossing).as_py():
        return parts
    whole = [p.filter(pc.invert(crossing)) for p in parts]
    cut = [[] for _ in parts]
    for s, a, b, o, t in zip(*(p.filter(crossing).to_pylist() for p in parts)):
        while a <= b:
            end = min(b, a | (1 << shift) - 1)
            for values, value in zip(cut, (s, a, end, o, t)):
                values.append(value)
            a = end + 1
    return [pa.concat_arrays([p, pa.array(c, pa.uint64())]) for p, c in zip(whole, cut)]


def by_place(parts, shift):
    """The pieces sorted by aligned unit of 2^shift bytes, in order within each; the unit numbers come first."""
    seq, first = parts[0], parts[1]
    unit = pc.shift_right(first, number(shift))
    assert not len(unit) or pc.max(unit).as_py() < 1 << 64 - SEQ_BITS, "not a user-space address"
    order = pc.array_sort_indices(pc.bit_wise_or(pc.shift_left(unit, number(SEQ_BITS)), seq))
    return [unit.take(order)] + [p.take(order) for p in parts[1:]]


def changes(op):
    """1 for writes and read-modify-writes, 0 for reads."""
    return pc.cast(pc.greater(op, number(0)), pa.uint64())


def run_starts(*keys):
    """Indices at which any of these sorted-together columns changes, 0 first."""
    begins = None
    for key in keys:
        begin = pc.not_equal(key[1:], key[:-1])
        begins = begin if begins is None else pc.or_(begins, begin)
    return pa.concat_arrays([pa.array([0], pa.uint64()), pc.add(pc.indices_nonzero(begins), number(1))])


def run_sums(values, starts):
    """Sum of `values` over each run."""
    sums = pc.cumulative_sum(values)
    ends = pa.concat_arrays([starts[1:], pa.array([len(values)], pa.uint64())])
    upto = sums.take(pc.subtract(ends, number(1)))
    before = pa.concat_arrays([pa.array([0], pa.uint64()), upto[:-1]])
    return pc.subtract(upto, before)


def page_steps(table, page_shift, word_shift, node_of):
    """(page, node, writes, weight): per page in order, equal neighbours added up; weight counts words."""
    page, first, last, op, thread = by_place(pieces(table, page_shift), page_shift)
    words, writes = number(word_shift), changes(op)
    weight = pc.add(pc.subtract(pc.shift_right(last, words), pc.shift_right(first, words)), number(1))
    node = pa.array(node_of, pa.uint64()).take(thread)
    starts = run_starts(page, node, writes)
    return page.take(starts), node.take(starts), writes.take(starts), run_sums(weight, starts)


def page_visits(steps):
    """(page, node, reads before the first write, references from the first to the last write, reads after it): one row
    for each run of one node. Also the longest run of reads between two writes of a row."""
    page, node, writes, weight = steps
    starts = run_starts(page, node)
    ends = pc.subtract(pa.concat_arrays([starts[1:], pa.array([len(page)], pa.uint64())]), number(1))
    reads = pc.subtract(number(1), writes)
    lead = pc.multiply(weight.take(starts), reads.take(starts))
    only = pc.cast(pc.equal(starts, ends), pa.uint64())
    trail = pc.multiply(pc.multiply(weight.take(ends), reads.take(ends)), pc.subtract(number(1), only))
    middle = pc.subtract(pc.subtract(run_sums(weight, starts), lead), trail)
    at_border = pc.is_in(pa.array(range(len(page)), pa.uint64()), value_set=pa.concat_arrays([starts, ends]))
    inner = weight.filter(pc.and_(pc.invert(at_border), pc.equal(reads, number(1))))
    columns = (page.take(starts), node.take(starts), lead, middle, trail)
    return zip(*(c.to_pylist() for c in columns)), pc.max(inner).as_py() or 0


def line_turns(table, unit_shift, word_shift):
    """(unit, thread, words touched, words written, begins with a read) rows: per unit in order, one for each turn."""
    unit, first, last, op, thread = by_place(pieces(table, unit_shift), unit_shift)
    starts = run_starts(unit, thread)
    turn = run_numbers(starts, len(unit))
    mask = number((1 << unit_shift - word_shift) - 1)
    low, high = (pc.bit_wise_and(pc.shift_right(a, number(word_shift)), mask) for a in (first, last))
    one = number(1)
    bits = pc.subtract(pc.shift_left(number(2), high), pc.shift_left(one, low))
    touched, written = or_by_turn(turn, bits, len(starts)), or_by_turn(turn, pc.multiply(bits, changes(op)), len(starts))
    columns = [unit.take(starts), thread.take(starts), touched, written, pc.not_equal(op.take(starts), number(WRITE))]
    yield from zip(*(c if isinstance(c, list) else c.to_pylist() for c in columns))


def run_numbers(starts, length):
    """Run number of every row."""
    begins = pc.is_in(pa.array(range(length), pa.uint64()), value_set=starts)
    return pc.subtract(pc.cumulative_sum(pc.cast(begins, pa.uint64())), number(1))


def or_by_turn(turn, bits, turns):
    """Bitwise or of `bits` over each turn: the few different masks of a turn, or-ed in Python."""
    different = pa.table({"turn": turn, "bits": bits}).group_by(["turn", "bits"]).aggregate([])
    result = [0] * turns
    for t, b in zip(different["turn"].to_pylist(), different["bits"].to_pylist()):
        result[t] |= b
    return result
