#include "server/library/client_gate.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/codec/infos.h"
#include "common/host_op.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/endpoint/tool_registry.h"

namespace canopy::library {
namespace {

struct EventArguments {
  pmix_proc_t source;
  InfoList infos;
};

struct NewcomerArguments {
  pmix_proc_t proc;
  InfoList infos;
};

// Returns false if the status refuses the process. A host may have the function
// without an implementation, which is no refusal.
bool MayGoOn(pmix_status_t status) {
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED ||
         status == PMIX_ERR_NOT_SUPPORTED || status == PMIX_ERR_NOT_IMPLEMENTED;
}

// Returns the credential that a tool sends. If the tool sends none, returns the
// kernel's ids in the form that OpenPMIx calls "native".
std::string CredentialOf(const endpoint::Newcomer& tool) {
  if (!tool.credential.empty()) return tool.credential;
  const uint32_t ids[] = {tool.uid, tool.gid};
  return std::string(reinterpret_cast<const char*>(ids), sizeof ids);
}

struct AbortArguments {
  std::string text;
  std::vector<pmix_proc_t> targets;
};

// These functions return true if an event of a local process may have handlers
// in the host's own process, or in servers of other nodes.
bool IsForServer(const core::EventRaised& in) {
  return in.range != PMIX_RANGE_PROC_LOCAL &&
         in.range != PMIX_RANGE_NAMESPACE && in.range != PMIX_RANGE_CUSTOM;
}
bool IsForHost(const core::EventRaised& in) {
  return in.range != PMIX_RANGE_PROC_LOCAL && in.range != PMIX_RANGE_LOCAL;
}

Bytes Encode(const InfoList& infos) {
  std::string out;
  return EncodeInfos(infos.data(), infos.size(), &out) == PMIX_SUCCESS
             ? Bytes(std::move(out))
             : Bytes();
}

}  // namespace

ClientGate::ClientGate(Parts parts)
    : p_(std::move(parts)),
      requests_(p_.module, p_.upcalls,
                [this](core::ClientId client, core::RequestId request,
                       int status, std::string payload) {
                  Answer(client, request, status, std::move(payload));
                }),
      events_(p_.module, p_.upcalls) {}

void ClientGate::OnInput(core::Input input) {
  const bool taken =
      std::visit([this](const auto& in) { return Take(in); }, input);
  if (taken) return;
  const bool commits = std::holds_alternative<core::Committed>(input) ||
                       std::holds_alternative<core::CommitTaken>(input);
  p_.core->OnInput(std::move(input));
  if (commits) p_.on_commit();
}

const ClientGate::Caller* ClientGate::Find(core::ClientId client) const {
  const auto it = callers_.find(client);
  return it == callers_.end() ? nullptr : &it->second;
}

std::set<core::ClientId> ClientGate::ClientsOf(const ProcId& proc) const {
  std::set<core::ClientId> clients;
  for (const auto& [client, caller] : callers_) {
    if (caller.proc == proc) clients.insert(client);
  }
  return clients;
}

void ClientGate::Answer(core::ClientId client, core::RequestId request,
                        int status, std::string payload) {
  p_.loop->Post([this, reply = core::ReplyClient{client, request, status,
                                                 Bytes(std::move(payload))}] {
    p_.reply(reply);
  });
}

// ---------------------------------------------------------- coming, going ---

bool ClientGate::Take(const core::ClientConnected& in) {
  callers_[in.client] = {in.proc, in.is_tool, false, in.uid, in.gid};
  return false;
}

void ClientGate::Ask(const endpoint::Newcomer& who,
                     std::function<void(endpoint::Verdict)> done) {
  if (who.is_tool) return AskAboutTool(who, std::move(done));
  const HostedClient* client = p_.jobs->FindClient(who.proc);
  if (client == nullptr) return done({});
  AskAboutRank(*client, std::move(done));
}

void ClientGate::AskAboutRank(const HostedClient& client,
                              std::function<void(endpoint::Verdict)> done) {
  if (p_.module->client_connected2 != nullptr) {
    const auto a =
        std::make_shared<NewcomerArguments>(NewcomerArguments{client.name, {}});
    return p_.upcalls->Call(
        a,
        [&](void* cbdata) {
          return p_.module->client_connected2(&a->proc, client.object, nullptr,
                                              0, Upcalls::OnOp, cbdata);
        },
        [done = std::move(done)](const HostAnswer& answer) {
          done({MayGoOn(answer.status) ? kSuccess : answer.status, {}});
        });
  }
  pmix_status_t status = PMIX_SUCCESS;
  if (p_.module->client_connected != nullptr) {
    status = p_.module->client_connected(&client.name, client.object,
                                         Upcalls::OnOp, Upcalls::kForgotten);
  }
  done({MayGoOn(status) ? kSuccess : status, {}});
}

// Requests the host's decision about a tool. A host with only the older
// function (tool_connected) can refuse the tool only in its callback, because
// that function returns no status.
void ClientGate::AskAboutTool(const endpoint::Newcomer& tool,
                              std::function<void(endpoint::Verdict)> done) {
  if (p_.module->tool_connected2 == nullptr &&
      p_.module->tool_connected == nullptr) {
    return done({kErrNotSupported, {}});
  }
  if (tools_asked_about_ >= endpoint::kMaxTools) {
    return done({kErrResourceBusy, {}});
  }
  ++tools_asked_about_;
  const auto a = std::make_shared<NewcomerArguments>();
  AddUser({tool.proc, tool.uid, tool.gid, true}, &a->infos);
  a->infos.Set(PMIX_CREDENTIAL, Value::ByteObject(CredentialOf(tool)));
  a->infos.Set(PMIX_REQUESTOR_IS_TOOL, Value::Bool(true));
  if (!tool.proc.nspace.empty()) {
    a->infos.Set(PMIX_TOOL_NSPACE, Value::String(tool.proc.nspace));
    a->infos.Set(PMIX_TOOL_RANK, Value::Rank(tool.proc.rank));
  }
  p_.upcalls->Call(
      a,
      [&](void* cbdata) {
        if (p_.module->tool_connected2 != nullptr) {
          return p_.module->tool_connected2(a->infos.mutable_data(),
                                            a->infos.size(), Upcalls::OnTool,
                                            cbdata);
        }
        p_.module->tool_connected(a->infos.mutable_data(), a->infos.size(),
                                  Upcalls::OnTool, cbdata);
        return static_cast<pmix_status_t>(PMIX_SUCCESS);
      },
      [this, done = std::move(done)](const HostAnswer& answer) {
        --tools_asked_about_;
        done({answer.status, answer.proc});
      });
}

bool ClientGate::Take(const core::ClientGone& in) {
  p_.arrivals->RemoveAll(in.client);
  p_.output->RemoveAll(in.client);
  events_.RemoveAll(in.client);
  const auto caller = callers_.extract(in.client);
  if (!caller || caller.mapped().is_tool || caller.mapped().finalized) {
    return false;
  }
  if (ClientsOf(caller.mapped().proc).empty()) {
    p_.cleanups->OnEnd(caller.mapped().proc);
    ReportLost(caller.mapped().proc);
  }
  return false;
}

// Raises an event for the host: the process has ended, or will end, without a
// call of PMIx_Finalize.
void ClientGate::ReportLost(const ProcId& proc) {
  const InfoList infos{{PMIX_EVENT_AFFECTED_PROC, Value::Proc(proc)}};
  p_.raise(
      {PMIX_ERR_LOST_CONNECTION, proc, PMIX_RANGE_PROC_LOCAL, Encode(infos)});
}

// Notifies the host that a process calls PMIx_Finalize. The process waits until
// the host has agreed.
bool ClientGate::Take(const core::FinalizeArrived& in) {
  const auto caller = callers_.find(in.client);
  if (caller == callers_.end()) return false;
  caller->second.finalized = true;
  const HostedClient* client = p_.jobs->FindClient(caller->second.proc);
  if (client == nullptr || p_.module->client_finalized == nullptr) return false;
  p_.upcalls->Call(
      nullptr,
      [&](void* cbdata) {
        return p_.module->client_finalized(&client->name, client->object,
                                           Upcalls::OnOp, cbdata);
      },
      [this, in](const HostAnswer&) { p_.core->OnInput(in); });
  return true;
}

bool ClientGate::Take(const core::Committed& in) {
  const Caller* caller = Find(in.client);
  if (caller != nullptr) p_.outside->Add(caller->proc, in.data);
  return false;
}

bool ClientGate::Take(const core::CommitTaken& in) {
  p_.outside->Add(in.proc, in.data);
  return false;
}

bool ClientGate::Take(const core::CollectiveArrived& in) {
  const Caller* caller = Find(in.client);
  if (caller != nullptr) p_.arrivals->Add(caller->proc, in);
  return false;
}

bool ClientGate::Take(const core::LocalFenceArrived& in) {
  for (const core::ClientId client : in.clients) {
    const Caller* caller = Find(client);
    if (caller == nullptr) continue;
    p_.arrivals->AddAtBarrier(caller->proc, client, in.collect_data);
  }
  return false;
}

// ------------------------------------------------------ what the host does ---

bool ClientGate::Take(const core::AbortArrived& in) {
  const Caller* caller = Find(in.client);
  const HostedClient* client =
      caller == nullptr ? nullptr : p_.jobs->FindClient(caller->proc);
  if (client == nullptr || p_.module->abort == nullptr) {
    Answer(in.client, in.request, kErrNotSupported);
    return true;
  }
  auto arguments = std::make_shared<AbortArguments>();
  arguments->text = in.text;
  for (const ProcId& proc : in.targets) arguments->targets.push_back(ToC(proc));
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return p_.module->abort(
            &client->name, client->object, in.status, arguments->text.c_str(),
            arguments->targets.empty() ? nullptr : arguments->targets.data(),
            arguments->targets.size(), Upcalls::OnOp, cbdata);
      },
      [this, client = in.client,
       request = in.request](const HostAnswer& answer) {
        Answer(client, request, answer.status);
      });
  return true;
}

