// The members of a context by the nodes that agents report.
#ifndef CANOPY_CLIENT_CLI_CONTROL_MEMBER_POSITIONS_H_
#define CANOPY_CLIENT_CLI_CONTROL_MEMBER_POSITIONS_H_

#include <map>
#include <optional>
#include <string>

#include "client/cli/context/context.pb.h"
#include "protos/control.pb.h"

namespace canopy::cli {

class MemberPositions {
 public:
  explicit MemberPositions(const v1::Context& context);

  // Returns the position in the context of the member that is this node, or no
  // value if the context does not have it. Members of a cluster whose nodes
  // come from DNS are known by their addresses, others by their names.
  std::optional<int> Of(const control::v1::NodeStatus& node) const;

 private:
  std::map<std::string, int> positions_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_MEMBER_POSITIONS_H_
