// The connections of one endpoint: watching, turns, deadlines and sending.
#ifndef CANOPY_SERVER_ENDPOINT_CONNECTION_TABLE_H_
#define CANOPY_SERVER_ENDPOINT_CONNECTION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/out_queue.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_id.h"
#include "server/endpoint/byte_account.h"
#include "server/endpoint/memory_return.h"
#include "server/endpoint/rotation.h"
#include "server/ports/input_sink.h"

namespace canopy::endpoint {

// One stream socket. Adapters derive from this type and add their own state of
// a peer.
struct Connection {
  virtual ~Connection() = default;

  core::ClientId id = 0;
  UniqueFd fd;
  OutQueue out;         // call MarkDirty after each change
  std::string partial;  // received, not handled yet
  // The length of the first message of `partial`, which has not arrived
  // completely. Handle sets it when it returns 0 for that reason.
  size_t awaited = 0;
  ByteHolder holder;  // set when the peer has identified itself
  // True if no more messages are handled and the connection is closed at the
  // end of the round.
  bool ending = false;
  bool hung_up = false;  // the peer has closed its end

  // Used by ConnectionTable only.
  struct {
    bool dirty = false;      // is in the list of connections to flush
    bool queued = false;     // waits for a turn
    bool unhandled = false;  // `partial` may contain complete messages
    bool held_back = false;  // the messages must wait for room in `out`
    bool reading = true;
    uint32_t watched = 0;
    EventLoop::TimerId deadline = 0;
    EventLoop::TimerId retry = 0;
    size_t charged = 0;        // bytes of an unfinished message
    bool awaits_room = false;  // the message must wait for other messages
    bool progressed = false;   // the message has grown since the last check
    EventLoop::TimerId half = 0;
    size_t queued_bytes = 0;  // the last value given to SetQueued
  } io;
};

// How an adapter handles the bytes of its connections.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  // Reads bytes from the socket into a buffer of the adapter and returns them;
  // they are valid until the next Read. Returns an empty view if there are none
  // now or the connection is ending.
  virtual std::string_view Read(Connection& connection) = 0;
  // Handles the first message of `data` and returns its length; 0 if it is
  // incomplete or must wait. The inputs that it raises are handled by the core
  // as soon as it returns.
  virtual size_t Handle(Connection& connection, std::string_view data) = 0;
  // Called when the socket has accepted as much of the queue as it has room
  // for.
  virtual void OnFlushed(Connection& /*connection*/) {}
  // Returns true if the peer is stopped and cannot send at present.
  virtual bool IsStopped(const Connection& /*connection*/) const {
    return false;
  }
  // Logs the reason why a connection ends.
  virtual void LogEnd(const Connection& connection,
                      const std::string& reason) = 0;
  // Called when the connection was removed from the table; its descriptor is
  // still open.
  virtual void OnClosed(Connection& connection) = 0;
};

struct ConnectionTableOptions {
  Budget budget;
  // If not 0, the edge-triggered epoll events to watch for instead of EPOLLIN
  // and EPOLLOUT. An adapter sets them if its messages stay in the socket until
  // they are answered. The table then keeps no bytes of these messages and
  // sends nothing.
  uint32_t edge_events = 0;
  // Flow control for a peer that does not read its replies. The first number
  // limits the bytes queued for its connection: above it, its requests are not
  // read. The second limits the bytes queued for all connections of its client
  // together: above it, the connection is closed.
  size_t pause_reading_bytes = size_t{1} << 20;
  size_t max_queued_bytes = size_t{320} << 20;
  // Limits for messages that have arrived in part. The connection of a client
  // that sends no more of such a message for half_message_ns is closed, unless
  // the client is stopped.
  ByteLimits unfinished;
  int64_t half_message_ns = kHalfMessageNs;
};

