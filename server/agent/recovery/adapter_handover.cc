#include "server/agent/recovery/adapter_handover.h"

#include <linux/close_range.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy::agent {

AdapterHandover::AdapterHandover(HandoverParts parts)
    : parts_(std::move(parts)) {}

void AdapterHandover::Announce(uint32_t downtime_ms) {
  parts_.job_manager->AnnounceHandover(downtime_ms);
  parts_.adapters->process().PrepareHandover(downtime_ms);
  parts_.adapters->local().PrepareHandover(downtime_ms);
  parts_.adapters->openpmix().PrepareHandover();
}

void AdapterHandover::AnnounceToNeighbours(uint32_t downtime_ms,
                                           std::function<void()> announced) {
  parts_.overlay->AnnounceHandover(downtime_ms, std::move(announced));
}

bool AdapterHandover::AllIdentified() const {
  return parts_.adapters->openpmix().AllIdentified();
}

void AdapterHandover::ReadClients() { parts_.adapters->local().Quiesce(); }

void AdapterHandover::Drain() { parts_.runtime->Drain(); }

void AdapterHandover::FlushReplies() {
  parts_.adapters->local().FlushAll();
  parts_.adapters->openpmix().Quiesce();
  parts_.control->FlushReplies();
}

void AdapterHandover::Execute(const std::string& program) {
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  parts_.files->Restore();
  execl(program.c_str(), "canopyd", "--continue", parts_.directory.c_str(),
        nullptr);
  spdlog::error("cannot become {}: {}", program, std::strerror(errno));
}

void AdapterHandover::Exit() {
  spdlog::info("left the jobs of this node to a successor");
  spdlog::shutdown();
  // Objects are not destroyed, because that would end the jobs.
  _exit(0);
}

void AdapterHandover::Fail() { parts_.fail(); }

}  // namespace canopy::agent
