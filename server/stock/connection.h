// What the endpoint keeps about one connection.
#ifndef CANOPY_SERVER_STOCK_CONNECTION_H_
#define CANOPY_SERVER_STOCK_CONNECTION_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/out_queue.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_id.h"
#include "server/stock/handshake.h"
#include "server/stock/ledger.h"
#include "server/stock/peer_proof.h"
#include "server/stock/peer_traits.h"
#include "server/stock/readahead.h"
#include "server/stock/requests.h"

namespace canopy::stock {

// A request that waits for the core, by its tag.
struct PendingRequest {
  AnswerForm answer = AnswerForm::kStatus;
  ProcId target;                     // of gets
  std::string key;                   // of gets
  std::vector<std::string> nspaces;  // of connects: other namespaces
  uint32_t set = 0;                  // of collectives, in the ledger
};

struct Connection {
  enum class State : uint8_t {
    kNew,      // has not greeted
    kWaiting,  // claims to be a rank whose process is not known yet
    kServing,  // is a rank's or a tool's
    kEnding,   // to be closed at the end of the round
  };

  core::ClientId id = 0;
  UniqueFd fd;
  State state = State::kNew;
  SocketOwner owner;
  PeerKind kind = PeerKind::kClient;
  bool identified = false;  // the core knows it
  bool is_tool = false;     // belongs to no job here
  ProcId proc;              // as claimed, proved from kServing on
  PeerTraits traits;
  std::string partial;  // beginning of a message
  OutQueue out;
  bool dirty = false;  // in the list of those to flush
  uint32_t watched = 0;
  EventLoop::TimerId hello_timer = 0;
  std::unordered_map<uint32_t, PendingRequest> pending;
  Readahead readahead;

  // For the agent after this one; null: it will not know this connection.
  std::shared_ptr<Ledger> ledger;
  Opening opening;
  std::vector<std::string> held_by;  // jobs whose shims have the socket
  size_t greeting = 0;               // its length while it is not taken off
  uint64_t received = 0;             // bytes, from the beginning
  uint64_t queued = 0;               // bytes, those in `out` included
  std::deque<uint64_t> ends;         // of what is in `out`: where messages end
  uint64_t noted = 0;                // bytes to there are noted as not sent
  uint32_t ends_collective = 0;      // the set of one that the next answer ends
  bool all_events = false;
  std::set<int> codes;
};

}  // namespace canopy::stock

#endif  // CANOPY_SERVER_STOCK_CONNECTION_H_
