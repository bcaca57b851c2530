#include "server/openpmix/request_server.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/job.h"
#include "common/refusal.h"
#include "common/status.h"
#include "pmix_common.h"
#include "server/core/step/host.h"
#include "server/openpmix/credential_reply.h"
#include "server/openpmix/group_reply.h"
#include "server/openpmix/handshake.h"
#include "server/openpmix/job_info.h"
#include "server/openpmix/kvals.h"
#include "server/openpmix/node_names.h"

namespace canopy::openpmix {
namespace {

bool IsReserved(std::string_view key) { return key.starts_with("pmix"); }

// Returns the committed data of a rank that is visible here.
std::string CommittedBy(const shm::SegmentReader& job, Rank rank) {
  std::string kvals;
  const auto read = [&] {
    Encoder out;
    const bool stable = job.ForEachCommittedKey(
        rank, [&](std::string_view key, std::string_view value) {
          out.PutKvalEncoded(key, value);
        });
    kvals = out.Take();
    return stable;
  };
  while (!read()) continue;
  return kvals;
}

std::string OneKval(std::string_view key, std::string_view value) {
  Encoder out;
  out.PutKvalEncoded(key, value);
  return out.Take();
}

// Returns true for the requests that a process without a job may make.
bool IsForTools(const core::Input& input) {
  const auto* call = std::get_if<core::HostCallArrived>(&input);
  if (call != nullptr) {
    return call->op == HostOp::kPushInput || call->op == HostOp::kMonitor ||
           call->op == HostOp::kFabric;
  }
  return std::holds_alternative<core::GetArrived>(input) ||
         std::holds_alternative<core::QueryArrived>(input) ||
         std::holds_alternative<core::EventsWanted>(input) ||
         std::holds_alternative<core::EventsUnwanted>(input) ||
         std::holds_alternative<core::EventRaised>(input) ||
         std::holds_alternative<core::PublishArrived>(input) ||
         std::holds_alternative<core::SpawnArrived>(input) ||
         std::holds_alternative<core::LookupArrived>(input) ||
         std::holds_alternative<core::UnpublishArrived>(input) ||
         std::holds_alternative<core::FinalizeArrived>(input);
}

// Returns the KVAL of one key, or an empty string if it is absent.
std::string Extract(std::string_view kvals, std::string_view key) {
  Decoder decoder(kvals);
  KvalView kval;
  while (!decoder.AtEnd() && decoder.GetKval(&kval)) {
    if (kval.key == key) return OneKval(key, kval.value);
  }
  return "";
}

// Appends the data of one process to the answer to a get.
void PackObject(const PeerTraits& peer, const ProcId& proc,
                std::string_view kvals, Encoder* out) {
  Encoder object(peer.form);
  object.PackProc(proc);
  PackKvals(peer, kvals, &object);
  out->PackByteObject(object.Take());
}

std::vector<std::string> OtherNspaces(const std::vector<ProcId>& participants,
                                      const std::string& own) {
  std::vector<std::string> others;
  for (const ProcId& proc : participants) {
    if (!proc.nspace.empty() && proc.nspace != own) {
      others.push_back(proc.nspace);
    }
  }
  std::ranges::sort(others);
  others.erase(std::unique(others.begin(), others.end()), others.end());
  return others;
}

}  // namespace

void RequestServer::Handle(Connection& c, uint32_t tag,
                           std::string_view payload) {
  if (c.pending.contains(tag))
    return parts_.connections->End(c, "uses a tag that is in use");
  std::vector<IgnoredDirective> ignored;
  Result<Request> request =
      ParseRequest({c.id, c.proc, c.traits}, tag, payload, &ignored);
  if (!request.ok())
    return parts_.connections->End(c, request.status().message());
  for (const IgnoredDirective& one : ignored) {
    ignored_log_.Note(c.proc, one.function, one.key);
  }
  std::visit([&](auto& r) { Serve(c, tag, r); }, *request);
}

// -------------------------------------------------------------- requests ---

void RequestServer::Serve(Connection& c, uint32_t tag, CoreRequest& request) {
  if (c.is_tool && !IsForTools(request.input)) {
    return SendStatus(c, tag, kErrNotSupported);
  }
  PendingRequest pending;
  pending.answer = request.answer;
  if (auto* get = std::get_if<core::GetArrived>(&request.input)) {
    if (get->target.nspace.empty()) get->target.nspace = c.proc.nspace;
    if (!get->refresh && ServeFromJobData(c, tag, *get)) return;
    pending.target = get->target;
    pending.key = get->key;
  } else if (auto* commit = std::get_if<core::Committed>(&request.input)) {
    c.scopes.Translate(&commit->data);
  } else if (auto* arrived =
                 std::get_if<core::CollectiveArrived>(&request.input)) {
    if (arrived->op == core::CollectiveOp::kGroupDestruct) {
      NameParticipants(c, arrived);
    }
    pending.nspaces = OtherNspaces(arrived->participants, c.proc.nspace);
    c.readahead.OnFence();
  }
  if (request.answer != AnswerForm::kNone) {
    if (c.pending.size() >= parts_.options->max_pending_requests) {
      return SendStatus(c, tag, kErrOutOfResource);
    }
    parts_.persistence->AddRequest(c, tag, request.input, &pending);
    c.pending.emplace(tag, std::move(pending));
  } else {
    parts_.persistence->AddRequest(c, tag, request.input, nullptr);
  }
  parts_.sink->OnInput(std::move(request.input));
}

// Sets the participants of a group's destruct to those of the last construct of
// that group in which the process took part. The core does not need them, but a
// successor counts destructs by their participants.
void RequestServer::NameParticipants(const Connection& c,
                                     core::CollectiveArrived* arrived) {
  const Jobs::Job* job = parts_.jobs->Find(c.proc.nspace);
  if (job == nullptr) return;
  uint32_t last = 0;
  for (const auto& [series, number] : job->series) {
    if (series.op != core::CollectiveOp::kGroupConstruct ||
        series.name != arrived->name || number < last) {
      continue;
    }
    const bool takes_part =
        std::ranges::any_of(series.participants, [&](const ProcId& proc) {
          return (proc.nspace.empty() || proc.nspace == c.proc.nspace) &&
                 (proc.rank == kRankWildcard || proc.rank == c.proc.rank);
        });
    if (!takes_part) continue;
    last = number;
    arrived->participants = series.participants;
  }
}

// Allows the jobs of the client's own user, and all jobs for a tool of the
// agent's user. The core decides about the jobs of other users.
bool RequestServer::MaySee(const Connection& c,
                           const std::string& nspace) const {
  if (nspace == c.proc.nspace || (c.is_tool && c.owner.uid == geteuid())) {
    return true;
  }
  const Jobs::Job* job = parts_.jobs->Find(nspace);
  return job != nullptr && job->spec->uid == c.owner.uid;
}

bool RequestServer::ServeFromJobData(Connection& c, uint32_t tag,
                                     const core::GetArrived& get) {
  const shm::SegmentReader* job = parts_.options->job_data(get.target.nspace);
  if (job == nullptr || !IsReserved(get.key)) return false;
  if (!MaySee(c, get.target.nspace)) return false;
  std::string kvals;
  if (get.target.rank == kRankWildcard) {
    auto value = job->FindJob(get.key);
    if (!value) value = job->FindSession(get.key);
    if (!value) return false;
    kvals = OneKval(get.key, *value);
  } else {
    if (!job->FindProc(get.target.rank, get.key).found()) return false;
    kvals = ProcData(*job, get.target, get.key);
  }
  Encoder out(c.traits.form);
  out.PackStatus(kSuccess);
  PackObject(c.traits, get.target, kvals, &out);
  SendPayload(c, tag, out.Take());
  return true;
}

// Returns all data of a local rank. The rank's directory is created only when
// its name is requested, which is rare.
std::string RequestServer::ProcData(const shm::SegmentReader& job,
                                    const ProcId& proc,
                                    std::string_view asked) {
  const bool names_directory = asked == PMIX_PROCDIR;
  if (names_directory) MakeDirectory(proc);
  Encoder out;
  job.ForEachProcKey(proc.rank,
                     [&](std::string_view key, std::string_view value) {
                       if (key == PMIX_PROCDIR && !names_directory) return;
                       out.PutKvalEncoded(key, value);
                     });
  return out.Take();
}

void RequestServer::MakeDirectory(const ProcId& proc) {
  if (parts_.options->make_directory) parts_.options->make_directory(proc);
}

void RequestServer::Serve(Connection& c, uint32_t tag, JobInfoRequest&) {
  Encoder head(c.traits.form);
  head.PackString(c.proc.nspace);
  const Bytes info =
      c.is_tool
          ? Bytes(PackToolInfo(c.proc.nspace, parts_.options->host, c.traits))
          : JobInfo(c.proc.nspace, c.traits);
  std::string own;
  const shm::SegmentReader* data = parts_.options->job_data(c.proc.nspace);
  if (!c.is_tool && data != nullptr) {
    if (!c.traits.asks_for_places) MakeDirectory(c.proc);
    own = PackOwnInfo(*data, c.traits, c.proc.rank) +
          PackStop(*data, c.traits, c.proc.rank);
  }
  // A request for job info cannot be rejected, because a client treats every
  // answer as job info.
  const size_t size = head.size() + info.size() + own.size();
  if (size > c.traits.max_reply_bytes) {
    return parts_.connections->End(
        c, "cannot take job info of " + std::to_string(size) + " bytes");
  }
  parts_.writer->SendPayload(c, tag, head.Take(), info, std::move(own));
}

void RequestServer::Serve(Connection& c, uint32_t tag, LogRequest& request) {
  if (!parts_.options->host_logs) {
    return parts_.text_logger->Serve(c, tag, request);
  }
  std::string data;
  std::string directives;
  int status = EncodeInfos(request.data.data(), request.data.size(), &data);
  if (status == kSuccess) {
    status = EncodeInfos(request.directives.data(), request.directives.size(),
                         &directives);
  }
  if (status != kSuccess) return SendStatus(c, tag, status);
  core::HostCallArrived input;
  input.client = c.id;
  input.request = tag;
  input.op = HostOp::kLog;
  input.call = Bytes(wire::Encode(host_call::Log{data, directives}));
  CoreRequest to_host{std::move(input), AnswerForm::kStatus};
  Serve(c, tag, to_host);
}

void RequestServer::Serve(Connection& c, uint32_t tag,
                          ResolvePeersRequest& request) {
  std::vector<ProcId> peers;
  for (const auto& [nspace, job] : parts_.jobs->jobs()) {
    if (!request.nspace.empty() && nspace != request.nspace) continue;
    if (!MaySee(c, nspace)) continue;
    const auto& nodes = job.spec->nodes;
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      const bool here = request.node.empty()
                            ? nodes[n].agent == parts_.jobs->self()
                            : IsNamed(nodes[n], request.node);
      if (!here) continue;
      for (const Rank rank : job.layout->ranks_on(n)) {
        peers.push_back({nspace, rank});
      }
    }
  }
  if (peers.empty()) return SendStatus(c, tag, kErrNotFound);
  Encoder out(c.traits.form);
  out.PackStatus(kSuccess);
  out.PackSize(peers.size());
  out.PackProcs(peers);
  SendPayload(c, tag, out.Take());
}

