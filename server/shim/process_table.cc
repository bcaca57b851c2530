#include "server/shim/process_table.h"

#include <signal.h>

#include <string>
#include <utility>

#include "server/shim/held_fds.h"

namespace canopy::process {
namespace {

// The number of the first inherited descriptor of a process.
constexpr int kFirstInherited = 3;

void SignalProcess(const LocalProcess& process, int signal) {
  if (process.phase != RankPhase::kRunning) return;
  // The signal goes to the process alone if its group no longer exists, because
  // the process may have moved to another group.
  if (kill(-process.pid, signal) != 0) kill(process.pid, signal);
}

}  // namespace

bool ProcessTable::Describe(RankSpec spec, const std::vector<UniqueFd>& fds,
                            size_t* next_fd, LocalProcess* process) {
  int number = kFirstInherited;
  for (const std::string& name : spec.fd_names) {
    if (*next_fd == fds.size()) return false;
    process->fds.push_back(DuplicateReceived(fds[(*next_fd)++].get()));
    if (!process->fds.back()) return false;
    spec.env.push_back(name + "=" + std::to_string(number++));
  }
  process->spec = std::move(spec);
  return true;
}

bool ProcessTable::Add(std::vector<RankSpec> ranks,
                       const std::vector<UniqueFd>& fds) {
  size_t next_fd = 0;
  for (RankSpec& spec : ranks) {
    LocalProcess process;
    if (!by_rank_.emplace(spec.rank, processes_.size()).second ||
        !Describe(std::move(spec), fds, &next_fd, &process)) {
      return false;
    }
    processes_.push_back(std::move(process));
  }
  return next_fd == fds.size();
}

LocalProcess* ProcessTable::Replace(RestartRank restart,
                                    const std::vector<UniqueFd>& fds) {
  const auto it = by_rank_.find(restart.spec.rank);
  if (it == by_rank_.end()) return nullptr;
  LocalProcess& process = processes_[it->second];
  LocalProcess next;
  next.incarnation = process.incarnation + 1;
  next.used = process.used;
  size_t next_fd = 0;
  if (process.phase != RankPhase::kEnded ||
      restart.incarnation != next.incarnation ||
      !Describe(std::move(restart.spec), fds, &next_fd, &next) ||
      next.spec.app != process.spec.app || next_fd != fds.size()) {
    return nullptr;
  }
  if (process.pid > 0) SignalOrphanedGroup(process.pid, SIGKILL);
  process = std::move(next);
  return &process;
}

const LocalProcess* ProcessTable::Find(Rank rank) const {
  const auto it = by_rank_.find(rank);
  return it == by_rank_.end() ? nullptr : &processes_[it->second];
}

std::vector<RankState> ProcessTable::States() const {
  std::vector<RankState> out;
  for (const LocalProcess& p : processes_) {
    out.push_back({p.spec.rank, p.phase, p.pid, p.wait_status, p.incarnation});
  }
  return out;
}

void ProcessTable::NoteStarted() {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].phase == RankPhase::kRunning) {
      by_pid_.emplace(processes_[i].pid, i);
    }
  }
}

LocalProcess* ProcessTable::NoteEnd(const Reaped& reaped) {
  const auto it = by_pid_.find(reaped.pid);
  if (it == by_pid_.end()) return nullptr;
  LocalProcess& process = processes_[it->second];
  by_pid_.erase(it);
  process.phase = RankPhase::kEnded;
  process.wait_status = reaped.wait_status;
  process.used.Add(reaped.used);
  return &process;
}

std::vector<LocalProcess*> ProcessTable::Select(
    const std::vector<Rank>& ranks) {
  std::vector<LocalProcess*> out;
  if (ranks.empty()) {
    for (LocalProcess& process : processes_) out.push_back(&process);
    return out;
  }
  for (const Rank rank : ranks) {
    const auto it = by_rank_.find(rank);
    if (it != by_rank_.end()) out.push_back(&processes_[it->second]);
  }
  return out;
}

void ProcessTable::Signal(const std::vector<Rank>& ranks, int signal) {
  for (const LocalProcess* process : Select(ranks)) {
    SignalProcess(*process, signal);
  }
}

void ProcessTable::Kill(const std::vector<Rank>& ranks) {
  for (const LocalProcess* process : Select(ranks)) {
    SignalProcess(*process, SIGKILL);
    if (process->phase == RankPhase::kEnded && process->pid > 0) {
      SignalOrphanedGroup(process->pid, SIGKILL);
    }
  }
}

}  // namespace canopy::process
