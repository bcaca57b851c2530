// State of one connection of the endpoint.
#ifndef CANOPY_SERVER_LOCAL_CONNECTION_H_
#define CANOPY_SERVER_LOCAL_CONNECTION_H_

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/out_queue.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_id.h"

namespace canopy::local {

struct Connection {
  enum class State : uint8_t {
    kNew,      // not identified
    kServing,  // is a rank's
    kEnding,   // to be closed at the end of the round
  };

  core::ClientId id = 0;
  UniqueFd fd;
  State state = State::kNew;
  bool identified = false;     // ClientConnected was sent to the core
  bool may_hand_over = false;  // to the next agent
  ProcId proc;                 // valid when identified
  std::string partial;         // beginning of a frame
  OutQueue out;
  bool dirty = false;  // in the list of those to flush
  uint32_t watched = 0;
  EventLoop::TimerId hello_timer = 0;
  EventLoop::TimerId retry_timer = 0;
  int mailbox =
      -1;  // index of the commit mailbox that it may write to; -1: none
  // Pending fences over the whole job, by tag.
  std::vector<uint64_t> fences;
  // Pending gets, by tag.
  std::unordered_map<uint64_t, ProcId> gets;
  std::set<std::string> segments;  // namespaces whose segment it was sent
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_CONNECTION_H_
