#include "client/session/resolve_op.h"

#include <algorithm>
#include <utility>

#include "client/session/agent_get.h"
#include "common/codec/decoder.h"

namespace canopy::client {
namespace {

using Job = std::pair<std::string, const JobView*>;

// The jobs meant by `nspace`; the agent is asked for one that is not known.
int JobsOf(Session& session, const std::string& nspace,
           std::vector<Job>* jobs) {
  if (nspace.empty()) {
    *jobs = session.namespaces().All();
    return PMIX_SUCCESS;
  }
  const JobView* job = session.namespaces().Find(nspace);
  if (job == nullptr && session.channel() != nullptr) {
    const Reply reply = session.channel()->Call(
        local::FrameType::kGet,
        EncodeGet({nspace, kRankWildcard}, PMIX_JOB_SIZE, GetOptions()));
    if (reply.status == PMIX_ERR_LOST_CONNECTION) return reply.status;
    job = session.namespaces().Find(nspace);
  }
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
