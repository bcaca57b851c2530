// What the endpoint keeps about one connection.
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
    kNew,      // has not said who it is
    kServing,  // is a rank's
    kEnding,   // to be closed at the end of the round
  };

  core::ClientId id = 0;
  UniqueFd fd;
  State state = State::kNew;
  bool identified = false;       // the core knows it
  bool may_change_over = false;  // to the next agent
  ProcId proc;                   // valid when identified
  std::string partial;           // beginning of a frame
  OutQueue out;
  bool dirty = false;  // in the list of those to flush
  uint32_t watched = 0;
  EventLoop::TimerId hello_timer = 0;
  EventLoop::TimerId retry_timer = 0;
  int box = -1;  // index of the commit box that it may write to; -1: none
  // Fences over the whole job that wait for their answer, by tag.
  std::vector<uint64_t> fences;
  // Gets that wait for their answer, by tag.
  std::unordered_map<uint64_t, ProcId> gets;
  std::set<std::string> segments;  // namespaces whose segment it has
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_CONNECTION_H_
