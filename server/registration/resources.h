// A host's descriptions of its resources that belong to no single job: from
// PMIx_server_register_resources, and about other nodes from
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
  // way, and entries outside them, which apply to each job. Earlier values of a
  // key are replaced. Returns kErrBadParam for an array of jobs, applications
  // or processes, or one that does not identify its session or node;
  // kErrTypeMismatch; kErrOutOfResource; kErrNotSupported for a required value
  // that no process can get. After an error nothing is registered.
  Status Register(std::span<const pmix_info_t> infos);
  // Like Register, for the data of PMIx_server_collect_inventory, without the
  // complete description of the hardware, which jobs do not contain.
  Status Deliver(std::span<const pmix_info_t> infos);
  // Removes keys. Only the keys of entries matter, and in arrays the
  // identification of the session or node. An array with no other keys stands
  // for all of them. Unknown keys are no error; other errors are those of
  // Register.
  Status Deregister(std::span<const pmix_info_t> infos);

  // Adds the data. The host's data about the job itself has precedence.
  void AddTo(Registration* registration) const;

 private:
  struct Node {
    std::string name;
    std::optional<uint32_t> id;
    std::vector<std::string> aliases;
    Keys keys;
  };
  // The subject of one array of a call: a session, a node, or neither for data
  // of all jobs.
  struct Part {
    std::optional<uint32_t> session;
    std::optional<Node> node;
    // Without the entries that identify it.
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
