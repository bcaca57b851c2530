"""An mpi4py program: sizes, an allreduce and an object broadcast."""
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
if size != int(sys.argv[1]):
    sys.exit(f"rank {rank} of {size}: not the size that was launched")
total = world.allreduce(rank)
assert total == size * (size - 1) // 2, total
word = world.bcast({"word": "canopy"} if rank == 0 else None)
assert word == {"word": "canopy"}, word
if rank == 0:
    print(f"mpi4py ok size {size}")
