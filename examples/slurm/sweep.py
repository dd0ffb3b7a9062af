#!/usr/bin/env python3
"""A sweep on Slurm by dask-jobqueue: pip install 'homenode[dask]' dask-jobqueue, in an environment that all nodes see.

    python3 sweep.py study.toml --output /shared/study.sweep --jobs 20 --queue normal

Each job has one worker a processor, each with one thread. The study's traces and the output lie on storage that all nodes share.
--local uses processes of this machine instead, to try it.
"""
import argparse

from distributed import Client, LocalCluster

import homenode


def cluster_of(a):
    if a.local:
        return LocalCluster(n_workers=a.jobs, threads_per_worker=1, processes=True, dashboard_address=None)
    from dask_jobqueue import SLURMCluster

    cluster = SLURMCluster(
        queue=a.queue, cores=a.cores, processes=a.cores, memory=f"{a.cores * a.gib_each}GiB", walltime=a.walltime
    )
    cluster.scale(jobs=a.jobs)
    return cluster


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--output", required=True, help="folder on shared storage")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--cores", type=int, default=16, help="processors of a job")
    parser.add_argument("--gib-each", type=int, default=2, help="memory of a worker, in GiB")
    parser.add_argument("--queue")
    parser.add_argument("--walltime", default="02:00:00")
    parser.add_argument("--local", action="store_true")
    a = parser.parse_args()
    told = lambda stage, done, known: print(f"{stage}: {done} of {known} tasks", flush=True)
    with cluster_of(a) as cluster, Client(cluster) as client:
        client.wait_for_workers(1)
        memory_bytes = (a.gib_each << 30) * 3 // 4
        result = homenode.sweep(a.study, output=a.output, client=client, memory_bytes=memory_bytes, progress=told)
    print(f"{result.doc['rows']} rows in {result.path}")


if __name__ == "__main__":
    main()
