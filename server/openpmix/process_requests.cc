#include "server/openpmix/process_requests.h"

#include <climits>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/openpmix/directive_check.h"

namespace canopy::openpmix {
namespace {

constexpr size_t kMaxCodes = 1 << 16;

// `function` is empty for an operation whose directives the core checks.
CoreRequest ReadCollective(Reading& r, core::CollectiveOp op,
                           std::string_view function, AnswerForm answer) {
  core::CollectiveArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  input.op = op;
  InfoList infos;
  ReadProcs(r.in, &input.participants);
  r.in.UnpackCountedInfos(&infos);
  if (!function.empty()) CheckDirectives(r, function, infos);
  input.collect_data = FlagIn(infos, PMIX_COLLECT_DATA);
  input.timeout_ms = TimeoutMs(infos);
  OurForm(r.in, infos, &input.info);
  return {std::move(input), answer};
}

std::vector<ProcId> ReceiversIn(const InfoList& infos) {
  std::vector<ProcId> receivers;
  const pmix_info_t* info = infos.Find(PMIX_EVENT_CUSTOM_RANGE);
  if (info == nullptr) return receivers;
  if (const auto proc = ProcOf(info->value)) receivers.push_back(*proc);
  if (const auto procs = ProcsOf(info->value)) {
    for (const pmix_proc_t& proc : *procs) receivers.push_back(FromC(proc));
  }
  return receivers;
}

}  // namespace

Request ReadAbort(Reading& r) {
  core::AbortArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  r.in.UnpackStatus(&input.status);
  ReadText(r.in, kMaxText, &input.text);
  ReadProcs(r.in, &input.targets);
  return CoreRequest{std::move(input)};
}

Request ReadFence(Reading& r) {
  return ReadCollective(r, core::CollectiveOp::kFence, "PMIx_Fence",
                        AnswerForm::kStatus);
}

// Ignores the data that newer clients append, which the agents already have.
Request ReadConnect(Reading& r) {
  return ReadCollective(r, core::CollectiveOp::kConnect, "PMIx_Connect",
                        AnswerForm::kConnect);
}

Request ReadDisconnect(Reading& r) {
  return ReadCollective(r, core::CollectiveOp::kDisconnect, "PMIx_Disconnect",
                        AnswerForm::kStatus);
}

// Ignores the committed data that newer clients append to the infos, because
// the agents already have it.
Request ReadGroupConstruct(Reading& r) {
  core::CollectiveArrived input;
  ReadText(r.in, kMaxNspaceLen, &input.name);
  CoreRequest request = ReadCollective(r, core::CollectiveOp::kGroupConstruct,
                                       "", AnswerForm::kGroup);
  auto& read = std::get<core::CollectiveArrived>(request.input);
  read.name = std::move(input.name);
  return request;
}

// Ignores the members of the group, which some versions repeat here, because
// they are known from its construction.
Request ReadGroupDestruct(Reading& r) {
  core::CollectiveArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  input.op = core::CollectiveOp::kGroupDestruct;
  ReadText(r.in, kMaxNspaceLen, &input.name);
  std::vector<ProcId> members;
  if (r.requester.traits.group_destruct_has_procs) ReadProcs(r.in, &members);
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  input.timeout_ms = TimeoutMs(infos);
  OurForm(r.in, infos, &input.info);
  return CoreRequest{std::move(input)};
}

Request ReadGroupLeave(Reading& r) {
  core::GroupCallArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  input.call = core::GroupCallArrived::Call::kLeave;
  ReadText(r.in, kMaxNspaceLen, &input.name);
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  CheckDirectives(r, "PMIx_Group_leave", infos);
  OurForm(r.in, infos, &input.info);
  return CoreRequest{std::move(input)};
}

Request ReadFinalize(Reading& r) {
  return CoreRequest{core::FinalizeArrived{r.requester.client, r.tag}};
}

Request ReadNotify(Reading& r) {
  core::EventRaised input;
  input.client = r.requester.client;
  input.request = r.tag;
  // This id is unique, because a recovered connection keeps its number and no
  // later connection gets it.
  input.id = r.requester.client << 32 | r.tag;
  input.source = r.requester.proc;
  InfoList infos;
  r.in.UnpackStatus(&input.status);
  r.in.UnpackByte(PMIX_DATA_RANGE, &input.range);
  r.in.UnpackCountedInfos(&infos);
  CheckDirectives(r, "PMIx_Notify_event", infos);
  input.targets = ReceiversIn(infos);
  OurForm(r.in, infos, &input.info);
  return CoreRequest{std::move(input)};
}

Request ReadEventsWanted(Reading& r) {
  core::EventsWanted input;
  input.client = r.requester.client;
  input.request = r.tag;
  size_t n = 0;
  size_t count = 0;
  r.in.UnpackSize(&n);
  input.all = n == 0;
  if (n > kMaxCodes) r.in.Fail(kErrOutOfResource);
  if (n > 0 && r.in.UnpackCount(PMIX_STATUS, &count) && count != n) {
    r.in.Fail(kErrUnpackFailure);
  }
  for (size_t i = 0; i < n && r.in.ok(); ++i) {
    int32_t code = 0;
    if (r.in.GetInt32(&code)) input.codes.push_back(code);
  }
  // The client's own library applies the infos.
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  return CoreRequest{std::move(input)};
}

Request ReadEventsUnwanted(Reading& r) {
  core::EventsUnwanted input;
  input.client = r.requester.client;
  while (!r.in.AtEnd() && r.in.ok()) {
    pmix_status_t code = 0;
    if (!r.in.UnpackStatus(&code)) break;
    if (input.codes.size() >= kMaxCodes) r.in.Fail(kErrOutOfResource);
    if (code == INT_MIN) {
      input.all = true;
    } else {
      input.codes.push_back(code);
    }
  }
  return CoreRequest{std::move(input), AnswerForm::kNone};
}

}  // namespace canopy::openpmix
