#include "server/core/step/earlier_commits.h"

#include <variant>

namespace canopy::core {

void ForEachEarlierCommitter(
    const Input& input, const std::function<void(const ProcId& proc)>& draw) {
  if (const auto* get = std::get_if<GetArrived>(&input)) {
    draw(get->target);
  } else if (const auto* exits = std::get_if<LocalExits>(&input)) {
    for (const ProcExit& exit : exits->exits) draw({exits->nspace, exit.rank});
  } else if (const auto* peer = std::get_if<PeerArrived>(&input)) {
    const auto* request = std::get_if<DmodexRequest>(&peer->message.body);
    if (request != nullptr) draw(request->target);
  }
}

}  // namespace canopy::core
