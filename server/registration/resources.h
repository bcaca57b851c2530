// What a host says of its resources, of no job in particular: with
// PMIx_server_register_resources, and of other nodes with
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

// Data of all jobs that are registered from then on: what a job's processes
// find does not change under them. Not synchronised.
class Resources {
 public:
  // PMIX_SESSION_INFO_ARRAY, PMIX_NODE_INFO_ARRAY, also one in the other, and
  // entries outside of them, which are each job's own. What was said of a key
  // before is replaced. kErrBadParam: an array of jobs, applications or
  // processes, or one that does not say of which session or node it is;
  // kErrTypeMismatch; kErrOutOfResource; kErrNotSupported: a required value
  // that no process can get. After an error nothing is registered.
  Status Register(std::span<const pmix_info_t> infos);
  // The same of what PMIx_server_collect_inventory gives, but for the whole
  // description of the hardware, which jobs do not carry.
  Status Deliver(std::span<const pmix_info_t> infos);
  // The keys alone count, and in arrays what names the session or the node. An
  // array that has nothing else means all of it. What is not there is no
  // error; others as of Register.
  Status Deregister(std::span<const pmix_info_t> infos);

  // What the host says of the job itself stays.
  void AddTo(Registration* registration) const;

 private:
  struct Node {
    std::string name;
    std::optional<uint32_t> id;
    std::vector<std::string> aliases;
    Keys keys;
  };
  // What one array of a call is about; neither: what all jobs have.
  struct Part {
    std::optional<uint32_t> session;
    std::optional<Node> node;
    std::vector<const pmix_info_t*> infos;  // without what names it
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
