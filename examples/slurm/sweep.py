#!/usr/bin/env python3
"""A sweep on Slurm by dask-jobqueue: pip install 'homenode[dask]' dask-jobqueue, in an environment that all nodes see.

    python3 sweep.py study.toml --output /shared/study.sweep --jobs 20 --queue normal

Each job has one worker a processor, each with one thread. The study's traces and the output lie on storage that all nodes share.
--local uses processes of this machine instead, to try it; --print-job shows what would be given to sbatch, and does nothing.
"""
import argparse

from distributed import Client, LocalCluster

import homenode


def slurm(a):
    from dask_jobqueue import SLURMCluster

    return SLURMCluster(
        queue=a.queue, account=a.account, cores=a.cores, processes=a.cores, memory=f"{a.cores * a.gib_each}GiB", walltime=a.walltime
    )


def cluster_of(a):
    if a.local:
        return LocalCluster(n_workers=a.jobs, threads_per_worker=1, processes=True, dashboard_address=None)
    cluster = slurm(a)
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
    parser.add_argument("--account")
    parser.add_argument("--walltime", default="02:00:00")
    parser.add_argument("--local", action="store_true")
    parser.add_argument("--print-job", action="store_true")
    a = parser.parse_args()
    if a.print_job:
        with slurm(a) as cluster:
            print(cluster.job_script())
        return
    told = lambda stage, done, known: print(f"{stage}: {done} of {known} tasks", flush=True)
    with cluster_of(a) as cluster, Client(cluster) as client:
        client.wait_for_workers(1)
        memory_bytes = (a.gib_each << 30) * 3 // 4
        result = homenode.sweep(a.study, output=a.output, client=client, memory_bytes=memory_bytes, progress=told)
    print(f"{result.doc['rows']} rows in {result.path}")


if __name__ == "__main__":
    main()
