#include "server/scheduler/scheduler_host.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/text.h"
#include "common/time_units.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/host_services.h"
#include "server/ports/placement_port.h"
#include "server/scheduler/contract/line.h"
#include "server/scheduler/infos.h"
#include "server/scheduler/messages.h"

namespace canopy::scheduler {
namespace {

constexpr uint64_t kMaxTimeoutSeconds = 24 * 3600;
constexpr uint64_t kMaxUnits = 512;
constexpr uint32_t kCallersSession = UINT32_MAX;

using Infos = google::protobuf::RepeatedPtrField<v1::Info>;

// The numbers of requests about tools begin with this number, above all numbers
// of the core.
constexpr uint64_t kOfTool = uint64_t{1} << 62;

std::optional<v1::Feature> FeatureOfCall(HostOp op) {
  switch (op) {
    case HostOp::kAllocate:
      return v1::FEATURE_ALLOCATE;
    case HostOp::kControlSession:
      return v1::FEATURE_CONTROL_SESSION;
    case HostOp::kBlockResources:
      return v1::FEATURE_BLOCK_RESOURCES;
    case HostOp::kLog:
      return v1::FEATURE_LOG;
    case HostOp::kMonitor:
      return v1::FEATURE_MONITOR;
    case HostOp::kGetCredential:
      return v1::FEATURE_GET_CREDENTIAL;
    case HostOp::kValidateCredential:
      return v1::FEATURE_VALIDATE_CREDENTIAL;
    case HostOp::kQuery:
      return v1::FEATURE_QUERY;
    case HostOp::kJobControl:
    case HostOp::kReadOutput:
    case HostOp::kPushInput:
    case HostOp::kFabric:
      return std::nullopt;
  }
  return std::nullopt;
}

bool PutInfos(std::string_view bytes, Infos* out) {
  InfoList infos;
  if (!DecodeInfos(bytes, &infos)) return false;
  scheduler::PutInfos(infos.span(), out);
  return true;
}

// These functions fill in a request. They return false for a malformed call.

bool Fill(const host_call::Allocate& call, v1::AllocateRequest* out) {
  out->set_directive(static_cast<v1::AllocationDirective>(call.directive));
  return PutInfos(call.infos, out->mutable_infos());
}

bool Fill(const host_call::ControlSession& call,
          v1::ControlSessionRequest* out) {
  if (call.session != kCallersSession) out->set_session_id(call.session);
  return PutInfos(call.infos, out->mutable_infos());
}

bool Fill(const host_call::BlockResources& call,
          v1::BlockResourcesRequest* out) {
  out->set_directive(static_cast<v1::ResourceBlockDirective>(call.directive));
  out->set_block(Printable(call.block));
  if (call.units.size() > kMaxUnits) return false;
  for (const auto& [type, count] : call.units) {
    v1::ResourceUnit* const unit = out->add_units();
    unit->set_type(static_cast<v1::DeviceType>(type));
    unit->set_count(count);
  }
  return PutInfos(call.infos, out->mutable_infos());
}

bool Fill(const host_call::Log& call, v1::LogRequest* out) {
  return PutInfos(call.data, out->mutable_data()) &&
         PutInfos(call.infos, out->mutable_directives());
}

bool Fill(const host_call::Monitor& call, v1::MonitorRequest* out) {
  InfoList monitor;
  if (!DecodeInfos(call.what, &monitor) || monitor.size() != 1) return false;
  PutInfo(monitor[0], out->mutable_monitor());
  out->set_event_pmix_status(call.error);
  return PutInfos(call.infos, out->mutable_directives());
}

bool Fill(const host_call::ValidateCredential& call,
          v1::ValidateCredentialRequest* out) {
  out->set_credential(std::string(call.credential));
  return PutInfos(call.infos, out->mutable_infos());
}

bool Fill(const host_call::Query& call, v1::QueryRequest* out) {
  for (const std::string_view key : call.keys) out->add_keys(std::string(key));
  return PutInfos(call.infos, out->mutable_qualifiers());
}

template <typename Request, typename Call>
bool FillFrom(bool (*fill)(const Call&, Request*), const Bytes& bytes,
              Request* out) {
  Call call;
  return wire::Decode(bytes, &call) && fill(call, out);
}

template <typename Request>
bool FillCall(const Bytes& call, Request* out) {
  return FillFrom<Request>(Fill, call, out);
}

// A call for a credential contains only infos.
bool FillCall(const Bytes& call, v1::GetCredentialRequest* out) {
  return PutInfos(call.view(), out->mutable_infos());
}

// Returns true if the query requests the list of the queries that the scheduler
// serves. Agents send such a query themselves.
bool AsksWhatItServes(const core::AskHost& request) {
  host_call::Query query;
  return request.op == HostOp::kQuery && wire::Decode(request.call, &query) &&
         query.keys.size() == 1 && query.keys[0] == PMIX_QUERY_SUPPORTED_KEYS;
}

// Returns the time limit of a call in milliseconds: its PMIX_TIMEOUT within
// bounds, or the standard limit of the operation.
int64_t TimeLimitMs(const core::AskHost& request) {
  const int64_t standard = request.op == HostOp::kQuery
                               ? SchedulerHost::kQueryMs
                               : SchedulerHost::kDefaultMs;
  std::string_view infos = request.call.view();
  host_call::Infos call;
  switch (request.op) {
    case HostOp::kGetCredential:
      break;
    case HostOp::kAllocate:
    case HostOp::kControlSession:
    case HostOp::kValidateCredential:
    case HostOp::kQuery:
      if (!wire::Decode(request.call, &call)) return standard;
      infos = call.infos;
      break;
    default:
      return standard;
  }
  InfoList list;
  if (!DecodeInfos(infos, &list)) return standard;
  const uint64_t seconds = list.FindUint(PMIX_TIMEOUT).value_or(0);
  const auto limit =
      static_cast<int64_t>(std::min(seconds, kMaxTimeoutSeconds) * 1000);
  if (limit == 0) return standard;
  // The requester of a query waits no longer than kQueryMs.
  return request.op == HostOp::kQuery ? std::min(limit, standard) : limit;
}

// Returns the keys of a query.
std::vector<std::string> KeysOf(const core::AskHost& query) {
  host_call::Query call;
  if (!wire::Decode(query.call, &call)) return {};
  return {call.keys.begin(), call.keys.end()};
}

// Returns the status of a query with these results.
int StatusOfQuery(const core::AskHost& query, const InfoList& results) {
  const std::vector<std::string> keys = KeysOf(query);
  const auto answered =
      std::ranges::count_if(keys, [&](const std::string& key) {
        return std::ranges::any_of(results.span(), [&](const auto& info) {
          return KeyOf(info) == key;
        });
      });
  if (answered == 0) return kErrNotFound;
  return answered < std::ssize(keys) ? kErrPartialSuccess : kSuccess;
}

}  // namespace

SchedulerHost::SchedulerHost(Options options) : options_(std::move(options)) {
  options_.link->OnUp([this] { OnUp(); });
}

SchedulerHost::~SchedulerHost() {
  *alive_ = false;
  for (const auto& [number, pending] : pending_) {
    options_.loop->CancelTimer(pending.timer);
  }
}

void SchedulerHost::Ask(const core::AskHost& request) {
  if (!FeatureOfCall(request.op)) return options_.embedded->Ask(request);
  options_.link->Refresh();
  if (AsksWhatItServes(request)) return AnswerWhatItServes(request.number);
  Begin({request}, TimeLimitMs(request));
}

// Requests a decision about a tool. If the scheduler did not decide about tools
// while it was reachable, tools are also served while it is unreachable.
void SchedulerHost::AskAboutTool(const ArrivingTool& tool,
                                 std::function<void(const Status&)> done) {
  options_.link->Refresh();
  if (!options_.link->up() && decides_tools_ == false) return done(Status());
  if (num_tools_ >= kMaxTools) {
    return done(Status(kErrResourceBusy, "too many tools are asked about"));
  }
  ++num_tools_;
  core::AskHost request;
  request.number = kOfTool | next_tool_++;
  request.source = tool.proc;
  request.uid = tool.uid;
  request.gid = tool.gid;
  Begin({std::move(request), Tool{tool.elsewhere, std::move(done)}},
        options_.tool_ms);
}

void SchedulerHost::Begin(Pending pending, int64_t limit_ms) {
  const uint64_t number = pending.request.number;
  const int64_t limit = limit_ms * kNsPerMs;
  pending.deadline = EventLoop::Now() + limit;
  pending.timer =
      options_.loop->AddTimer(limit, [this, number] { OnTimeout(number); });
  Pending& begun = pending_[number] = std::move(pending);
  if (options_.link->up()) Send(&begun);
}

v1::Feature SchedulerHost::FeatureOf(const Pending& pending) {
  return pending.tool ? v1::FEATURE_CONNECT_TOOL
                      : *FeatureOfCall(pending.request.op);
}

void SchedulerHost::AnswerWhatItServes(uint64_t request) {
  const auto bit = [this](v1::Feature feature, uint64_t it) {
    return options_.link->Has(feature) ? it : uint64_t{0};
  };
  const uint64_t services = bit(v1::FEATURE_PLACE_JOB, core::kHostPlacesJobs) |
                            bit(v1::FEATURE_ALLOCATE, core::kHostAllocates) |
                            bit(v1::FEATURE_QUERY, core::kHostAnswersQueries);
  const InfoList infos{{PMIX_QUERY_SUPPORTED_KEYS, Value::Uint64(services)}};
  std::string bytes;
  const int status = EncodeInfos(infos.data(), infos.size(), &bytes);
  options_.sink->OnInput(
      core::HostAnswered{request, status, Bytes(std::move(bytes))});
}

void SchedulerHost::OnUp() {
  decides_tools_ = options_.link->Has(v1::FEATURE_CONNECT_TOOL);
  std::vector<uint64_t> numbers;
  for (const auto& [number, pending] : pending_) {
    if (pending.call == nullptr) numbers.push_back(number);
  }
  for (const uint64_t number : numbers) {
    const auto it = pending_.find(number);
    if (it != pending_.end()) Send(&it->second);
  }
}

void SchedulerHost::Send(Pending* pending) {
  const uint64_t number = pending->request.number;
  if (!options_.link->Has(FeatureOf(*pending))) {
    return Unsupported(number, "no such service");
  }
  pending->number = next_call_++;
  Sent sent = SendCall(*pending);
  if (!sent.ok()) return Answer(number, sent.status(), {});
  pending->call = *std::move(sent);
}

SchedulerHost::Sent SchedulerHost::SendCall(const Pending& pending) {
  const core::AskHost& request = pending.request;
  ServiceClient* const client = options_.link->client();
  const int64_t left =
      std::max<int64_t>((pending.deadline - EventLoop::Now()) / kNsPerMs, 1);
  const auto send = [&](auto message) -> Sent {
    if (!FillCall(request.call, &message)) {
      return Status(kErrUnpackFailure, "malformed call of the host");
    }
    *message.mutable_call() = CallOf(request);
    return client->Send(message, left, Done(request.number, pending.number));
  };
  if (pending.tool) {
    v1::ConnectToolRequest message;
    *message.mutable_call() = CallOf(request);
    message.set_elsewhere(pending.tool->elsewhere);
    return client->Send(message, left, Done(request.number, pending.number));
  }
  switch (request.op) {
    case HostOp::kAllocate:
      return send(v1::AllocateRequest());
    case HostOp::kControlSession:
      return send(v1::ControlSessionRequest());
    case HostOp::kBlockResources:
      return send(v1::BlockResourcesRequest());
    case HostOp::kLog:
      return send(v1::LogRequest());
    case HostOp::kMonitor:
      return send(v1::MonitorRequest());
    case HostOp::kGetCredential:
      return send(v1::GetCredentialRequest());
    case HostOp::kValidateCredential:
      return send(v1::ValidateCredentialRequest());
    case HostOp::kQuery:
      return send(v1::QueryRequest());
    case HostOp::kJobControl:
    case HostOp::kReadOutput:
    case HostOp::kPushInput:
    case HostOp::kFabric:
      break;
  }
  return Status(kErrNotSupported, "no such service");
}

v1::HostCall SchedulerHost::CallOf(const core::AskHost& request) const {
  v1::HostCall out;
  *out.mutable_overlay() = options_.link->overlay();
  const bool tool = request.uid == core::kAgentsUser;
  PlacementCaller caller;
  caller.uid = tool ? options_.uid : request.uid;
  caller.gid = tool ? options_.gid : request.gid;
  if (!request.source.nspace.empty()) caller.process = request.source;
  caller.host_job = request.host_job;
  PutCaller(caller, out.mutable_caller());
  // A process repeats its call to a successor of this agent with the same
  // number. Queries have no such number, so they may be answered twice.
  const bool numbered = request.request != 0;
  out.set_call_id(numbered ? Printable(request.source.nspace) + "." +
                                 std::to_string(request.source.rank) + "." +
                                 std::to_string(request.request)
                           : out.overlay().agent() + "." +
                                 std::to_string(options_.incarnation) + "." +
                                 std::to_string(request.number));
  return out;
}

ServiceClient::Done<Results> SchedulerHost::Done(uint64_t request,
                                                 uint64_t call) {
  return [this, request, call](const CallEnd& end, const Results& reply) {
    OnReply(request, call, end, reply);
  };
}

void SchedulerHost::OnReply(uint64_t request, uint64_t call, const CallEnd& end,
                            const Results& results) {
  const auto it = pending_.find(request);
  if (it == pending_.end() || it->second.number != call) return;
  it->second.call = nullptr;
  if (!end.ok()) return OnError(request, end);
  const Result<InfoList> infos = GetInfos(results);
  if (!infos.ok()) {
    options_.link->Warn("the scheduler's answer is malformed: " +
                        infos.status().message());
    return Answer(request, infos.status(), {});
  }
  std::string bytes;
  if (!infos->empty() &&
      EncodeInfos(infos->data(), infos->size(), &bytes) != kSuccess) {
    return Answer(request, Status(kErrUnpackFailure, "it cannot travel"), {});
  }
  const core::AskHost& asked = it->second.request;
  const bool query = !it->second.tool && asked.op == HostOp::kQuery;
  Answer(request, Status(query ? StatusOfQuery(asked, *infos) : int{kSuccess}),
         Bytes(std::move(bytes)));
}

void SchedulerHost::OnError(uint64_t request, const CallEnd& end) {
  Pending& pending = pending_.at(request);
  if (end.unimplemented() && !end.pmix_status) {
    return Unsupported(request, LineOf(end.message));
  }
  if (end.out_of_time() && !end.pmix_status) return;  // the timer answers
  if (!end.passes()) return Answer(request, StatusOf(end), {});
  if (options_.link->LostBy(end)) return;
  options_.loop->AddTimer(
      pending.backoff.Next(end.retry_ns),
      [this, alive = alive_, request, call = pending.number] {
        if (*alive) SendAgain(request, call);
      });
}

void SchedulerHost::SendAgain(uint64_t request, uint64_t call) {
  const auto it = pending_.find(request);
  if (it == pending_.end() || it->second.number != call ||
      it->second.call != nullptr) {
    return;
  }
  options_.link->Refresh();
  if (options_.link->up()) Send(&it->second);
}

void SchedulerHost::OnTimeout(uint64_t request) {
  const auto it = pending_.find(request);
  if (it == pending_.end()) return;
  if (it->second.call != nullptr) it->second.call->Cancel();
  Answer(request,
         options_.link->up()
             ? Status(kErrTimeout, "the scheduler has not answered in time")
             : Status(kErrUnreach, options_.link->WhyDown()),
         {});
}

void SchedulerHost::Answer(uint64_t request, const Status& status,
                           Bytes results) {
  const Pending pending = std::move(pending_.extract(request).mapped());
  options_.loop->CancelTimer(pending.timer);
  if (!pending.tool) {
    return options_.sink->OnInput(
        core::HostAnswered{request, status.code(), std::move(results)});
  }
  --num_tools_;
  pending.tool->done(status);
}

// Handles a request that the scheduler does not implement. Tools are served if
// the scheduler does not decide about them.
void SchedulerHost::Unsupported(uint64_t request, const std::string& why) {
  const core::AskHost ask = pending_.at(request).request;
  if (pending_.at(request).tool) return Answer(request, Status(), {});
  if (!options_.fallback) {
    return Answer(request, Status(kErrNotSupported, why), {});
  }
  options_.loop->CancelTimer(pending_.at(request).timer);
  pending_.erase(request);
  options_.embedded->Ask(ask);
}

// Drops the requests of the job's processes, which no longer need the answers.
void SchedulerHost::DropJob(const std::string& nspace) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    Pending& pending = it->second;
    const bool gone = !pending.tool && pending.request.source.nspace == nspace;
    if (!gone) {
      ++it;
      continue;
    }
    if (pending.call != nullptr) pending.call->Cancel();
    options_.loop->CancelTimer(pending.timer);
    it = pending_.erase(it);
  }
  options_.embedded->DropJob(nspace);
}

}  // namespace canopy::scheduler
