#include "server/process/shim_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "server/process/job_processes.h"
#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

bool IsChild(int pid) {
  siginfo_t info;
  return waitid(P_PID, static_cast<id_t>(pid), &info,
                WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

void ShimProcess::NoteStarted(int pid) {
  pid_ = pid;
  child_pid_ = pid;
  session_ = getsid(pid);
}

void ShimProcess::NoteFound(int pid) {
  pid_ = pid;
  if (IsChild(pid)) child_pid_ = pid;
  session_ = getsid(pid);
}

void ShimProcess::KillShim() const {
  if (child_pid_ > 0) kill(child_pid_, SIGKILL);
}

void ShimProcess::KillJob(const std::string& nspace,
                          std::unordered_set<int> groups) const {
  if (pid_ == 0) return;
  JobProcesses left;
  left.mark = JobMark(nspace, pid_);
  left.session_of_shim = session_ == pid_ ? session_ : 0;
  left.session = session_;
  left.groups = std::move(groups);
  KillProcesses(left);
}

}  // namespace canopy::process
