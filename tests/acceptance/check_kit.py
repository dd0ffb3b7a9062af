"""The kit: programs whose bugs are known by construction; what a report finds, invents and predicts."""
import sys

from harness import ROOT, SLOW, check, expect, slow_check

sys.path.insert(0, str(ROOT / "tests" / "kit"))
import kit  # noqa: E402


def scored(session, programs, compiler=None, level=None):
    """Runs programs, prints their table and returns verdicts and score."""
    print(f"  {kit.HEADER}")
    verdicts = kit.run_all(session, programs, session.processors, compiler, level, lambda line: print(f"  {line}", flush=True))
    score = kit.score(verdicts)
    print(f"  {score}")
    return verdicts, score


@check
def recall_and_precision(session):
    """The cases all right; recall of 95 %, at most one false finding (the goal is none), predictions within 10 % of what repairs
    save for nine of ten."""
    verdicts, score = scored(session, [p for p in kit.programs() if SLOW or not p.truth.get("slow")])
    wrong = [v.program.name for v in verdicts if v.program.truth.get("required") and not v.right]
    expect(not wrong, f"these must be right in everything: {', '.join(wrong)}")
    print(f"  the goal of no false finding is {'' if score.enough else 'NOT '}reached")
    expect(score.holds, str(score))


@slow_check
def any_compiler(session):
    """The same score whatever the compiler and the level of optimisation."""
    for compiler in kit.COMPILERS:
        for level in kit.LEVELS:
            print(f"  {compiler} {level}")
            _, score = scored(session, [p for p in kit.programs() if not p.truth.get("slow")], compiler, level)
            expect(score.enough, f"{compiler} {level}: {score}")
