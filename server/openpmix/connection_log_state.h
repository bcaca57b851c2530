// State of a job's OpenPMIx connections as replayed from the records of their
// log. Pure: it uses no memory file and no socket.
//
// Positions count the bytes of a connection from its beginning, for each
// direction separately. For the client's requests:
//   received  bytes that were read, of which `input` is the incomplete message
//             at the end
// For the answers, in the order of the stream:
//   sent      bytes that the kernel has accepted; only the socket knows them
//   queued    end of the last answer that was logged
//
// A request is in `requests` until its answer is logged, and then in `answers`
// until the answer is known to be sent. An answer is logged with its bytes, or
// without them if it can be regenerated from the request (`payload`). If only a
// part of an answer without bytes was sent, the rest of it is in `unsent`,
// because a regenerated answer may differ.
//
// Invariants: Records of a connection follow its kOpened. kReceived records
// have no gap. Every answer to a request follows the request. WriteRecords and
// Apply are inverse: replaying the written records gives the same state.
#ifndef CANOPY_SERVER_OPENPMIX_CONNECTION_LOG_STATE_H_
#define CANOPY_SERVER_OPENPMIX_CONNECTION_LOG_STATE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/describe.h"
#include "common/ids.h"
#include "common/recent_events.h"
#include "server/core/messages.h"
#include "server/openpmix/request_list.h"

namespace canopy::openpmix {

// For each kind: the meaning of `a`, of `b`, of `number`, and of the bytes
// after the record, separated by semicolons. A member with '-' is unused.
enum class RecordKind : uint16_t {
  kOpened = 1,    // rank; -; bytes read so far; EncodeOpening
  kClosed = 2,    // -
  kReceived = 3,  // -; -; position of the first byte; the bytes
  // -; -; position of the first byte; bytes to the answer's end
  kAnswered = 4,
  kUnsent = 5,     // -; -; position of the first; bytes to the answer's end
  kEvents = 6,     // 1: all; -; -; the codes, 4 bytes each
  kFinalized = 7,  // -
  kSeries = 8,     // -; number; -; EncodeSeries
  kEnded = 9,      // rank; series; number of collectives that have ended for it
  kQueued = 10,    // -; -; position of the next answer
  kBroken = 11,    // - (the client violated the protocol)
  kNotified = 12,  // -; -; number; EncodeRaiser: an event sent to the client
};

// Positions count the bytes of a connection from its beginning.
struct Record {
  uint32_t size = 0;  // size of the bytes that follow
  RecordKind kind = RecordKind::kClosed;
  uint16_t zero = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  uint64_t connection = 0;
  uint64_t number = 0;
};
static_assert(sizeof(Record) == 32);

// A client's greeting.
struct Opening {
  uint8_t kind = 0;
  bool described = false;
  std::string version;
  std::string codec;
};

template <typename V>
void Describe(V& v, wire::Is<Opening> auto& m) {
  v.Always(1, m.kind);
  v.Field(2, m.described);
  v.Field(3, m.version);
  v.Field(4, m.codec);
}

// Views point into the records, which do not move, or into the state.
struct ConnectionLogState {
  ConnectionLogState() = default;
  ConnectionLogState(ConnectionLogState&&) = default;
  ConnectionLogState& operator=(ConnectionLogState&&) = default;

  struct Answer {
    uint32_t tag = 0;
    uint32_t one_series =
        0;  // series of the collective that it completes, or 0
    uint64_t begin = 0;
    uint64_t size = 0;
    std::string_view bytes;    // empty: regenerated from the payload
    std::string_view payload;  // payload of the request
  };
  struct Connection {
    Rank rank = 0;
    Opening opening;
    uint64_t received = 0;        // position after the last byte that was read
    uint64_t queued = 0;          // position after the last answer
    std::string input;            // the beginning of a message
    RequestList requests;         // unanswered
    std::vector<Answer> answers;  // not known to be sent, in order
    uint64_t unsent_at = 0;       // position of the first byte of `unsent`
    std::string_view unsent;
    bool broken = false;
    bool finalized = false;
    bool all_events = false;
    std::set<int> codes;
    RecentEvents notified{kRecentOfProcess};
  };
  // A collective of a process. The sequence of the CollectiveId is unused.
  using Collective = core::CollectiveId;
  // For each process, the number of collectives of each series that have ended.
  // A collective whose answer is pending counts too.
  using Counts = std::map<Rank, std::map<Collective, uint64_t>>;

  std::map<uint64_t, Connection> connections;
  std::map<uint32_t, Collective> series;
  std::map<std::pair<Rank, uint32_t>, uint64_t> ended;
  std::deque<std::string> assembled;  // messages from several records

  // Applies a record. Returns false if it is invalid, which invalidates the
  // log.
  bool Apply(const Record& record, std::string_view bytes);
  // Records that the client has received all answers up to `position`.
  void Sent(Connection* connection, uint64_t position);
  // Writes records from which this state can be replayed.
  using Write = std::function<void(Record record, std::string_view bytes)>;
  void WriteRecords(const Write& write) const;
};

// Return the bytes that follow a record of kOpened, kSeries, kEvents and
// kNotified.
std::string EncodeOpening(const Opening& opening);
std::string EncodeSeries(const ConnectionLogState::Collective& collective);
std::string EncodeCodes(const std::set<int>& codes);
std::string EncodeRaiser(const ProcId& raiser);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_CONNECTION_LOG_STATE_H_