std::optional<HostCaller> ClientGate::CallerOf(core::ClientId client) const {
  const Caller* caller = Find(client);
  if (caller == nullptr) return std::nullopt;
  if (caller->is_tool) {
    return HostCaller{caller->proc, caller->uid, caller->gid, true};
  }
  if (const HostedClient* known = p_.jobs->FindClient(caller->proc)) {
    return HostCaller{caller->proc, known->uid, known->gid};
  }
  // The host may have registered only the job, or it may have deregistered the
  // process. In the latter case the process's last requests must not count as
  // requests of this server's own process.
  const HostedJob* job = p_.jobs->Find(caller->proc.nspace);
  if (job == nullptr || job->spec == nullptr) return std::nullopt;
  return HostCaller{caller->proc, job->spec->uid, job->spec->gid};
}

template <typename T>
bool ClientGate::AskHost(const T& in,
                         void (HostRequests::*ask)(const HostCaller&,
                                                   const T&)) {
  const std::optional<HostCaller> caller = CallerOf(in.client);
  if (!caller) return false;
  (requests_.*ask)(*caller, in);
  return true;
}

bool ClientGate::Take(const core::PublishArrived& in) {
  return AskHost(in, &HostRequests::Publish);
}

bool ClientGate::Take(const core::LookupArrived& in) {
  return AskHost(in, &HostRequests::Lookup);
}

