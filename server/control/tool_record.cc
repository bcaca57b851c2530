#include "server/control/tool_record.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/job.h"
#include "server/control/kills.h"
#include "server/core/spawn/tool_spawns.h"

namespace canopy::control {
namespace {

constexpr char kPathOfOthers[] = "PATH=/usr/local/bin:/usr/bin:/bin";

bool SaysOfAJob(std::string_view entry) {
  constexpr std::string_view kPrefixes[] = {"PMIX_", "PMI_", "CANOPY_"};
  return std::ranges::any_of(kPrefixes, [entry](std::string_view prefix) {
    return entry.starts_with(prefix);
  });
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!SaysOfAJob(*entry)) out.emplace_back(*entry);
  }
  return out;
}

bool IsOfTool(const JobRecord& record, const ProcId& tool) {
  return record.job->parent == tool && record.facts.spawn_request &&
         core::IsOfTool(*record.facts.spawn_request);
}

}  // namespace

JobRecord ToolRecord(const Spawner& tool) {
  JobSpec job;
  job.nspace = tool.nspace;
  job.uid = tool.owner ? tool.owner->uid : geteuid();
  job.gid = tool.owner ? tool.owner->gid : getegid();
  job.cwd = std::string("/");
  job.env =
      tool.owner ? std::vector<std::string>{kPathOfOthers} : OwnEnvironment();
  JobRecord record;
  record.job = std::make_shared<const JobSpec>(std::move(job));
  return record;
}

void EndJobsOfTool(const ProcId& tool, Families* families, InputSink* sink) {
  std::set<uint64_t> ended;
  for (const auto& [nspace, record] : families->jobs()) {
    if (IsOfTool(record, tool)) ended.insert(record.family);
  }
  for (const uint64_t id : ended) {
    Family* const family = families->FindFamily(id);
    families->Abandon(family);
    KillAbandoned(*families, family, "its tool is gone", sink);
  }
}

}  // namespace canopy::control
