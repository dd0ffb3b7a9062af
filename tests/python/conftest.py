"""Recordings that the tests share, made once: a program whose pages are first touched by the wrong thread, and its clean twin."""
import pathlib
import subprocess
import sys

import pytest

import homenode as hn

#: Thread 0 initialises what four threads use; counters of all threads lie in one line. -DCLEAN repairs both.
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
enum { THREADS = 4, EACH = 8192 };
/* Nothing else lies in their lines. */
static double *grid __attribute__((aligned(128)));
#ifdef CLEAN
static struct { volatile long n; char pad[120]; } hits[THREADS];
#define HITS(i) hits[i].n
#else
static volatile long hits[THREADS] __attribute__((aligned(128)));
#define HITS(i) hits[i]
#endif
static pthread_barrier_t begin;
static void *work(void *p) {
    long me = (long)p;
#ifdef CLEAN
    for (long k = me * EACH; k < (me + 1) * EACH; k++) grid[k] = 0;
#endif
    pthread_barrier_wait(&begin);
    for (int round = 0; round < 4; round++)
        for (long k = me * EACH; k < (me + 1) * EACH; k++) { grid[k] += 1; if (k % 64 == 0) HITS(me)++; }
    return 0;
}
int main(void) {
    pthread_t threads[THREADS];
    grid = aligned_alloc(4096, THREADS * EACH * sizeof *grid);
#ifndef CLEAN
    for (long k = 0; k < THREADS * EACH; k++) grid[k] = 0;
#endif
    pthread_barrier_init(&begin, 0, THREADS);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    return 0;
}
"""


def build(folder: pathlib.Path, name: str, *flags: str) -> hn.Recording:
    source = folder / "app.c"
    source.write_text(PROGRAM)
    hn.cc("-O1", "-g", "-pthread", *flags, source, "-o", folder / name)
    return hn.record([folder / name], folder / f"{name}.hnt")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="session")
def slow(folder):
    return build(folder, "slow")


@pytest.fixture(scope="session")
def clean(folder):
    return build(folder, "clean", "-DCLEAN")


@pytest.fixture(scope="session")
def homenode():
    """Runs the command of the package; output and errors are text."""
    def run(*words, **options):
        command = [sys.executable, "-m", "homenode", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, **options)
    return run
