#!/usr/bin/env python3
"""Integration tests: unmodified MPI programs under canopy run.

Usage: tests/integration/run.py [WORD...]   only the cases with a WORD in them
       tests/integration/run.py --list [WORD...]   their names
CANOPY_PREFIX=P takes what is installed below P. Otherwise .canopy is taken, where
./quickstart installs, if it is newer than all sources, or Canopy is installed anew.
CANOPY_SHARDS=N runs up to N cases at once (default: one more than CPUs, at most 8).
"""
import sys

import cases_adversary
import cases_agent_away
import cases_allocations
import cases_attacks
import cases_bad
import cases_c_host
import cases_cluster
import cases_control
import cases_debug
import cases_disk
import cases_driver
import cases_dynamic
import cases_ends
import cases_example_scheduler
import cases_faults
import cases_floods
import cases_grow
import cases_host_module_check
import cases_hostile
import cases_inject
import cases_io
import cases_jobs
import cases_json
import cases_kubernetes
import cases_messages
import cases_mpi
import cases_netns
import cases_network
import cases_nodes
import cases_openpmix
import cases_operator_story
import cases_orted
import cases_output
import cases_plain_runs
import cases_pmi
import cases_preload
import cases_process
import cases_programs
import cases_python
import cases_python_module
import cases_reflection
import cases_relay
import cases_restart
import cases_running
import cases_scheduler
import cases_scheduler_commands
import cases_scheduler_tls
import cases_scheduler_tokens
import cases_scheduler_users
import cases_sdk
import cases_slurm
import cases_spawn
import cases_squat
import cases_tls
import cases_tools
import cases_torch
import cases_user_pages
import cases_user_story
import cases_users
import cases_write_a_scheduler
import harness
import runner

SUITES = (
    cases_mpi,
    cases_netns,
    cases_slurm,
    cases_c_host,
    cases_orted,
    cases_output,
    cases_allocations,
    cases_tls,
    cases_reflection,
    cases_relay,
    cases_programs,
    cases_torch,
    cases_python,
    cases_python_module,
    cases_sdk,
    cases_inject,
    cases_preload,
    cases_process,
    cases_restart,
    cases_agent_away,
    cases_scheduler,
    cases_scheduler_commands,
    cases_scheduler_tls,
    cases_scheduler_tokens,
    cases_scheduler_users,
    cases_driver,
    cases_io,
    cases_ends,
    cases_bad,
    cases_host_module_check,
    cases_write_a_scheduler,
    cases_user_pages,
    cases_user_story,
    cases_users,
    cases_kubernetes,
    cases_operator_story,
    cases_example_scheduler,
    cases_hostile,
    cases_floods,
    cases_attacks,
    cases_adversary,
    cases_squat,
    cases_control,
    cases_faults,
    cases_disk,
    cases_network,
    cases_nodes,
    cases_grow,
    cases_cluster,
    cases_jobs,
    cases_openpmix,
    cases_spawn,
    cases_dynamic,
    cases_pmi,
    cases_tools,
    cases_debug,
    cases_running,
    cases_json,
    cases_messages,
    cases_plain_runs,
)


def inside(share, words):
    bench = harness.Bench(share, words)
    for suite in SUITES:
        suite.run(bench)


if __name__ == "__main__":
    sys.exit(runner.main(__file__, __doc__, "integration", inside))
