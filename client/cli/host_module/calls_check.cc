#include "client/cli/host_module/calls_check.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "client/cli/host_module/placement_call.h"
#include "client/cli/host_module/well_formed.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;
using Infos = google::protobuf::RepeatedPtrField<v1h::Info>;

constexpr uint32_t kAllocNew = 1;  // PMIX_ALLOC_NEW
constexpr uint32_t kCallersSession = UINT32_MAX;
constexpr char kCredential[] = "pmix.cred";  // PMIX_CREDENTIAL
// PMIX_QUERY_QUEUE_LIST, PMIX_TIME_REMAINING
constexpr const char* kKeys[] = {"pmix.qry.qlst", "pmix.time.remaining"};
constexpr int32_t kNotFound = -46;        // PMIX_ERR_NOT_FOUND
constexpr int32_t kPartialSuccess = -52;  // PMIX_ERR_PARTIAL_SUCCESS

struct Asked {
  v1h::HostCall call;
  Infos infos;
};

v1h::Info Text(const std::string& key, const std::string& text) {
  v1h::Info info;
  info.set_key(key);
  info.mutable_value()->set_type(3);  // PMIX_STRING
  info.mutable_value()->set_text(text);
  return info;
}

v1h::AllocateRequest MakeAllocate() {
  v1h::AllocateRequest request;
  request.set_directive(kAllocNew);
  v1h::Info* const nodes = request.add_infos();
  nodes->set_key("pmix.alloc.nnodes");
  nodes->mutable_value()->set_type(15);  // PMIX_UINT64
  nodes->mutable_value()->set_unsigned_(1);
  return request;
}

v1h::ControlSessionRequest MakeControlSession() {
  v1h::ControlSessionRequest request;
  request.set_session_id(kCallersSession);
  return request;
}

v1h::BlockResourcesRequest MakeBlockResources() {
  v1h::BlockResourcesRequest request;
  request.set_directive(1);  // PMIX_RESBLK_DEFINE
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
  request.set_error(-1);
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

grpc::Status Ask(Probe* probe, v1h::Slot slot, const Asked& asked,
                 v1h::HostReply* reply) {
  grpc::ClientContext context;
  probe->SetDeadline(&context);
  const auto call = [&](auto request, Infos* infos, auto method) {
    *request->mutable_call() = asked.call;
    infos->MergeFrom(asked.infos);
    return (probe->stub()->*method)(&context, *request, reply);
  };
  using Stub = v1h::HostModule::Stub;
  switch (slot) {
    case v1h::SLOT_ALLOCATE: {
      v1h::AllocateRequest request = MakeAllocate();
      return call(&request, request.mutable_infos(), &Stub::Allocate);
    }
    case v1h::SLOT_CONTROL_SESSION: {
      v1h::ControlSessionRequest request = MakeControlSession();
      return call(&request, request.mutable_infos(), &Stub::ControlSession);
    }
    case v1h::SLOT_BLOCK_RESOURCES: {
      v1h::BlockResourcesRequest request = MakeBlockResources();
      return call(&request, request.mutable_infos(), &Stub::BlockResources);
    }
    case v1h::SLOT_LOG: {
      v1h::LogRequest request = MakeLog();
      return call(&request, request.mutable_directives(), &Stub::Log);
    }
    case v1h::SLOT_MONITOR: {
      v1h::MonitorRequest request = MakeMonitor();
      return call(&request, request.mutable_directives(), &Stub::Monitor);
    }
    case v1h::SLOT_GET_CREDENTIAL: {
      v1h::GetCredentialRequest request;
      return call(&request, request.mutable_infos(), &Stub::GetCredential);
    }
    case v1h::SLOT_CONNECT_TOOL: {
      v1h::ConnectToolRequest request;
      *request.mutable_call() = asked.call;
      return probe->stub()->ConnectTool(&context, request, reply);
    }
    case v1h::SLOT_QUERY: {
      v1h::QueryRequest request = MakeQuery();
      return call(&request, request.mutable_qualifiers(), &Stub::Query);
    }
    default: {
      v1h::ValidateCredentialRequest request = MakeValidate();
      return call(&request, request.mutable_infos(), &Stub::ValidateCredential);
    }
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

// The issued credential must be in the results.
void CheckCredential(const v1h::HostReply& reply, Findings* findings) {
  if (reply.status() != 0) return;
  findings->Expect(std::ranges::any_of(reply.results(),
                                       [](const v1h::Info& info) {
                                         return info.key() == kCredential &&
                                                !info.value().octets().empty();
                                       }),
                   "PMIX_CREDENTIAL, a byte object, in the results",
                   std::to_string(reply.results_size()) + " others");
}

// The status must match the number of keys that have an answer.
void CheckAnswers(const v1h::HostReply& reply, Findings* findings) {
  const auto answered =
      std::ranges::count_if(kKeys, [&](const std::string& key) {
        return std::ranges::any_of(reply.results(), [&](const v1h::Info& info) {
          return info.key() == key;
        });
      });
  const int32_t wanted = answered == std::ssize(kKeys) ? 0
                         : answered == 0               ? kNotFound
                                                       : kPartialSuccess;
  findings->Expect(reply.status() == wanted,
                   "status " + std::to_string(wanted) + " with answers to " +
                       std::to_string(answered) + " of " +
                       std::to_string(std::ssize(kKeys)) + " keys",
                   std::to_string(reply.status()));
}

}  // namespace

void CheckCalls(Probe* probe, v1h::Slot slot, Findings* findings) {
  Asked asked = {MakeCall(probe), {}};
  v1h::HostReply first;
  grpc::Status status = Ask(probe, slot, asked, &first);
  if (!findings->Expect(status.ok(), "an answer", StatusText(status))) return;
  findings->Expect(first.status() <= 0, "a PMIx status, 0 or negative",
                   std::to_string(first.status()));
  const std::string problem = ProblemOf(first);
  if (!problem.empty()) findings->Fail("got " + problem);
  if (slot == v1h::SLOT_GET_CREDENTIAL) CheckCredential(first, findings);
  if (slot == v1h::SLOT_QUERY) CheckAnswers(first, findings);

  v1h::HostReply again;
  status = Ask(probe, slot, asked, &again);
  findings->Expect(
      status.ok() && again.status() == first.status(),
      "status " + std::to_string(first.status()) +
          " again for the same call_id",
      status.ok() ? std::to_string(again.status()) : StatusText(status));

  // This slot has no directives.
  if (slot == v1h::SLOT_CONNECT_TOOL) return;
  asked.call = MakeCall(probe);
  *asked.infos.Add() = Text("canopy.check.unknown", "");
  asked.infos[0].set_required(true);
  v1h::HostReply refused;
  status = Ask(probe, slot, asked, &refused);
  findings->Expect(status.ok() && refused.status() == kPmixNotSupported,
                   "a required directive that is not known refused with "
                   "status " +
                       std::to_string(kPmixNotSupported),
                   status.ok() ? "status " + std::to_string(refused.status())
                               : StatusText(status));
}

}  // namespace canopy::cli
