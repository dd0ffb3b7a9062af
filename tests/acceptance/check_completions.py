"""Completions, as shells make them of what is typed, and the values that man pages list."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

from harness import Skipped, check, end, expect

# What is typed, up to the tabulator, and the word that it becomes; by members of every family that an option takes.
TYPED = {
    "report d.hnt --machine butterf": "butterfly",
    "report d.hnt --policy migrate-on-w": "migrate-on-write",
    "report d.hnt --map compa": "compact",
    "record --backend faul": "faults",
    "place d.hnt --rule hop": "hop-sensitive",
    "sweep --machines butterf": "butterfly",
    "sweep --protocols upt-d": "upt-del",
    "sweep --analysis false": "false-sharing",
    "sweep --realign fie": "field",
    "sim memory d.hnt --architecture rnu": "rnuma",
    "sim memory d.hnt --machine dram": "dram-cxl",
    "sim cluster d.hnt --protocol gen": "genima",
    "sim cluster d.hnt --what-if interr": "interrupts",
    "svm run --transport tc": "tcp",
    "svm run --protocol gen": "genima",
    "run --compare inter": "interleave",
    "migrate --policy affin": "affinity",
    "list svm-tr": "svm-transports",
    "reproduce marka": "markatos",
    "export d.hnt --machine butterf": "butterfly",
}


def script(session, shell, name):
    """A file with the completions of a shell, in a folder of its own with the command."""
    folder = session.path(f"completions-{shell}")
    folder.mkdir()
    (folder / name).write_text(session.run("completions", shell).stdout)
    (folder / "homenode").symlink_to(session.homenode)
    (folder / "mine.toml").write_text("")
    return folder


def available(shell):
    if not shutil.which(shell):
        raise Skipped(f"no {shell} here")


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, folder, *command):
        self.master, slave = pty.openpty()
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8", "COLUMNS": "200"}
        self.lines = 0
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment, start_new_session=True)
        os.close(slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, word, seconds=20):
        """What the shell writes until this word is there."""
        said, began = "", time.monotonic()
        while word not in said:
            expect(time.monotonic() - began < seconds, f"the shell writes {word!r}, not {said[-300:]!r}")
            if select.select([self.master], [], [], 0.1)[0]:
                said += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\x07\x0f]", "", os.read(self.master, 65536).decode(errors="replace"))
        return said

    def completes(self, typed, word):
        """Types a line and a tabulator, sees the word, and takes the line back."""
        self.lines += 1
        self.type(f"homenode {typed}\t")
        self.until(word)
        self.type(f"\x15echo is re''ady {self.lines}\r")
        self.until(f"is ready {self.lines}\r\n")


def on_terminal(session, shell, name, command, prepare):
    """Every line of TYPED on a terminal, then a file that no list has."""
    available(shell)
    folder = script(session, shell, name)
    terminal = Terminal(folder, *command)
    try:
        terminal.type(prepare)
        for typed, word in TYPED.items():
            terminal.completes(typed, word)
        return terminal
    except BaseException:
        end(terminal.process)
        raise


@check
def bash_completes_names(session):
    """bash, on a terminal: names of members; a machine's file where no name fits."""
    terminal = on_terminal(session, "bash", "homenode.bash", ("bash", "--norc", "--noprofile", "-i"),
                           "source homenode.bash; bind 'set bell-style none'\n")
    try:
        terminal.completes("report d.hnt --machine mine", "mine.toml")
    finally:
        end(terminal.process)
    print(f"  {len(TYPED)} lines and a file")


@check
def zsh_completes_names(session):
    """zsh, on a terminal: names of members."""
    terminal = on_terminal(session, "zsh", "_homenode", ("zsh", "-f", "-i"),
                           "fpath=($PWD $fpath); autoload -U compinit; compinit -u; unsetopt beep\n")
    end(terminal.process)
    print(f"  {len(TYPED)} lines")


@check
def fish_completes_names(session):
    """fish, by its own command for it: names of members with a line about each, and no files among them."""
    available("fish")
    folder = script(session, "fish", "homenode.fish")
    environment = {**os.environ, "HOME": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}

    def offered(typed):
        command = ["fish", "--no-config", "-c", f"source homenode.fish; complete -C 'homenode {typed}'"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        expect(done.returncode == 0, done.stderr)
        return dict((line.split("\t", 1) + [""])[:2] for line in done.stdout.splitlines())

    for typed, word in TYPED.items():
        found = offered(typed)
        expect(word in found and len(found) <= 6, f"{typed!r} may become {word}, not {found}")
    machines = offered("report d.hnt --machine ")
    listed = {m["name"] for m in session.json("list", "machines", "--json")["members"]}
    expect(set(machines) == listed | {"this"}, f"all machines and nothing else: {sorted(machines)}")
    expect(all(machines.values()), "each has a line about it")
    print(f"  {len(TYPED)} lines; {len(machines)} machines")


@check
def man_pages_list_values(session):
    """Each member of a family stands on the page of the command that takes it; --help stays short."""
    folder = session.path("man")
    session.run("man", folder)
    for page, families in {
        "report": ("machines", "policies"), "record": ("backends",), "place": ("rules",), "list": (),
        "sweep": ("machines", "protocols", "analyses", "realignments"), "sim-memory": ("architectures", "tier-policies", "open-points"),
        "sim-cluster": ("svm-steps",), "svm-run": ("svm-steps", "svm-transports"), "reproduce": ("experiments",), "migrate": ("policies",),
    }.items():
        text = pathlib.Path(folder / f"homenode-{page}.1").read_text().replace("\\-", "-")
        for family in families:
            names = {m["name"].split("(")[0] for m in session.json("list", family, "--json")["members"]}
            missing = [n for n in names if n not in text]
            expect(names and not missing, f"homenode-{page}.1 lacks {missing} of {family}")
    short = session.run("report", "--help").stdout
    expect("butterfly model" not in short.lower() and "Possible values:" not in short.split("--machine", 1)[1].split("--block")[0], "--help names the list")
    print(f"  {len(list(folder.glob('*.1')))} pages")


@check
def what_is_no_member_is_still_taken(session):
    """Files, expressions and lists go where a name may stand, and a wrong one is refused as before."""
    for words, wanted in (
        (("report", "no.hnt", "--machine", "./no.toml"), "no such file"),
        (("report", "no.hnt", "--policy", "ace(2),first-touch"), "no.hnt"),
        (("report", "no.hnt", "--map", "0=node1"), "no.hnt"),
        (("list", "no-family"), "there is no family"),
        (("sweep", "no.hnt", "--protocols", "upt-del(1..64)"), "no.hnt"),
    ):
        done = session.run(*words, status={1, 2, 3})
        expect(wanted in done.stderr, f"{' '.join(words)}: {done.stderr}")
