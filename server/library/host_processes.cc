#include "server/library/host_processes.h"

#include <utility>

#include "server/library/hosted_jobs.h"

namespace canopy::library {

void HostProcesses::Prepare(const core::PrepareLocal& job) {
  const std::string& nspace = job.job->nspace;
  ranks_[nspace] = job.layout->ranks_of_agent(kSelf);
  core::LocalPrepared prepared;
  prepared.nspace = nspace;
  sink_->OnInput(std::move(prepared));
}

void HostProcesses::Start(const core::StartLocal& start) {
  core::LocalStarted started;
  started.nspace = start.nspace;
  started.procs = static_cast<uint32_t>(ranks_[start.nspace].size());
  sink_->OnInput(std::move(started));
}

void HostProcesses::End(const std::string& nspace) {
  core::LocalExits exits;
  exits.nspace = nspace;
  exits.final = true;
  for (const Rank rank : ranks_[nspace]) {
    core::ProcExit exit;
    exit.rank = rank;
    exits.exits.push_back(exit);
  }
  sink_->OnInput(std::move(exits));
}

}  // namespace canopy::library
