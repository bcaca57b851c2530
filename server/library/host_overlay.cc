#include "server/library/host_overlay.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "common/job.h"
#include "common/process_keys.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "server/core/modex/modex.h"
#include "server/library/blob.h"

namespace canopy::library {
namespace {

// What a call of the host was given: it may read it until it answers.
struct Arguments {
  std::vector<pmix_proc_t> procs;
  InfoList infos;
};

std::vector<pmix_proc_t> ToC(const std::vector<ProcId>& procs) {
  std::vector<pmix_proc_t> out;
  out.reserve(procs.size());
  for (const ProcId& proc : procs) out.push_back(canopy::ToC(proc));
  return out;
}

// The host frees it. Null: there is no memory.
char* CopyForHost(const std::string& bytes) {
  auto* copy = static_cast<char*>(std::malloc(bytes.size()));
  if (copy != nullptr) std::memcpy(copy, bytes.data(), bytes.size());
  return copy;
}

// What this node brings.
std::string BlobOf(const core::CollectiveUp& up) {
  for (const core::NodeContribution& one : up.contributions) {
    if (one.node == kSelf) return MakeBlob(one.data.view());
  }
  return MakeBlob({});
}

InfoList InfosOf(const core::DmodexRequest& request) {
  InfoList infos;
  if (!request.key.empty()) {
    infos.Add(PMIX_REQUIRED_KEY, Value::String(request.key));
  }
  if (request.timeout_ms > 0) {
    infos.Add(PMIX_TIMEOUT,
              Value::Int(static_cast<int>(request.timeout_ms / 1000 + 1)));
  }
  return infos;
}

// The records of one process, that a host brings for a direct modex.
std::optional<core::RankUpdate> UpdateOf(const std::string& blob,
                                         const ProcId& proc) {
  const Result<std::vector<Bytes>> nodes = SplitBlobs(Bytes(blob));
  if (!nodes.ok()) return std::nullopt;
  for (const Bytes& records : *nodes) {
    core::ModexReader reader(records);
    core::RankUpdate update;
    while (reader.Next(&update)) {
      if (update.proc == proc) return update;
    }
  }
  return std::nullopt;
}

}  // namespace

void HostOverlay::Send(const core::PeerMessage& message) {
  std::visit([&](const auto& body) { On(message.dst, body); }, message.body);
}

void HostOverlay::Deliver(NodeId from, core::MessageBody body) {
  p_.sink->OnInput(
      core::PeerArrived{core::PeerMessage{from, kSelf, std::move(body)}});
}

void HostOverlay::Log(std::string text) const {
  if (p_.log) p_.log({core::LogLine::Level::kError, std::move(text)});
}

// ------------------------------------------------------------ collectives ---

void HostOverlay::On(NodeId, const core::CollectiveUp& up) {
  // Who waits here is told; the host learns of the failure from whoever has
  // failed.
  if (up.status != kSuccess) return Release(up.id, up.status);
  switch (up.id.op) {
    case core::CollectiveOp::kFence:
      return Fence(up);
    case core::CollectiveOp::kConnect:
    case core::CollectiveOp::kDisconnect:
      return Connect(up);
    default:
      return Release(up.id, kErrNotSupported);
  }
}

void HostOverlay::Release(const core::CollectiveId& id, int status,
                          std::vector<core::NodeContribution> contributions) {
  core::CollectiveDown down;
  down.id = id;
  down.status = status;
  down.contributions = std::move(contributions);
  Deliver(kHost, std::move(down));
}

void HostOverlay::Fence(const core::CollectiveUp& up) {
  if (p_.module->fence_nb == nullptr) {
    const bool here = p_.jobs->AreHere(up.id.participants);
    return Release(up.id, here ? kSuccess : kErrNotSupported);
  }
  Arrivals::Asked asked = p_.arrivals->For(up.id);
  const std::string blob = asked.collect ? BlobOf(up) : "";
  char* data = asked.collect ? CopyForHost(blob) : nullptr;
  if (asked.collect && data == nullptr) return Release(up.id, kErrNomem);
  auto arguments = std::make_shared<const Arguments>(
      Arguments{ToC(up.id.participants), std::move(asked.infos)});
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return p_.module->fence_nb(
            arguments->procs.data(), arguments->procs.size(),
            arguments->infos.data(), arguments->infos.size(), data, blob.size(),
            Upcalls::OnModex, cbdata);
      },
      [this, id = up.id](HostAnswer answer) {
        std::vector<core::NodeContribution> contributions;
        if (answer.status == kSuccess) {
          answer.status = SortByNode(answer.data, &contributions);
        }
        Release(id, answer.status, std::move(contributions));
      });
}

int HostOverlay::SortByNode(
    const std::string& joined,
    std::vector<core::NodeContribution>* contributions) const {
  const Result<std::vector<Bytes>> nodes = SplitBlobs(Bytes(joined));
  if (!nodes.ok()) {
    Log("a fence's data: " + nodes.status().message());
    return nodes.code();
  }
  for (const Bytes& records : *nodes) {
    core::ModexReader reader(records);
    core::RankUpdate first;
    if (!reader.Next(&first)) continue;  // it has nothing that is new
    const NodeId member = p_.jobs->MemberOf(first.proc);
    if (member != kSelf) contributions->push_back({member, records});
  }
  return kSuccess;
}