void RequestServer::Serve(Connection& c, uint32_t tag,
                          ResolveNodesRequest& request) {
  std::vector<const JobSpec*> jobs;
  for (const auto& [nspace, job] : parts_.jobs->jobs()) {
    if (!request.nspace.empty() && nspace != request.nspace) continue;
    if (MaySee(c, nspace)) jobs.push_back(job.spec.get());
  }
  const std::string list = NodeNames(jobs);
  if (list.empty()) return SendStatus(c, tag, kErrNotFound);
  Encoder out(c.traits.form);
  out.PackStatus(kSuccess);
  out.PackString(list);
  SendPayload(c, tag, out.Take());
}

void RequestServer::Serve(Connection& c, uint32_t tag,
                          RefusedRequest& request) {
  SendStatus(c, tag, request.status);
}

// --------------------------------------------------------------- answers ---

Bytes RequestServer::JobInfo(const std::string& nspace,
                             const PeerTraits& peer) {
  Jobs::Job* job = parts_.jobs->Find(nspace);
  const shm::SegmentReader* data =
      job == nullptr ? nullptr : parts_.options->job_data(nspace);
  if (data == nullptr) return Bytes();
  const InfoForm form = {peer.form.integers, peer.form.described,
                         peer.form.max_type, peer.asks_for_places,
                         peer.reads_statistics};
  Bytes& info = job->infos[form];
  if (info.empty()) info = Bytes(PackJobInfo(*data, peer));
  return info;
}

