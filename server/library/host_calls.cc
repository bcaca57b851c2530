#include "server/library/host_calls.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/library/requestor.h"

namespace canopy::library {
namespace {

void AddUser(const core::AskHost& ask, InfoList* infos) {
  const bool ours = ask.uid == core::kAgentsUser;
  AddUser(HostCaller{ask.source, ours ? geteuid() : ask.uid,
                     ours ? getegid() : ask.gid},
          infos);
}

// Decodes a call into *call, and its infos into *infos.
template <typename Call>
bool Read(const core::AskHost& ask, Call* call, InfoList* infos) {
  return wire::Decode(ask.call, call) && DecodeInfos(call->infos, infos);
}

}  // namespace

std::string EncodeResults(const InfoList& infos) {
  std::string out;
  if (infos.empty() ||
      EncodeInfos(infos.data(), infos.size(), &out) != PMIX_SUCCESS) {
    out.clear();
  }
  return out;
}

// The arguments of a host's function, which may read them until it answers.
struct HostCalls::Arguments {
  pmix_proc_t proc;
  std::vector<pmix_proc_t> targets;
  InfoList infos;
  InfoList directives;
  std::vector<pmix_resource_unit_t> units;
  std::string text;
};

int HostCalls::Call(const core::AskHost& ask, Done done) {
  auto a = std::make_shared<Arguments>();
  a->proc = ToC(ask.source);
  Upcalls::Done reply = [done = std::move(done)](const HostAnswer& answer) {
    done(answer.status, EncodeResults(answer.infos));
  };
  switch (ask.op) {
    case HostOp::kJobControl:
      return ControlJob(ask, std::move(a), std::move(reply));
    case HostOp::kAllocate:
      return Allocate(ask, std::move(a), std::move(reply));
    case HostOp::kMonitor:
      return Monitor(ask, std::move(a), std::move(reply));
    case HostOp::kLog:
      return Log(ask, std::move(a), std::move(reply));
    case HostOp::kControlSession:
      return ControlSession(ask, std::move(a), std::move(reply));
    case HostOp::kBlockResources:
      return BlockResources(ask, std::move(a), std::move(reply));
    case HostOp::kGetCredential:
      return GetCredential(ask, std::move(a), std::move(reply));
    case HostOp::kValidateCredential:
      return Validate(ask, std::move(a), std::move(reply));
    case HostOp::kFabric:
      return Fabric(ask, std::move(a), std::move(reply));
    case HostOp::kQuery:
    // These calls concern jobs that agents control; a host in C controls its
    // own jobs.
    case HostOp::kReadOutput:
    case HostOp::kPushInput:
      break;
  }
  return kErrNotSupported;
}

int HostCalls::ControlJob(const core::AskHost& ask, Shared a,
                          Upcalls::Done done) {
  if (module_.job_control == nullptr) return kErrNotSupported;
  if (!DecodeInfos(ask.call.view(), &a->directives)) return kErrUnpackFailure;
  AddUser(ask, &a->directives);
  for (const ProcId& proc : ask.targets) a->targets.push_back(ToC(proc));
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.job_control(
            &a->proc, a->targets.empty() ? nullptr : a->targets.data(),
            a->targets.size(), a->directives.data(), a->directives.size(),
            Upcalls::OnInfos, cbdata);
      },
      std::move(done), TimeoutOf(a->directives));
  return kSuccess;
}

int HostCalls::Allocate(const core::AskHost& ask, Shared a,
                        Upcalls::Done done) {
  if (module_.allocate == nullptr) return kErrNotSupported;
  host_call::Allocate call;
  if (!Read(ask, &call, &a->infos)) return kErrUnpackFailure;
  const pmix_alloc_directive_t directive = call.directive;
  AddUser(ask, &a->infos);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.allocate(&a->proc, directive, a->infos.data(),
                                a->infos.size(), Upcalls::OnInfos, cbdata);
      },
      std::move(done), TimeoutOf(a->infos));
  return kSuccess;
}

int HostCalls::Monitor(const core::AskHost& ask, Shared a, Upcalls::Done done) {
  if (module_.monitor == nullptr) return kErrNotSupported;
  host_call::Monitor call;
  if (!Read(ask, &call, &a->directives) || !DecodeInfos(call.what, &a->infos) ||
      a->infos.size() != 1) {
    return kErrUnpackFailure;
  }
  const pmix_status_t error = call.error;
  AddUser(ask, &a->directives);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.monitor(&a->proc, a->infos.data(), error,
                               a->directives.data(), a->directives.size(),
                               Upcalls::OnInfos, cbdata);
      },
      std::move(done), TimeoutOf(a->directives));
  return kSuccess;
}

