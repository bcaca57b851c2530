// Finds the processes of a job whose shim is dead, and which are therefore
// nobody's children any more.
#ifndef CANOPY_SERVER_PROCESS_JOB_PROCESSES_H_
#define CANOPY_SERVER_PROCESS_JOB_PROCESSES_H_

#include <string>
#include <unordered_set>

namespace canopy::process {

// What the processes of one job are known by. A process belongs to the job
// when any of these is true.
struct JobProcesses {
  // NAME=VALUE that only this job's processes have in their environment. Finds
  // those that left their session and group.
  std::string mark;
  // The shim, when it leads a session of its own: all that are in it. Else 0.
  int session_of_shim = 0;
  // The session that ranks were started in, and their process groups: whoever
  // is in both. Finds those that dropped their environment.
  int session = 0;
  std::unordered_set<int> groups;
};

// Sends SIGKILL to every process of the job that it may send it to, itself
// excepted, also to those that are forked meanwhile. Reads all of /proc: some
// 20 us for each process of the machine.
void KillProcesses(const JobProcesses& job);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_JOB_PROCESSES_H_
