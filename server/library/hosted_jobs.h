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

// The members of the overlay as the core sees them: the host is the root. Its
// children are this server and the servers of all other nodes, which only the
// host can reach.
inline constexpr NodeId kHost = 0;
inline constexpr NodeId kSelf = 1;
inline constexpr NodeId kFirstOther = 2;
// The limit for the nodes of all jobs together.
inline constexpr uint32_t kMaxMembers = 16384;

struct HostedClient {
  pmix_proc_t name = {};  // for the host's functions
  uint32_t uid = 0;
  uint32_t gid = 0;
  void* object = nullptr;  // the host's own pointer
};

struct HostedJob {
  // The host's registration; null if only clients have been registered yet.
  std::shared_ptr<const registration::Registration> told;
  std::map<Rank, HostedClient> clients;  // clients on this node
  // The job as the core has it; null before the job is added to the core.
  std::shared_ptr<const JobSpec> spec;
};

// Pointers to jobs and clients are valid until the job or the client is
// removed. Loop thread only.
class HostedJobs {
 public:
  // Adds a registered job. Returns kErrExists if the job is registered already.
  Status AddJob(registration::Registration told);
  // Adds a client of this node, before or after its job. It replaces a client
  // of the same name.
  void AddClient(const ProcId& proc, uint32_t uid, uint32_t gid, void* object);
  void RemoveClient(const ProcId& proc);
  void RemoveJob(const std::string& nspace) { jobs_.erase(nspace); }

  // Return the job or the client, or null if there is none.
  HostedJob* Find(const std::string& nspace);
  const HostedJob* Find(const std::string& nspace) const;
  const HostedClient* FindClient(const ProcId& proc) const;
  const std::map<std::string, HostedJob>& all() const { return jobs_; }

  // Creates the job for the core. Each node of it has the member that hosts the
  // node. The job has the user of its clients, or of this process if it has no
  // clients. Returns kErrNotFound if the host has not registered the job or has
  // given no data for it, and kErrOutOfResource for too many nodes.
  Status MakeSpec(const std::string& nspace);

  // Returns the member that hosts a process; kNoNode if the process's job is
  // not in the core.
  NodeId MemberOf(const ProcId& proc) const;
  // Returns true if all these processes run on this node. A wildcard means the
  // whole job.
  bool AreHere(std::span<const ProcId> procs) const;

 private:
  Result<NodeId> MemberNamed(const std::string& name);
  Status PlaceNodes(const HostedJob& job, JobSpec* spec);

  std::map<std::string, HostedJob> jobs_;
  std::map<std::string, NodeId> members_;  // the key is the name of the node
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOSTED_JOBS_H_
