#include "client/cli/host_module/calls_check.h"

#include <algorithm>
#include <string>

#include "client/cli/host_module/status_text.h"
#include "client/cli/host_module/well_formed.h"
#include "common/status.h"
#include "server/scheduler/contract/call_end.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;
using Infos = google::protobuf::RepeatedPtrField<v1h::Info>;

constexpr char kCredential[] = "pmix.cred";        // PMIX_CREDENTIAL
constexpr char kAllocationId[] = "pmix.alloc.id";  // PMIX_ALLOC_ID
// The keys PMIX_QUERY_QUEUE_LIST and PMIX_TIME_REMAINING.
constexpr const char* kKeys[] = {"pmix.qry.qlst", "pmix.time.remaining"};
struct Asked {
  v1h::HostCall call;
  Infos infos;
};

v1h::Info Text(const std::string& key, const std::string& text) {
  v1h::Info info;
  info.set_key(key);
  info.mutable_value()->set_type(v1h::DATA_TYPE_STRING);
  info.mutable_value()->set_text(text);
  return info;
}

v1h::AllocateRequest MakeAllocate() {
  v1h::AllocateRequest request;
  request.set_directive(v1h::ALLOCATION_DIRECTIVE_NEW);
  v1h::Info* const nodes = request.add_infos();
  nodes->set_key("pmix.alloc.nnodes");
  nodes->mutable_value()->set_type(v1h::DATA_TYPE_UINT64);
  nodes->mutable_value()->set_unsigned_integer(1);
  return request;
}

v1h::AllocateRequest MakeRelease(const v1h::Info& id) {
  v1h::AllocateRequest request;
  request.set_directive(v1h::ALLOCATION_DIRECTIVE_RELEASE);
  *request.add_infos() = id;
  return request;
}

v1h::BlockResourcesRequest MakeBlockResources() {
  v1h::BlockResourcesRequest request;
  request.set_directive(v1h::RESOURCE_BLOCK_DIRECTIVE_DEFINE);
  request.set_block("check");
  return request;
}

v1h::LogRequest MakeLog() {
  v1h::LogRequest request;
  *request.add_data() =
      Text("pmix.log.gsys", "a line of 'canopy host-module check'");
  return request;
}

v1h::MonitorRequest MakeMonitor() {
  v1h::MonitorRequest request;
  request.mutable_monitor()->set_key("pmix.monitor.mbeat");  // a heartbeat
  request.mutable_monitor()->mutable_value()->set_flag(true);
  request.set_event_pmix_status(-1);
  return request;
}

v1h::ValidateCredentialRequest MakeValidate() {
  v1h::ValidateCredentialRequest request;
  request.set_credential("none");
  return request;
}

v1h::QueryRequest MakeQuery() {
  v1h::QueryRequest request;
  for (const char* key : kKeys) request.add_keys(key);
  return request;
}

template <typename Response>
void PutResults(const Response& response, Infos* results) {
  *results = response.results();
}
void PutResults(const v1h::ConnectToolResponse&, Infos*) {}

// Makes calls of one kind, each with its own infos.
class Caller {
 public:
  Caller(Probe* probe, const Asked& asked, Infos* results)
      : probe_(probe), asked_(asked), results_(results) {}

  scheduler::CallEnd Ask(v1h::Feature feature);
  // Requests the release of the allocation with this PMIX_ALLOC_ID.
  scheduler::CallEnd Release(const v1h::Info& id) {
    return Call(MakeRelease(id), &v1h::AllocateRequest::mutable_infos,
                &Stub::Allocate);
  }

 private:
  using Stub = v1h::HostModuleService::Stub;

  // Makes the call. `infos` selects the field of the request for the call's
  // infos; null: the request has none.
  template <typename Request, typename Response>
  scheduler::CallEnd Call(Request request, Infos* (Request::*infos)(),
                          grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                       const Request&,
                                                       Response*)) {
    grpc::ClientContext context;
    probe_->SetDeadline(&context);
    *request.mutable_call() = asked_.call;
    if (infos != nullptr) (request.*infos)()->MergeFrom(asked_.infos);
    Response response;
    const grpc::Status status =
        (probe_->stub()->*method)(&context, request, &response);
    PutResults(response, results_);
    return EndOf(status);
  }

  Probe* const probe_;
  const Asked& asked_;
  Infos* const results_;
};

