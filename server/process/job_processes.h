// Finds the processes of a job whose shim is dead, and which therefore have
// lost their parent.
#ifndef CANOPY_SERVER_PROCESS_JOB_PROCESSES_H_
#define CANOPY_SERVER_PROCESS_JOB_PROCESSES_H_

#include <string>
#include <unordered_set>

namespace canopy::process {

// Properties that identify the processes of one job. A process belongs to the
// job if it has at least one of them.
struct JobProcesses {
  // NAME=VALUE that only this job's processes have in their environment. Finds
  // processes that left their session and group.
  std::string mark;
  // The session of the shim, if it leads one, or 0. All its members belong to
  // the job.
  int session_of_shim = 0;
  // The session in which ranks were started, and their process groups. A
  // process must be in both. Finds processes that cleared their environment.
  int session = 0;
  std::unordered_set<int> groups;
};

// Sends SIGKILL to every process of the job that this process may signal,
// except itself, including processes that are forked meanwhile. Reads all of
// /proc, which takes about 20 us for each process of the machine.
void KillProcesses(const JobProcesses& job);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_JOB_PROCESSES_H_
