// Finds the processes of a job whose shim is dead. They have lost their parent.
#ifndef CANOPY_SERVER_PROCESS_JOB_PROCESSES_H_
#define CANOPY_SERVER_PROCESS_JOB_PROCESSES_H_

#include <string>
#include <unordered_set>

namespace canopy::process {

// Properties that identify the processes of one job. A process belongs to the
// job if it has at least one of them.
struct JobProcesses {
  // A NAME=VALUE entry that is only in the environment of this job's processes.
  // It also identifies processes that have left their session and group.
  std::string mark;
  // The session of the shim, if the shim leads one, or 0. All members of the
  // session belong to the job.
  int session_of_shim = 0;
  // The session in which ranks were started, and the ranks' process groups. A
  // process of the job is in the session and one of the groups. Session and
  // groups identify also processes that have cleared their environment.
  int session = 0;
  std::unordered_set<int> groups;
};

// Sends SIGKILL to every process of the job that this process may signal,
// except itself, including processes that are forked meanwhile. Reads all of
// /proc, which takes about 20 us for each process of the machine.
void KillProcesses(const JobProcesses& job);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_JOB_PROCESSES_H_