void HostOverlay::Connect(const core::CollectiveUp& up) {
  const auto function = up.id.op == core::CollectiveOp::kConnect
                            ? p_.module->connect
                            : p_.module->disconnect;
  if (function == nullptr) return Release(up.id, kErrNotSupported);
  auto arguments = std::make_shared<const Arguments>(
      Arguments{ToC(up.id.participants), p_.arrivals->For(up.id).infos});
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return function(arguments->procs.data(), arguments->procs.size(),
                        arguments->infos.data(), arguments->infos.size(),
                        Upcalls::OnOp, cbdata);
      },
      [this, id = up.id](const HostAnswer& answer) {
        Release(id, answer.status);
      });
}

// ----------------------------------------------------------- direct modex ---

void HostOverlay::On(NodeId dst, const core::DmodexRequest& request) {
  HostAnswer refused;
  // No host is asked for what is no commit.
  refused.status = IsProcessFact(request.key) ? kErrNotFound : kErrNotSupported;
  if (p_.module->direct_modex == nullptr || IsProcessFact(request.key)) {
    return AnswerGet(dst, request, std::move(refused));
  }
  auto arguments = std::make_shared<const Arguments>(
      Arguments{{canopy::ToC(request.target)}, InfosOf(request)});
  p_.upcalls->Call(
      arguments,
      [&](void* cbdata) {
        return p_.module->direct_modex(
            arguments->procs.data(), arguments->infos.data(),
            arguments->infos.size(), Upcalls::OnModex, cbdata);
      },
      [this, dst, request](HostAnswer answer) {
        AnswerGet(dst, request, std::move(answer));
      });
}

void HostOverlay::AnswerGet(NodeId from, const core::DmodexRequest& request,
                            HostAnswer answer) {
  core::DmodexReply reply{
      request.request, answer.status, request.target, {}, 0, 0};
  if (answer.status == kSuccess) {
    const auto update = UpdateOf(answer.data, request.target);
    if (!update) {
      Log("data of " + ToString(request.target) + " is malformed");
      reply.status = kErrUnpackFailure;
    } else {
      reply.data = update->kvals;
      reply.version = update->version;
      reply.base = update->base;
    }
  }
  Deliver(from, std::move(reply));
}

void HostOverlay::GetCommitted(const ProcId& proc, Answer answer) {
  const uint64_t number = next_request_++;
  requests_[number] = {proc, std::move(answer), false};
  Ask(number, proc);
}

void HostOverlay::Ask(uint64_t number, const ProcId& proc) {
  core::DmodexRequest request;
  request.request = number;
  request.target = proc;
  Deliver(kHost, std::move(request));
}

// Nothing committed so far is no answer, as long as something may come.
void HostOverlay::On(NodeId, const core::DmodexReply& reply) {
  const auto it = requests_.find(reply.request);
  if (it == requests_.end()) return;
  if (reply.status == kErrNotFound && MayCommit(reply.target)) {
    it->second.waits = true;
    return p_.await_commit(reply.target);
  }
  const Request request = std::move(it->second);
  requests_.erase(it);
  if (reply.status != kSuccess) return request.answer(reply.status, "");
  core::ModexWriter records;
  records.Add({reply.target, reply.base, reply.version, reply.data});
  request.answer(kSuccess, MakeBlob(records.Take().view()));
}

// Other nodes may know of a job before this one does.
bool HostOverlay::MayCommit(const ProcId& proc) const {
  const HostedJob* job = p_.jobs->Find(proc.nspace);
  return job == nullptr || job->spec == nullptr ||
         p_.jobs->MemberOf(proc) == kSelf;
}

void HostOverlay::OnCommit() {
  for (auto& [number, request] : requests_) {
    if (!std::exchange(request.waits, false)) continue;
    Ask(number, request.proc);
  }
}

void HostOverlay::DropJob(const std::string& nspace) {
  std::vector<Answer> answers;
  std::erase_if(requests_, [&](auto& entry) {
    if (entry.second.proc.nspace != nspace) return false;
    answers.push_back(std::move(entry.second.answer));
    return true;
  });
  for (const Answer& answer : answers) answer(kErrNotFound, "");
}

// ------------------------------------------------------------------- jobs ---

// Of a job without processes here.
void HostOverlay::On(NodeId, const core::JobMapRequest& request) {
  core::JobMapReply reply{request.request, kErrNotFound, request.nspace, {}};
  const HostedJob* job = p_.jobs->Find(request.nspace);
  if (job != nullptr && job->spec != nullptr) {
    reply.status = kSuccess;
    if (!request.exists_only) reply.spec = Bytes(EncodeJobSpec(*job->spec));
  }
  Deliver(kHost, std::move(reply));
}

}  // namespace canopy::library
