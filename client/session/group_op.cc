#include "client/session/group_op.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/session/group_arguments.h"
#include "client/session/known_groups.h"
#include "client/session/target.h"
#include "common/codec/infos.h"
#include "common/describe.h"
#include "common/ids.h"
#include "common/local/collectives.h"
#include "common/local_protocol.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

using local::FrameType;

bool Succeeded(int status) {
  return status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
}

// A request that waits for its answer, with the data that the answer needs.
struct Sent {
  FrameType type = FrameType::kCollective;
  std::string frame;
  std::string name;
  std::vector<pmix_proc_t> participants;
};

// Reads the timeout; the agent handles all other directives. Returns a PMIx
// status.
int TimeoutIn(const InfoArray& directives, uint32_t* timeout_ms) {
  for (size_t i = 0; i < directives.size; ++i) {
    if (KeyOf(directives.infos[i]) != PMIX_TIMEOUT) continue;
    const int rc = TimeoutOf(directives.infos[i], timeout_ms);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

// The parts that all frames have: the name of the group, the time limit, and
// the encoded directives.
struct Parts {
  std::string_view name;
  uint32_t timeout_ms = 0;
  std::string infos;
};

int CheckParts(const Session& session, const GroupRequest& request,
               Parts* parts) {
  int rc = CheckGroupName(session, request.name, request.directives);
  if (rc != PMIX_SUCCESS) return rc;
  parts->name = request.name;
  rc = TimeoutIn(request.directives, &parts->timeout_ms);
  if (rc != PMIX_SUCCESS || request.directives.size == 0) return rc;
  return EncodeInfos(request.directives.infos, request.directives.size,
                     &parts->infos);
}

std::string GroupFrame(local::CollectiveOp operation, const Parts& parts,
                       std::span<const pmix_proc_t> procs) {
  local::Collective frame;
  frame.series = {operation, parts.name, ViewsOf(procs)};
  frame.timeout_ms = parts.timeout_ms;
  frame.info = parts.infos;
  return wire::Encode(frame);
}

int EncodeConstruct(Session& session, const GroupRequest& request, Sent* sent) {
  Parts parts;
  int rc = CheckParts(session, request, &parts);
  if (rc != PMIX_SUCCESS) return rc;
  if (request.procs == nullptr || request.nprocs == 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  rc = CheckParticipants(session, request.procs, request.nprocs);
  if (rc != PMIX_SUCCESS) return rc;
  sent->name = parts.name;
  const std::span procs(request.procs, request.nprocs);
  // Participants that name another group are not kept, because the members of
  // that group may change before the destruct.
  if (!NamesGroup(session, procs)) {
    sent->participants.assign(procs.begin(), procs.end());
  }
  sent->frame = GroupFrame(local::CollectiveOp::kGroupConstruct, parts, procs);
  return session.job_channel() == nullptr ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

// Encodes a destruct. If this process does not know the group, the agent looks
// for it.
int EncodeDestruct(Session& session, const GroupRequest& request, Sent* sent) {
  Parts parts;
  const int rc = CheckParts(session, request, &parts);
  if (rc != PMIX_SUCCESS) return rc;
  sent->name = parts.name;
  sent->frame = GroupFrame(local::CollectiveOp::kGroupDestruct, parts,
                           session.groups().ParticipantsOf(parts.name));
  return session.job_channel() == nullptr ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

// Checks the directives of a leave. Only a time limit has an effect on it.
int CheckLeave(const InfoArray& directives) {
  for (const pmix_info_t& info : std::span(directives.infos, directives.size)) {
    const std::string_view key = KeyOf(info);
    if (key == PMIX_TIMEOUT || key == PMIX_GROUP_ID) continue;
    const int rc = support::NotHonoured("PMIx_Group_leave", info);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

int EncodeLeave(Session& session, const GroupRequest& request, Sent* sent) {
  Parts parts;
  int rc = CheckParts(session, request, &parts);
  if (rc == PMIX_SUCCESS) rc = CheckLeave(request.directives);
  if (rc != PMIX_SUCCESS) return rc;
  local::GroupCall frame;
  frame.step = local::GroupStep::kLeave;
  frame.group = parts.name;
  frame.timeout_ms = parts.timeout_ms;
  frame.info = parts.infos;
  sent->type = FrameType::kGroupCall;
  sent->name = parts.name;
  sent->frame = wire::Encode(frame);
  return session.job_channel() == nullptr ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

// Reads the results of a construct. After a success the process is in the
// group.
InfoList TakeResults(Session& session, Sent& sent, const Reply& reply) {
  InfoList infos;
  if (!Succeeded(reply.status)) return infos;
  if (!DecodeInfos(reply.payload, &infos)) infos.Clear();
  KnownGroup group{std::move(sent.participants), {}};
  const pmix_info_t* const members = infos.Find(PMIX_GROUP_MEMBERSHIP);
  const auto procs = members ? ProcsOf(members->value) : std::nullopt;
  if (procs) group.members.assign(procs->begin(), procs->end());
  session.groups().Add(sent.name, std::move(group));
  return infos;
}

// Removes the group, except after errors that leave the process a member or
// that permit another attempt.
void NoteEnd(Session& session, const std::string& name, int status) {
  if (status != PMIX_ERR_NOT_SUPPORTED && status != PMIX_ERR_BAD_PARAM &&
      status != PMIX_ERR_LOST_CONNECTION) {
    session.groups().Remove(name);
  }
}

int EndAsync(Session& session, Sent sent, pmix_op_cbfunc_t cbfunc,
             void* cbdata) {
  const std::string frame = std::move(sent.frame);
  return session.job_channel()->CallAsync(
      sent.type, frame,
      [&session, name = std::move(sent.name), cbfunc,
       cbdata](const Reply& reply) {
        NoteEnd(session, name, reply.status);
        cbfunc(reply.status, cbdata);
      });
}

int ConstructAsync(Session& session, const GroupRequest& request,
                   GroupDone done) {
  Sent sent;
  const int rc = EncodeConstruct(session, request, &sent);
  if (rc != PMIX_SUCCESS) return rc;
  const std::string frame = std::move(sent.frame);
  return session.job_channel()->CallAsync(
      FrameType::kCollective, frame,
      [&session, sent, done = std::move(done)](const Reply& reply) mutable {
        InfoList infos = TakeResults(session, sent, reply);
        done(reply.status, std::move(infos));
      });
}

}  // namespace

int ConstructGroup(Session& session, const GroupRequest& request,
                   pmix_info_t** results, size_t* nresults) {
  if (results != nullptr) *results = nullptr;
  if (nresults != nullptr) *nresults = 0;
  Sent sent;
  const int rc = EncodeConstruct(session, request, &sent);
  if (rc != PMIX_SUCCESS) return rc;
  const Reply reply = session.job_channel()->Call(sent.type, sent.frame);
  InfoList infos = TakeResults(session, sent, reply);
  if (results != nullptr && nresults != nullptr && infos.size() != 0) {
    *results = infos.Release(nresults);
  }
  return reply.status;
}

int DestructGroup(Session& session, const GroupRequest& request) {
  Sent sent;
  const int rc = EncodeDestruct(session, request, &sent);
  if (rc != PMIX_SUCCESS) return rc;
  const int status = session.job_channel()->Call(sent.type, sent.frame).status;
  NoteEnd(session, sent.name, status);
  return status;
}

int LeaveGroup(Session& session, const GroupRequest& request) {
  Sent sent;
  const int rc = EncodeLeave(session, request, &sent);
  if (rc != PMIX_SUCCESS) return rc;
  const int status = session.job_channel()->Call(sent.type, sent.frame).status;
  NoteEnd(session, sent.name, status);
  return status;
}

int ConstructGroupAsync(Session& session, const GroupRequest& request,
                        pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return ConstructAsync(session, request,
                        [cbfunc, cbdata](int status, InfoList infos) {
                          cbfunc(status, infos.mutable_data(), infos.size(),
                                 cbdata, nullptr, nullptr);
                        });
}

int ConstructGroupThen(Session& session, const std::string& name,
                       const std::vector<ProcId>& members,
                       const InfoList& directives, GroupDone done) {
  std::vector<pmix_proc_t> procs;
  procs.reserve(members.size());
  for (const ProcId& member : members) procs.push_back(ToC(member));
  const GroupRequest request{name.c_str(),
                             procs.data(),
                             procs.size(),
                             {directives.data(), directives.size()}};
  return ConstructAsync(session, request, std::move(done));
}

int DestructGroupAsync(Session& session, const GroupRequest& request,
                       pmix_op_cbfunc_t cbfunc, void* cbdata) {
  Sent sent;
  const int rc = EncodeDestruct(session, request, &sent);
  if (rc != PMIX_SUCCESS) return rc;
  return EndAsync(session, std::move(sent), cbfunc, cbdata);
}

int LeaveGroupAsync(Session& session, const GroupRequest& request,
                    pmix_op_cbfunc_t cbfunc, void* cbdata) {
  Sent sent;
  const int rc = EncodeLeave(session, request, &sent);
  if (rc != PMIX_SUCCESS) return rc;
  return EndAsync(session, std::move(sent), cbfunc, cbdata);
}

}  // namespace canopy::client