void RequestServer::Reply(Connection& c, const core::ReplyClient& reply) {
  if (parts_.pullers->OnReply(c, reply)) return;
  const auto request = c.pending.extract(static_cast<uint32_t>(reply.request));
  if (request.empty()) return;
  c.ends_collective = IsRefusal(reply.status) ? 0 : request.mapped().one_series;
  Answer(c, request.key(), request.mapped(), reply);
}

void RequestServer::Answer(Connection& c, uint32_t tag,
                           const PendingRequest& request,
                           const core::ReplyClient& reply) {
  const bool partly = (request.answer == AnswerForm::kFound ||
                       request.answer == AnswerForm::kGroup ||
                       request.answer == AnswerForm::kQuery) &&
                      reply.status == kErrPartialSuccess;
  if (reply.status != kSuccess && !partly) {
    return SendStatus(c, tag, reply.status);
  }
  Encoder out(c.traits.form);
  out.PackStatus(reply.status);
  switch (request.answer) {
    case AnswerForm::kNone:
      return;
    case AnswerForm::kStatus:
      break;
    case AnswerForm::kGet:
      return AnswerGet(c, tag, request, reply.payload.view());
    case AnswerForm::kRefresh:
      PackKvals(c.traits, reply.payload.view(), &out);
      break;
    case AnswerForm::kInfos:
    case AnswerForm::kQuery:
      if (!PackInfos(c.traits, reply.payload.view(), &out)) {
        return SendStatus(c, tag, kErrPackFailure);
      }
      break;
    case AnswerForm::kFound:
      if (!PackFound(c.traits, reply.payload.view(), &out)) {
        return SendStatus(c, tag, kErrPackFailure);
      }
      break;
    case AnswerForm::kGroup:
      if (!PackGroup(c.traits, reply.payload.view(), &out)) {
        return SendStatus(c, tag, kErrPackFailure);
      }
      break;
    case AnswerForm::kCredential:
      if (!PackCredential(c.traits, reply.payload.view(), &out)) {
        return SendStatus(c, tag, kErrPackFailure);
      }
      break;
    case AnswerForm::kConnect:
      return AnswerConnect(c, tag, request);
    case AnswerForm::kSpawn:
      return AnswerSpawn(c, tag, std::string(reply.payload.view()));
  }
  SendPayload(c, tag, out.Take());
}