bool ClientGate::Take(const core::UnpublishArrived& in) {
  return AskHost(in, &HostRequests::Unpublish);
}

bool ClientGate::Take(const core::SpawnArrived& in) {
  return AskHost(in, &HostRequests::Spawn);
}

// Forwards a query to the host. If the host has no such function, the core
// answers with its data of this node.
bool ClientGate::Take(const core::QueryArrived& in) {
  return p_.module->query != nullptr && AskHost(in, &HostRequests::Query);
}

bool ClientGate::Take(const core::HostCallArrived& in) {
  const std::optional<HostCaller> caller = CallerOf(in.client);
  if (!caller) return false;
  const std::optional<int> status = p_.cleanups->Take(*caller, in);
  if (status) {
    Answer(in.client, in.request, *status);
    return true;
  }
  // The host handles these calls itself; the core would look for the agent that
  // controls the job.
  switch (in.op) {
    case HostOp::kJobControl:
      return AskHost(in, &HostRequests::ControlJob);
    case HostOp::kPushInput:
      return AskHost(in, &HostRequests::PushInput);
    case HostOp::kReadOutput:
      p_.output->Read(*caller, in);
      return true;
    default:
      return false;
  }
}

bool ClientGate::Take(const core::EventsWanted& in) {
  const std::optional<HostCaller> caller = CallerOf(in.client);
  if (!caller) return false;
  return events_.Add(in, {caller->uid, caller->gid}, [this, in](int status) {
    if (status != kSuccess) return Answer(in.client, in.request, status);
    p_.core->OnInput(in);
  });
}

bool ClientGate::Take(const core::EventsUnwanted& in) {
  events_.Remove(in);
  return false;
}

// Forwards an event to the host. The event is always passed to the core too,
// which delivers it to local processes.
bool ClientGate::Take(const core::EventRaised& in) {
  const Caller* caller = Find(in.client);
  if (caller == nullptr) return false;
  if (IsForServer(in)) p_.raise({in.status, caller->proc, in.range, in.info});
  if (!IsForHost(in) || p_.module->notify_event == nullptr) return false;
  auto arguments = std::make_shared<EventArguments>();
  arguments->source = ToC(caller->proc);
  if (!DecodeInfos(in.info.view(), &arguments->infos)) return false;
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return p_.module->notify_event(in.status, &arguments->source, in.range,
                                       arguments->infos.mutable_data(),
                                       arguments->infos.size(), Upcalls::OnOp,
                                       cbdata);
      },
      [](const HostAnswer&) {});
  return false;
}

}  // namespace canopy::library
