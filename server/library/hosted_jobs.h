// The namespaces and clients that the host has registered.
#ifndef CANOPY_SERVER_LIBRARY_HOSTED_JOBS_H_
#define CANOPY_SERVER_LIBRARY_HOSTED_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "pmix_types.h"
#include "server/registration/registration.h"

namespace canopy::library {

// The members of the overlay as the core sees them: the host is the root, this
// server hangs below it, and so do the servers of all other nodes, which only
// the host can reach.
inline constexpr NodeId kHost = 0;
inline constexpr NodeId kSelf = 1;
inline constexpr NodeId kFirstOther = 2;
// Nodes of all jobs together.
inline constexpr uint32_t kMaxMembers = 16384;

struct HostedClient {
  pmix_proc_t name = {};  // for the host's functions
  uint32_t uid = 0;
  uint32_t gid = 0;
  void* object = nullptr;  // the host's own
};

struct HostedJob {
  // What the host told; null while it has registered clients only.
  std::shared_ptr<const registration::Registration> told;
  std::map<Rank, HostedClient> clients;  // of this node
  // The job as the core has it; null while it is not there yet.
  std::shared_ptr<const JobSpec> spec;
};

// Loop thread only. Pointers to jobs and clients stay valid until these are
// removed.
class HostedJobs {
 public:
  // kErrExists: it is registered already.
  Status AddJob(registration::Registration told);
  void AddClient(const ProcId& proc, uint32_t uid, uint32_t gid, void* object);
  void RemoveClient(const ProcId& proc);
  void RemoveJob(const std::string& nspace) { jobs_.erase(nspace); }

  // Null: there is none.
  HostedJob* Find(const std::string& nspace);
  const HostedJob* Find(const std::string& nspace) const;
  const HostedClient* FindClient(const ProcId& proc) const;
  const std::map<std::string, HostedJob>& all() const { return jobs_; }

  // The job for the core, which it has from now on: with the member that hosts
  // each node, and with the user of its clients, this one's when there is none
  // (yet). kErrNotFound: the host has not told about it, or nothing that is
  // data. kErrOutOfResource: too many nodes.
  Status MakeSpec(const std::string& nspace);

  // Where a process is; kNoNode when its job is not with the core.
  NodeId MemberOf(const ProcId& proc) const;
  // All of them run on this node. A wildcard is the whole of its job.
  bool AreHere(std::span<const ProcId> procs) const;

 private:
  Result<NodeId> MemberNamed(const std::string& name);
  Status PlaceNodes(const HostedJob& job, JobSpec* spec);

  std::map<std::string, HostedJob> jobs_;
  std::map<std::string, NodeId> members_;  // by the name of the node
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOSTED_JOBS_H_