// Loop thread only. Loop, handler and sink must outlive this object.
class ConnectionTable {
 public:
  ConnectionTable(EventLoop* loop, ConnectionHandler* handler, InputSink* sink,
                  ConnectionTableOptions options);
  // Closes every connection, after an attempt to send queued data.
  ~ConnectionTable();
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // Adds a connection, which must have a unique id and a descriptor.
  void Add(std::unique_ptr<Connection> connection);
  // Returns null if there is no such connection.
  Connection* Find(core::ClientId client) const;
  size_t size() const { return connections_.size(); }
  // Returns all connections by id, for loops that may end some of them.
  const std::unordered_map<core::ClientId, std::unique_ptr<Connection>>& all()
      const {
    return connections_;
  }

  // Ends the connection for this reason after `delay_ns` unless the deadline is
  // cancelled. Replaces an earlier deadline. `reason` must be a string literal.
  void SetDeadline(Connection& c, int64_t delay_ns, const char* reason);
  void CancelDeadline(Connection& c);
  static bool HasDeadline(const Connection& c) { return c.io.deadline != 0; }

  // Closes the connection at the end of the round, after another attempt to
  // send. An empty reason means an ordinary end, which is not logged.
  void End(Connection& c, const std::string& reason);
  // Closes the connection now.
  void Destroy(core::ClientId client);

  // Must be called when `c.out` has data to send.
  void MarkDirty(Connection& c);
  // Sends the queued data of all dirty connections, until their sockets accept
  // no more.
  void FlushDirty();

  // Sets whether data is read. If `reading` is false, only the peer's end is
  // noticed.
  void SetReading(Connection& c, bool reading);
  // Gives the connection a turn. Called when data remains to be handled without
  // a further event of the descriptor.
  void Continue(Connection& c);
  // Handles the complete messages of `c.partial` without regard to turns.
  // Called before the process ends.
  void HandlePartial(Connection& c);

  // Used in Read: receives into `data`, and ends the connection when its stream
  // ends. Returns the number of bytes; 0 if there are none now.
  size_t Receive(Connection& c, char* data, size_t size);

  // Returns the bytes of unfinished messages that are charged to clients.
  size_t unfinished_bytes() const { return account_.held(); }

 private:
  void OnEvents(core::ClientId client, uint32_t events);
  void Queue(Connection& c);
  void Serve(Connection& c, Turn& turn);
  bool ServeOnce(Connection& c, Turn& turn);
  size_t HandleMessages(Connection& c, std::string_view data, Turn* turn);
  size_t HandleOne(Connection& c, std::string_view data);
  void EndWithoutMemory(Connection& c, size_t bytes);
  bool MustWait(Connection& c, Turn& turn);
  void Flush(Connection& c);
  void RetryLater(Connection& c);
  void UpdateWatch(Connection& c, bool blocked);
  void Disconnect(Connection& c);
  void Settle(Connection& c);
  bool ChargeMessage(Connection& c, size_t length);
  bool IsBehindOthers(const Connection& c) const;
  void ReleaseMessage(Connection& c);
  void AdmitWaiting();
  void WatchHalf(Connection& c);
  void LookAtHalf(Connection& c);
  bool QueuesTooMuch(Connection& c);

  EventLoop* const loop_;
  ConnectionHandler* const handler_;
  InputSink* const sink_;
  const ConnectionTableOptions options_;
  std::unordered_map<core::ClientId, std::unique_ptr<Connection>> connections_;
  std::vector<core::ClientId> dirty_;
  ByteAccount account_;
  std::deque<core::ClientId> awaiting_room_;
  MemoryReturn memory_;
  Rotation rotation_;
  std::shared_ptr<ConnectionTable*> self_;  // cleared by the destructor
};

// A table of connections of type C.
template <typename C>
class TableOf : public ConnectionTable {
 public:
  using ConnectionTable::ConnectionTable;

  C* Find(core::ClientId client) const {
    return static_cast<C*>(ConnectionTable::Find(client));
  }
  // Calls `function` for each connection. `function` may end connections, but
  // must not add or remove any.
  template <typename F>
  void ForEach(F&& function) const {
    for (const auto& [id, c] : all()) function(static_cast<C&>(*c));
  }
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_CONNECTION_TABLE_H_
