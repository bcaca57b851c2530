// State of one connection of the endpoint.
#ifndef CANOPY_SERVER_OPENPMIX_CONNECTION_H_
#define CANOPY_SERVER_OPENPMIX_CONNECTION_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/ids.h"
#include "common/recent_events.h"
#include "server/endpoint/connection_table.h"
#include "server/openpmix/connection_log.h"
#include "server/openpmix/handshake.h"
#include "server/openpmix/peer_proof.h"
#include "server/openpmix/peer_scopes.h"
#include "server/openpmix/peer_traits.h"
#include "server/openpmix/readahead.h"
#include "server/openpmix/requests.h"

namespace canopy::openpmix {

// A request that is pending in the core.
struct PendingRequest {
  AnswerForm answer = AnswerForm::kStatus;
  ProcId target;                     // target of a get
  std::string key;                   // key of a get
  std::vector<std::string> nspaces;  // other namespaces of a connect
  uint32_t one_series = 0;  // number of the collective's series in the log
};

struct Connection : endpoint::Connection {
  enum class State : uint8_t {
    kNew,      // not identified
    kWaiting,  // claims to be a rank whose process is not known yet
    kProved,   // has proved its identity, and has no welcome yet
    kServing,  // belongs to a rank or a tool
  };

  State state = State::kNew;
  SocketOwner owner;
  PeerKind kind = PeerKind::kClient;
  bool identified = false;  // the core knows this connection
  bool is_tool = false;     // belongs to no local job
  bool nameless = false;    // a tool that requests an identity
  bool relayed = false;     // comes from another machine
  ProcId proc;              // as claimed; proved from kServing on
  // The credential of a tool, until the decision about the tool is requested.
  std::string credential;
  PeerTraits traits;
  std::unordered_map<uint32_t, PendingRequest> pending;
  Readahead readahead;
  PeerScopes scopes;

  // The write-ahead log for a successor. Null: the connection cannot be
  // recovered.
  std::shared_ptr<ConnectionLog> connection_log;
  Opening opening;
  std::vector<std::string> held_by;  // jobs whose shims hold the socket
  size_t greeting = 0;  // length of the greeting while it is still in the input
  uint64_t received = 0;      // bytes received so far
  uint64_t queued = 0;        // bytes sent so far, and those in `out`
  std::deque<uint64_t> ends;  // ends of the messages in `out`
  uint64_t logged = 0;        // end of the bytes that are logged as unsent
  uint32_t ends_collective =
      0;  // series of the collective that the next answer completes
  bool all_events = false;
  std::set<int> codes;
  RecentEvents notified{kRecentOfProcess};

  bool serving() const { return state == State::kServing && !ending; }
};

using Connections = endpoint::TableOf<Connection>;

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_CONNECTION_H_
