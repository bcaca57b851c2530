// The connections of one endpoint: watching, turns, deadlines and sending.
#ifndef CANOPY_SERVER_ENDPOINT_CONNECTION_TABLE_H_
#define CANOPY_SERVER_ENDPOINT_CONNECTION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/out_queue.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_id.h"
#include "server/endpoint/rotation.h"
#include "server/ports/input_sink.h"

namespace canopy::endpoint {

// One stream socket. Adapters derive from it what they need to know of a peer.
struct Connection {
  virtual ~Connection() = default;

  core::ClientId id = 0;
  UniqueFd fd;
  OutQueue out;          // MarkDirty after each change
  std::string partial;   // received and not handled yet
  bool ending = false;   // nothing more is handled; closed with the round
  bool hung_up = false;  // the peer has closed its end

  // The table's.
  struct {
    bool dirty = false;      // in the list of those to flush
    bool queued = false;     // waits for a turn
    bool unhandled = false;  // `partial` may hold whole messages
    bool held_back = false;  // their answers wait for room in `out`
    bool reading = true;
    uint32_t watched = 0;
    EventLoop::TimerId deadline = 0;
    EventLoop::TimerId retry = 0;
  } io;
};

// What an adapter does with the bytes of its connections.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  // Takes bytes from the socket to where the adapter wants them, and returns
  // them; they stay valid until the next Read. Empty: there are none now, or
  // the connection is ending.
  virtual std::string_view Read(Connection& connection) = 0;
  // Handles the first message of `data`, and returns its length; 0 while it is
  // incomplete or must wait. The core handles the inputs that it raises as soon
  // as it has returned.
  virtual size_t Handle(Connection& connection, std::string_view data) = 0;
  // The socket took what it had room for.
  virtual void OnFlushed(Connection& /*connection*/) {}
  // It ends, for a reason that the log should have.
  virtual void LogEnd(const Connection& connection,
                      const std::string& reason) = 0;
  // It is not in the table any more; its descriptor is still open.
  virtual void OnClosed(Connection& connection) = 0;
};

struct ConnectionTableOptions {
  Budget budget;
  // Epoll events to watch for in place of EPOLLIN, EPOLLOUT; edge-triggered.
  // For messages that stay in the socket until they are answered. The table
  // keeps no bytes of them, and sends nothing. 0: the usual ones.
  uint32_t edge_events = 0;
  // Flow control of a peer that does not read its replies: above the first
  // number of queued bytes its requests are not read, above the second it is
  // closed.
  size_t pause_reading_bytes = size_t{1} << 20;
  size_t max_queued_bytes = size_t{320} << 20;
};

// Loop thread only. The loop, the handler and the sink outlive it.
class ConnectionTable {
 public:
  ConnectionTable(EventLoop* loop, ConnectionHandler* handler, InputSink* sink,
                  ConnectionTableOptions options);
  // Closes every connection, after an attempt to send what is queued.
  ~ConnectionTable();
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // A connection with a number of its own and a descriptor.
  void Add(std::unique_ptr<Connection> connection);
  // Null: there is none.
  Connection* Find(core::ClientId client) const;
  size_t size() const { return connections_.size(); }
  // The numbers of all connections, for loops that may end some.
  const std::unordered_map<core::ClientId, std::unique_ptr<Connection>>& all()
      const {
    return connections_;
  }

  // Ends the connection for this reason unless it is cancelled before; replaces
  // an earlier deadline. `reason` is a literal.
  void SetDeadline(Connection& c, int64_t delay_ns, const char* reason);
  void CancelDeadline(Connection& c);
  static bool HasDeadline(const Connection& c) { return c.io.deadline != 0; }

  // Closes at the end of the round, after one more attempt to send. An empty
  // reason is an ordinary end and not logged.
  void End(Connection& c, const std::string& reason);
  // Closes now.
  void Destroy(core::ClientId client);

  // There is something in `c.out`.
  void MarkDirty(Connection& c);
  void FlushDirty();

  // While false only the peer's end is noticed.
  void SetReading(Connection& c, bool reading);
  // Something is left to be handled, without an event of the descriptor: the
  // connection gets a turn.
  void Continue(Connection& c);
  // Handles the whole messages of `c.partial` without regard to turns: before
  // the process ends.
  void HandlePartial(Connection& c);

  // For Read: receives into `data`, and ends the connection when its stream
  // does. Returns the number of bytes, 0 when there are none now.
  size_t Receive(Connection& c, char* data, size_t size);

 private:
  void OnEvents(core::ClientId client, uint32_t events);
  void Queue(Connection& c);
  void Serve(Connection& c, Turn& turn);
  bool ServeOnce(Connection& c, Turn& turn);
  size_t HandleMessages(Connection& c, std::string_view data, Turn* turn);
  bool MustWait(Connection& c, Turn& turn);
  void Flush(Connection& c);
  void RetryLater(Connection& c);
  void UpdateWatch(Connection& c, bool blocked);
  void Disconnect(Connection& c);

  EventLoop* const loop_;
  ConnectionHandler* const handler_;
  InputSink* const sink_;
  const ConnectionTableOptions options_;
  std::unordered_map<core::ClientId, std::unique_ptr<Connection>> connections_;
  std::vector<core::ClientId> dirty_;
  Rotation rotation_;
  std::shared_ptr<ConnectionTable*> self_;  // cleared when this goes
};

// A table of connections of one type.
template <typename C>
class TableOf : public ConnectionTable {
 public:
  using ConnectionTable::ConnectionTable;

  C* Find(core::ClientId client) const {
    return static_cast<C*>(ConnectionTable::Find(client));
  }
  // Neither adds nor removes connections; they may be ended.
  template <typename F>
  void ForEach(F&& function) const {
    for (const auto& [id, c] : all()) function(static_cast<C&>(*c));
  }
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_CONNECTION_TABLE_H_