// Answers a get. The answer about another namespace begins with its whole job
// info, which the client must receive first.
void RequestServer::AnswerGet(Connection& c, uint32_t tag,
                              const PendingRequest& request,
                              std::string_view kvals) {
  const ProcId& target = request.target;
  Encoder out(c.traits.form);
  out.PackStatus(kSuccess);
  if (target.nspace != c.proc.nspace || target.rank == kRankWildcard) {
    Encoder object(c.traits.form);
    object.PackProc({target.nspace, kRankWildcard});
    object.PutRaw(JobInfo(target.nspace, c.traits).view());
    out.PackByteObject(object.Take());
  }
  if (target.rank == kRankUndef) {
    PackObject(c.traits, target, Extract(kvals, request.key), &out);
  } else if (target.rank != kRankWildcard) {
    PackObject(c.traits, target, kvals, &out);
    PackFollowing(c, target, &out);
  }
  SendPayload(c, tag, out.Take());
}

void RequestServer::PackFollowing(Connection& c, const ProcId& asked,
                                  Encoder* out) {
  constexpr size_t kMaxBytes = 64 << 10;
  if (c.is_tool || asked.nspace != c.proc.nspace) return;
  uint32_t wanted = c.readahead.OnGet(c.proc.rank, asked.rank);
  const shm::SegmentReader* job = parts_.options->job_data(asked.nspace);
  if (wanted == 0 || job == nullptr) return;
  for (Rank rank = asked.rank + 1; rank < job->num_ranks() && wanted > 0;
       ++rank) {
    if (rank == c.proc.rank) continue;
    const std::string kvals = CommittedBy(*job, rank);
    if (kvals.empty() || out->size() + kvals.size() > kMaxBytes) {
      return c.readahead.StopBefore(rank);
    }
    PackObject(c.traits, {asked.nspace, rank}, kvals, out);
    --wanted;
  }
}

void RequestServer::AnswerConnect(Connection& c, uint32_t tag,
                                  const PendingRequest& request) {
  Encoder out(c.traits.form);
  out.PackStatus(kSuccess);
  for (const std::string& nspace : request.nspaces) {
    Encoder object(c.traits.form);
    object.PackString(nspace);
    object.PutRaw(JobInfo(nspace, c.traits).view());
    out.PackByteObject(object.Take());
  }
  SendPayload(c, tag, out.Take());
}

// Answers a spawn with the job info, so that the spawner's own library can
// answer questions about the new job.
void RequestServer::AnswerSpawn(Connection& c, uint32_t tag,
                                const std::string& nspace) {
  Encoder out(c.traits.form);
  out.PackStatus(kSuccess);
  out.PackString(nspace);
  out.PutRaw(JobInfo(nspace, c.traits).view());
  SendPayload(c, tag, out.Take());
}

void RequestServer::Notify(Connection& c, const core::ClientEvent& event) {
  if (!c.notified.Note(event.id)) return;
  if (parts_.writer->SendEvent(c, event.status, event.source,
                               event.info.view())) {
    parts_.persistence->AddNotified(c, event.id);
  }
}

}  // namespace canopy::openpmix