// Calls the host's function for logs. The older function has no status, so it
// cannot refuse.
int HostCalls::Log(const core::AskHost& ask, Shared a, Upcalls::Done done) {
  if (module_.log == nullptr && module_.log2 == nullptr) {
    return kErrNotSupported;
  }
  host_call::Log call;
  if (!Read(ask, &call, &a->directives) || !DecodeInfos(call.data, &a->infos)) {
    return kErrUnpackFailure;
  }
  AddUser(ask, &a->directives);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        if (module_.log2 != nullptr) {
          return module_.log2(&a->proc, a->infos.data(), a->infos.size(),
                              a->directives.data(), a->directives.size(),
                              Upcalls::OnOp, cbdata);
        }
        module_.log(&a->proc, a->infos.data(), a->infos.size(),
                    a->directives.data(), a->directives.size(), Upcalls::OnOp,
                    cbdata);
        return static_cast<pmix_status_t>(PMIX_SUCCESS);
      },
      std::move(done), TimeoutOf(a->directives));
  return kSuccess;
}

int HostCalls::ControlSession(const core::AskHost& ask, Shared a,
                              Upcalls::Done done) {
  if (module_.session_control == nullptr) return kErrNotSupported;
  host_call::ControlSession call;
  if (!Read(ask, &call, &a->directives)) return kErrUnpackFailure;
  const uint32_t session = call.session;
  AddUser(ask, &a->directives);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.session_control(&a->proc, session, a->directives.data(),
                                       a->directives.size(), Upcalls::OnInfos,
                                       cbdata);
      },
      std::move(done), TimeoutOf(a->directives));
  return kSuccess;
}

int HostCalls::BlockResources(const core::AskHost& ask, Shared a,
                              Upcalls::Done done) {
  if (module_.resource_block == nullptr) return kErrNotSupported;
  host_call::BlockResources call;
  if (!Read(ask, &call, &a->infos)) return kErrUnpackFailure;
  const pmix_resource_block_directive_t directive = call.directive;
  a->text = call.block;
  for (const auto& [type, count] : call.units)
    a->units.push_back({type, count});
  AddUser(ask, &a->infos);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.resource_block(
            &a->proc, directive, a->text.c_str(),
            a->units.empty() ? nullptr : a->units.data(), a->units.size(),
            a->infos.data(), a->infos.size(), Upcalls::OnOp, cbdata);
      },
      std::move(done), TimeoutOf(a->infos));
  return kSuccess;
}

int HostCalls::GetCredential(const core::AskHost& ask, Shared a,
                             Upcalls::Done done) {
  if (module_.get_credential == nullptr) return kErrNotSupported;
  if (!DecodeInfos(ask.call.view(), &a->directives)) return kErrUnpackFailure;
  AddUser(ask, &a->directives);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.get_credential(&a->proc, a->directives.data(),
                                      a->directives.size(),
                                      Upcalls::OnCredential, cbdata);
      },
      [done = std::move(done)](HostAnswer answer) {
        if (answer.status == kSuccess) {
          answer.infos.Set(PMIX_CREDENTIAL, Value::ByteObject(answer.data));
        }
        done(std::move(answer));
      },
      TimeoutOf(a->directives));
  return kSuccess;
}

int HostCalls::Validate(const core::AskHost& ask, Shared a,
                        Upcalls::Done done) {
  if (module_.validate_credential == nullptr) return kErrNotSupported;
  host_call::ValidateCredential call;
  if (!Read(ask, &call, &a->directives)) return kErrUnpackFailure;
  a->text = call.credential;
  AddUser(ask, &a->directives);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        const pmix_byte_object_t credential = {a->text.data(), a->text.size()};
        return module_.validate_credential(
            &a->proc, &credential, a->directives.data(), a->directives.size(),
            Upcalls::OnValidation, cbdata);
      },
      std::move(done), TimeoutOf(a->directives));
  return kSuccess;
}

int HostCalls::Fabric(const core::AskHost& ask, Shared a, Upcalls::Done done) {
  if (module_.fabric == nullptr) return kErrNotSupported;
  host_call::Fabric call;
  if (!Read(ask, &call, &a->directives) ||
      call.operation > PMIX_FABRIC_UPDATE_INFO) {
    return kErrUnpackFailure;
  }
  const auto op = static_cast<pmix_fabric_operation_t>(call.operation);
  AddUser(ask, &a->directives);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.fabric(&a->proc, op, a->directives.data(),
                              a->directives.size(), Upcalls::OnInfos, cbdata);
      },
      std::move(done), TimeoutOf(a->directives));
  return kSuccess;
}

}  // namespace canopy::library
