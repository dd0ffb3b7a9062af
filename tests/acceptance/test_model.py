"""The plain-Python model against brute force, and its numbers by hand. Run by run.py; alone: python3 test_model.py"""
import random
import unittest

import model


def random_machine(rng):
    """A small machine; with global memory, R between G and 2 G as the algorithms ask."""
    r = rng.randint(2, 12)
    if rng.random() < 0.5:
        return model.Machine("random", rng.randint(2, 3), r, rng.randint(1, 30))
    G = rng.randint(1, 15)
    return model.Machine("random", rng.randint(2, 3), r, rng.randint(G, 2 * G), rng.randint(2, r), G)


def random_steps(rng, nodes):
    """A short history."""
    return [(rng.randrange(nodes), rng.random() < 0.4, rng.randint(1, 4)) for _ in range(rng.randint(1, 7))]


class Optimum(unittest.TestCase):
    def test_both_optima_equal_brute_force(self):
        rng = random.Random(1993)
        for case in range(4000):
            machine = random_machine(rng)
            steps = random_steps(rng, machine.nodes)
            copies, single = model.Replication(machine), model.NoReplication(machine)
            for node, writes, weight in steps:
                copies.step(node, writes, weight)
                single.step(node, weight)
            for engine, replicate in ((copies, True), (single, False)):
                exact = model.every_placement(machine, steps, replicate)
                self.assertEqual(engine.cost(), exact, (case, machine, steps, replicate))

    def test_a_node_alone_may_be_folded(self):
        rng = random.Random(1989)
        for case in range(3000):
            machine = random_machine(rng)
            short, steps, engine = model.short_reads(machine), [], model.Replication(machine)
            for node, writes, weight in random_steps(rng, machine.nodes):
                if not writes:
                    engine.step(node, False, weight)
                    steps.append((node, False, weight))
                    continue
                part = [(node, True, weight)]
                for _ in range(rng.randrange(3)):
                    part += [(node, False, rng.randint(1, short)), (node, True, 1)] if short else []
                engine.solo(node, sum(w for _, _, w in part))
                steps += part
            exact = model.every_placement(machine, steps, True)
            self.assertEqual(engine.cost(), exact, (case, machine, steps))

    def test_the_printed_algorithm_misses_this_one(self):
        machine = model.Machine("pinned", 3, 8, 17)
        engine = model.Replication(machine)
        for word in "w0 w0 w1 r1 r1 r1 w2 w2 w2".split():
            engine.step(int(word[1]), word[0] == "w", 1)
        self.assertEqual(engine.cost(), 40)


class Policy(unittest.TestCase):
    def ace(self, machine, words, k=4):
        engine = model.Ace(model.MACHINES[machine], k)
        for word in words.split():
            engine.step(int(word[1]), word[0] == "w", 1)
        return engine.cost

    def test_ace_by_hand(self):
        self.assertEqual(self.ace("ace", "r0 r1 r0 r1"), 4 + 2248, "a copy from global memory")
        self.assertEqual(self.ace("ace", "w0 r1 w1"), 3 + 2 * 2248, "write back and copy; then both hold it")
        self.assertEqual(self.ace("ace", "w0 w1 w0 w1 w0 w1"), 5 + 4 * 4496 + 2248 + 2, "the fifth move pins it")
        self.assertEqual(self.ace("butterfly", "w0 r1 r0"), 3 + 3272)
        self.assertEqual(self.ace("butterfly", "w0 w1 w0 w1 w0 w1"), 5 + 4 * 3272 + 15, "frozen where it was written")

    def test_a_weight_is_as_many_references(self):
        rng = random.Random(7)
        for _ in range(2000):
            machine = random_machine(rng)
            steps = random_steps(rng, machine.nodes)
            folded, single = model.Ace(machine, 2), model.Ace(machine, 2)
            for node, writes, weight in steps:
                folded.step(node, writes, weight)
                for _ in range(weight):
                    single.step(node, writes, 1)
            self.assertEqual(folded.cost, single.cost)


if __name__ == "__main__":
    unittest.main()
