// A host's descriptions of its resources that belong to no single job: from
// PMIx_server_register_resources, and, for other nodes, from
// PMIx_server_deliver_inventory (PMIx Standard, chapter "Server-Specific
// Interfaces").
#ifndef CANOPY_SERVER_REGISTRATION_RESOURCES_H_
#define CANOPY_SERVER_REGISTRATION_RESOURCES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "pmix_types.h"
#include "server/registration/registration.h"

namespace canopy::registration {

// The data applies to all jobs that are registered later; the data of existing
// jobs does not change. Not thread-safe.
class Resources {
 public:
  // Registers PMIX_SESSION_INFO_ARRAY, PMIX_NODE_INFO_ARRAY, nested in either
  // way, and entries outside them, which apply to each job. A later value of a
  // key replaces an earlier one. Returns kErrBadParam for an array of jobs,
  // applications or processes, or for an array that does not identify its
  // session or node; kErrTypeMismatch for a value of another type;
  // kErrOutOfResource for a number above its limit and for too many nodes;
  // kErrNotSupported for a required value that cannot be passed to processes.
  // After an error nothing is registered.
  Status Register(std::span<const pmix_info_t> infos);
  // Like Register, for the data of PMIx_server_collect_inventory, but without
  // the complete description of the hardware, which is not part of a job's
  // data.
  Status Deliver(std::span<const pmix_info_t> infos);
  // Removes keys. The values of the entries have no effect, except those that
  // identify the session or node of an array. An array with no other keys
  // stands for all keys of its session or node. Unknown keys are no error;
  // other errors are those of Register.
  Status Deregister(std::span<const pmix_info_t> infos);

  // Adds the data to a registration. The host's data about the job itself has
  // precedence.
  void AddTo(Registration* registration) const;

 private:
  struct Node {
    std::string name;
    std::optional<uint32_t> id;
    std::vector<std::string> aliases;
    Keys keys;
  };
  // The data of one array of a call. It belongs to a session, to a node, or,
  // with neither, to all jobs.
  struct Part {
    std::optional<uint32_t> session;
    std::optional<Node> node;
    // The entries without those that identify the session or node.
    std::vector<const pmix_info_t*> infos;
  };
  class Reader;

  Status Register(std::span<const pmix_info_t> infos, std::string_view without);
  Node* FindNode(const Node& like);
  Keys* Place(const Part& part);
  void Remove(const Part& part);
  void AddNodesTo(Registration* registration) const;

  Keys of_all_;
  std::map<uint32_t, Keys> sessions_;
  std::vector<Node> nodes_;
};

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_RESOURCES_H_
