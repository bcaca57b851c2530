// What must be known of a job's OpenPMIx connections to go on with them, as
// records say it one after the other. Pure: no memory file, no socket.
#ifndef CANOPY_SERVER_STOCK_LEDGER_STATE_H_
#define CANOPY_SERVER_STOCK_LEDGER_STATE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::stock {

// `a`, `b`, `number` and what follows a record:
enum class RecordKind : uint16_t {
  kOpened = 1,     // rank; -; bytes read so far; EncodeOpening
  kClosed = 2,     // -
  kReceived = 3,   // -; -; position of the first; the bytes
  kAnswered = 4,   // tag; set or 0; size of the message, 0: no answer is due;
                   // the message, or nothing when it can be made again
  kUnsent = 5,     // -; -; position of the first; bytes to the answer's end
  kEvents = 6,     // 1: all; -; -; the codes, 4 bytes each
  kFinalized = 7,  // -
  kSet = 8,        // -; number; -; EncodeSet
  kEnded = 9,      // rank; set; how many collectives have ended for it
  kQueued = 10,    // -; -; position of the next answer
  kBroken = 11,    // - (the peer does not keep to the protocol)
};

// Positions count the bytes of a connection from its beginning on.
struct Record {
  uint32_t size = 0;  // of what follows
  RecordKind kind = RecordKind::kClosed;
  uint16_t zero = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  uint64_t connection = 0;
  uint64_t number = 0;
};
static_assert(sizeof(Record) == 32);

// How a peer has greeted.
struct Opening {
  uint8_t kind = 0;
  bool described = false;
  std::string version;
  std::string codec;
};

// Views point into the records, which stay where they are, or into the state.
struct LedgerState {
  LedgerState() = default;
  LedgerState(LedgerState&&) = default;
  LedgerState& operator=(LedgerState&&) = default;

  struct Request {
    uint32_t tag = 0;
    std::string_view payload;
  };
  struct Answer {
    uint32_t tag = 0;
    uint32_t set = 0;  // of the collective that it ends, or 0
    uint64_t begin = 0;
    uint64_t size = 0;
    std::string_view bytes;    // empty: made again from the payload
    std::string_view payload;  // of the request
  };
  struct Connection {
    Rank rank = 0;
    Opening opening;
    uint64_t received = 0;  // position after the last byte that was read
    uint64_t queued = 0;    // position after the last answer
    std::string input;      // the beginning of a message
    std::vector<Request> requests;  // without an answer, in their order
    std::vector<Answer> answers;    // that may not be sent, in their order
    uint64_t unsent_at = 0;         // position of the first byte of `unsent`
    std::string_view unsent;
    bool broken = false;
    bool finalized = false;
    bool all_events = false;
    std::set<int> codes;
  };
  using Collective = std::pair<core::CollectiveOp, std::vector<ProcId>>;
  // How many collectives each process has seen the end of, or is about to.
  using Counts = std::map<Rank, std::map<Collective, uint64_t>>;

  std::map<uint64_t, Connection> connections;
  std::map<uint32_t, Collective> sets;
  std::map<std::pair<Rank, uint32_t>, uint64_t> ended;
  std::deque<std::string> assembled;  // from several records

  // What a record says. False when it makes no sense; then nothing else does.
  bool Apply(const Record& record, std::string_view bytes);
  // The peer has all answers up to that position: they are over.
  void Sent(Connection* connection, uint64_t position);
  // Records that say all of this.
  using Write = std::function<void(Record record, std::string_view bytes)>;
  void Tell(const Write& write) const;
};

std::string EncodeOpening(const Opening& opening);
std::string EncodeSet(const LedgerState::Collective& collective);
std::string EncodeCodes(const std::set<int>& codes);

}  // namespace canopy::stock

#endif  // CANOPY_SERVER_STOCK_LEDGER_STATE_H_
