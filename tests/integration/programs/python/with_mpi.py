"""A program of MPI that uses the module beside it.

    with_mpi.py SIZE
"""
import sys

from mpi4py import MPI

from pmix import PMIX_GLOBAL, PMIX_JOB_SIZE, PMIX_RANK_WILDCARD, PMIxClient

from checks import done, kept, result, value


def main():
    size = int(sys.argv[1])
    comm, client = MPI.COMM_WORLD, PMIxClient()
    me = result(client.init())
    kept(me["rank"] == comm.rank and comm.size == size, me)
    job = dict(me, rank=PMIX_RANK_WILDCARD)
    kept(result(client.get(job, PMIX_JOB_SIZE, None))["value"] == size, "size")
    done(client.put(PMIX_GLOBAL, "colour", value(f"colour {comm.rank}")))
    done(client.commit())
    comm.barrier()
    peer = (comm.rank + 1) % size
    kept(result(client.get(dict(me, rank=peer), "colour", None)) ==
         value(f"colour {peer}"), "colour")
    kept(comm.allreduce(1) == size, "allreduce")
    done(client.finalize())
    with open("/proc/self/maps", encoding="ascii") as maps:
        loaded = {line.split()[-1] for line in maps if "libpmix.so" in line}
    kept(len(loaded) == 1, loaded)
    print(f"with_mpi ok {comm.rank}", flush=True)


if __name__ == "__main__":
    main()
