"""Sums the ranks with torch.distributed, which reads their identities from the
environment. argv: size of the job, number of nodes."""
import os
import sys

import torch
import torch.distributed as dist

size, nodes = int(sys.argv[1]), int(sys.argv[2])
dist.init_process_group("gloo", init_method="env://")
rank = dist.get_rank()
assert dist.get_world_size() == size
assert rank == int(os.environ["RANK"]) == int(os.environ["PMIX_RANK"])
assert int(os.environ["LOCAL_RANK"]) < int(os.environ["LOCAL_WORLD_SIZE"])
assert int(os.environ["GROUP_WORLD_SIZE"]) == nodes
total = torch.tensor([rank, int(os.environ["GROUP_RANK"]) + 1])
dist.all_reduce(total)
assert total[0] == size * (size - 1) // 2, total
dist.barrier()
if rank == 0:
    print(f"torch ok, {size} ranks on {nodes} nodes", flush=True)
dist.destroy_process_group()
