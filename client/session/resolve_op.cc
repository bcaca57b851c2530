#include "client/session/resolve_op.h"

#include <algorithm>
#include <utility>

#include "client/session/agent_get.h"
#include "client/session/query_parts.h"
#include "common/codec/decoder.h"
#include "common/codec/infos.h"
#include "common/string_util.h"
#include "common/values/info_list.h"

namespace canopy::client {
namespace {

using Job = std::pair<std::string, const JobView*>;

// Finds the job of that name, and requests an unknown job from the agent. Sets
// null if the agent does not know the job either.
int FindJob(Session& session, const std::string& nspace, const JobView** job) {
  *job = session.namespaces().Find(nspace);
  if (*job != nullptr || session.channel() == nullptr) return PMIX_SUCCESS;
  const Reply reply = session.channel()->Call(
      local::FrameType::kGet,
      EncodeGet({nspace, kRankWildcard}, PMIX_JOB_SIZE, GetOptions()));
  if (reply.status == PMIX_ERR_LOST_CONNECTION) return reply.status;
  *job = session.namespaces().Find(nspace);
  return PMIX_SUCCESS;
}

// Returns the names of the jobs that the agent knows; empty on failure.
std::vector<std::string> JobsOfTheAgent(Session& session) {
  std::string frame;
  InfoList answers;
  if (session.channel() == nullptr ||
      EncodeQuery({PMIX_QUERY_NAMESPACES}, {}, &frame) != PMIX_SUCCESS) {
    return {};
  }
  const Reply reply = session.channel()->Call(local::FrameType::kQuery, frame);
  if (reply.status != PMIX_SUCCESS || !DecodeInfos(reply.payload, &answers)) {
    return {};
  }
  const auto names = answers.FindString(PMIX_QUERY_NAMESPACES);
  return names ? Split(*names, ',') : std::vector<std::string>();
}

// Lists all running jobs, the process's own job first. If the agent does not
// answer, lists the jobs that this process can read already.
int AllJobs(Session& session, std::vector<Job>* jobs) {
  const std::string own = session.self().nspace;
  const std::vector<std::string> names = JobsOfTheAgent(session);
  if (names.empty()) {
    *jobs = session.namespaces().All();
    return PMIX_SUCCESS;
  }
  jobs->emplace_back(own, &session.namespaces().own());
  for (const std::string& name : names) {
    const JobView* job = nullptr;
    const int rc = FindJob(session, name, &job);
    if (rc != PMIX_SUCCESS) return rc;
    // A job that has ended meanwhile has no processes.
    if (job != nullptr && name != own) jobs->emplace_back(name, job);
  }
  return PMIX_SUCCESS;
}

// Finds the jobs that `nspace` means.
int JobsOf(Session& session, const std::string& nspace,
           std::vector<Job>* jobs) {
  if (nspace.empty()) return AllJobs(session, jobs);
  const JobView* job = nullptr;
  const int rc = FindJob(session, nspace, &job);
  if (rc != PMIX_SUCCESS) return rc;
  if (job == nullptr) return PMIX_ERR_NOT_FOUND;
  jobs->emplace_back(nspace, job);
  return PMIX_SUCCESS;
}

std::string NodeName(const JobView& job, uint32_t node) {
  const auto encoded = job.FindNode(node, PMIX_HOSTNAME);
  if (!encoded) return {};
  const Result<Value> value = DecodeValue(*encoded);
  if (!value.ok()) return {};
  return std::string(value->AsString().value_or(""));
}

}  // namespace

int ResolvePeers(Session& session, const std::string& node,
                 const std::string& nspace, std::vector<ProcId>* procs) {
  std::vector<Job> jobs;
  const int rc = JobsOf(session, nspace, &jobs);
  if (rc != PMIX_SUCCESS) return rc;
  for (const auto& [name, job] : jobs) {
    const uint32_t index = node.empty()
                               ? job->self_node()
                               : job->NodeByName(node).value_or(kNoNode);
    if (index == kNoNode) continue;
    for (const Rank rank : job->RanksOn(index)) procs->push_back({name, rank});
  }
  return PMIX_SUCCESS;
}

int ResolveNodes(Session& session, const std::string& nspace,
                 std::string* nodes) {
  std::vector<Job> jobs;
  const int rc = JobsOf(session, nspace, &jobs);
  if (rc != PMIX_SUCCESS) return rc;
  std::vector<std::string> names;
  for (const auto& [name, job] : jobs) {
    for (uint32_t node = 0; node < job->num_nodes(); ++node) {
      std::string host = NodeName(*job, node);
      if (host.empty() || job->RanksOn(node).empty()) continue;
      if (std::find(names.begin(), names.end(), host) != names.end()) continue;
      names.push_back(std::move(host));
    }
  }
  for (const std::string& host : names) {
    if (!nodes->empty()) nodes->push_back(',');
    nodes->append(host);
  }
  return names.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

}  // namespace canopy::client