scheduler::CallEnd Caller::Ask(v1h::Feature feature) {
  switch (feature) {
    case v1h::FEATURE_ALLOCATE:
      return Call(MakeAllocate(), &v1h::AllocateRequest::mutable_infos,
                  &Stub::Allocate);
    case v1h::FEATURE_CONTROL_SESSION:
      return Call(v1h::ControlSessionRequest(),
                  &v1h::ControlSessionRequest::mutable_infos,
                  &Stub::ControlSession);
    case v1h::FEATURE_BLOCK_RESOURCES:
      return Call(MakeBlockResources(),
                  &v1h::BlockResourcesRequest::mutable_infos,
                  &Stub::BlockResources);
    case v1h::FEATURE_LOG:
      return Call(MakeLog(), &v1h::LogRequest::mutable_directives, &Stub::Log);
    case v1h::FEATURE_MONITOR:
      return Call(MakeMonitor(), &v1h::MonitorRequest::mutable_directives,
                  &Stub::Monitor);
    case v1h::FEATURE_GET_CREDENTIAL:
      return Call(v1h::GetCredentialRequest(),
                  &v1h::GetCredentialRequest::mutable_infos,
                  &Stub::GetCredential);
    case v1h::FEATURE_QUERY:
      return Call(MakeQuery(), &v1h::QueryRequest::mutable_qualifiers,
                  &Stub::Query);
    case v1h::FEATURE_CONNECT_TOOL:
      return Call<v1h::ConnectToolRequest>(v1h::ConnectToolRequest(), nullptr,
                                           &Stub::ConnectTool);
    default:
      return Call(MakeValidate(),
                  &v1h::ValidateCredentialRequest::mutable_infos,
                  &Stub::ValidateCredential);
  }
}

v1h::HostCall MakeCall(Probe* probe) {
  v1h::HostCall call;
  *call.mutable_overlay() = probe->overlay();
  *call.mutable_caller() = probe->caller();
  call.mutable_caller()->mutable_process()->set_nspace("check");
  call.set_call_id(probe->NextId("call"));
  return call;
}

// Checks that the results contain the issued credential.
void CheckCredential(const Infos& results, Findings* findings) {
  findings->Expect(std::ranges::any_of(results,
                                       [](const v1h::Info& info) {
                                         return info.key() == kCredential &&
                                                !info.value().octets().empty();
                                       }),
                   "PMIX_CREDENTIAL, a byte object, in the results",
                   std::to_string(results.size()) + " others");
}

// Returns the value as text, for comparison and display.
std::string ValueText(const v1h::Value& value) {
  constexpr size_t kMaxText = 80;
  return value.ShortDebugString().substr(0, kMaxText);
}

// Returns, as text, the answer that a process would get.
std::string AnswerText(const scheduler::CallEnd& end, const Infos& results) {
  if (!end.ok()) return StatusText(end);
  std::string text = "an answer of";
  for (const v1h::Info& info : results) {
    text += " " + info.key() + "=" + ValueText(info.value());
  }
  return results.empty() ? "an answer without infos" : text;
}

// Returns true for an error of the call itself; other errors are answers. gRPC
// itself answers calls that a service does not have, without a PMIx status.
bool IsFailure(const scheduler::CallEnd& end) {
  return end.leaves_undecided() || (end.unimplemented() && !end.pmix_status);
}

// Releases the allocation that the check has requested, which would otherwise
// keep its nodes.
void CheckRelease(Probe* probe, const Infos& results, Findings* findings) {
  const auto id = std::ranges::find(results, kAllocationId, &v1h::Info::key);
  if (id == results.end()) return;
  findings->Begin("an allocation is released");
  const Asked asked = {MakeCall(probe), {}};
  Infos released;
  const scheduler::CallEnd end = Caller(probe, asked, &released).Release(*id);
  findings->Expect(end.ok(), "the release of the allocation", StatusText(end));
}

}  // namespace

void CheckCalls(Probe* probe, v1h::Feature feature, Findings* findings) {
  findings->Begin("a call is answered");
  Asked asked = {MakeCall(probe), {}};
  Infos first;
  scheduler::CallEnd end = Caller(probe, asked, &first).Ask(feature);
  const std::string answer = AnswerText(end, first);
  if (!findings->Expect(!IsFailure(end), "an answer", StatusText(end))) return;
  const std::string problem = ProblemOf(first);
  if (!problem.empty()) findings->Fail("got " + problem);
  if (end.ok() && feature == v1h::FEATURE_GET_CREDENTIAL) {
    CheckCredential(first, findings);
  }

  findings->Begin("a repeated call gets the same answer");
  Infos again;
  end = Caller(probe, asked, &again).Ask(feature);
  findings->Expect(AnswerText(end, again) == answer,
                   answer + " again for the same call_id",
                   AnswerText(end, again));
  if (end.ok() && feature == v1h::FEATURE_ALLOCATE) {
    CheckRelease(probe, first, findings);
  }

  // This call has no directives.
  if (feature == v1h::FEATURE_CONNECT_TOOL) return;
  findings->Begin("an unknown required directive is refused");
  asked.call = MakeCall(probe);
  *asked.infos.Add() = Text("canopy.check.unknown", "");
  asked.infos[0].set_required(true);
  Infos refused;
  end = Caller(probe, asked, &refused).Ask(feature);
  findings->Expect(!end.ok() && StatusOf(end).code() == kErrNotSupported,
                   "a required directive that is not known refused with "
                   "UNIMPLEMENTED",
                   StatusText(end));
}

}  // namespace canopy::cli
