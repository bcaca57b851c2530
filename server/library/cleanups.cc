#include "server/library/cleanups.h"

#include <algorithm>
#include <string_view>

#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/step/process_inputs.h"

namespace canopy::library {
namespace {

constexpr std::string_view kControls = "pmix.jctrl.";

bool IsOtherControl(const pmix_info_t& info) {
  const std::string_view key = KeyOf(info);
  return key.starts_with(kControls) && key != PMIX_JOB_CTRL_ID;
}

bool RegistersPathsAlone(const core::HostCallArrived& in) {
  InfoList infos;
  if (in.op != HostOp::kJobControl || !DecodeInfos(in.call.view(), &infos)) {
    return false;
  }
  const bool registers =
      infos.Has(PMIX_REGISTER_CLEANUP) || infos.Has(PMIX_REGISTER_CLEANUP_DIR);
  return registers && std::ranges::none_of(infos, IsOtherControl);
}

}  // namespace

Cleanups::Cleanups(const HostedJobs* jobs) : jobs_(*jobs) {}

Cleanups::~Cleanups() {
  for (const auto& [nspace, job] : jobs_.all()) registry_.DropJob(nspace);
}

std::optional<int> Cleanups::Take(const HostCaller& caller,
                                  const core::HostCallArrived& in) {
  if (!RegistersPathsAlone(in)) return std::nullopt;
  core::AskHost request;
  request.op = in.op;
  request.source = caller.proc;
  request.uid = caller.uid;
  request.gid = caller.gid;
  request.targets = in.targets;
  request.call = in.call;
  return registry_.Control(request).code();
}

void Cleanups::OnEnd(const ProcId& proc) {
  core::LocalExits exits;
  exits.nspace = proc.nspace;
  core::ProcExit exit;
  exit.rank = proc.rank;
  exits.exits.push_back(exit);
  registry_.OnLocalExits(exits);
}

}  // namespace canopy::library
