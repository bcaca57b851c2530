// The types of records in a job's journal, and the keys of the records.
//
// A record is a key and a value; a later value of a key replaces the earlier
// one. A key consists of the type and an identifier that is unique among
// records of this type. Agents of one release read records of another release,
// older or newer: the encoding must not change, and records of unknown types
// are ignored.
#ifndef CANOPY_SERVER_CORE_JOURNAL_KEY_H_
#define CANOPY_SERVER_CORE_JOURNAL_KEY_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/wire.h"

namespace canopy::core {

enum class JournalRecordType : uint8_t {
  kController,   // the agent that controls the job
  kCollective,   // the result of a collective
  kCommit,       // what a rank has committed for a key
  kPublication,  // a publication of a rank
  kLookup,       // the answer to a lookup that consumed publications
  kKilled,       // the ranks that were requested to end
  kEvent,        // an event that a rank has raised
  kHostCall,     // the job control signals that ranks have received
  kHeld,         // the ranks that debuggers hold
  kInputRun,     // where the input of a run begins here
};

// Begins a key with its type; the caller appends the identifier.
WireWriter BeginKey(JournalRecordType type);

struct JournalKey {
  JournalRecordType type;
  std::string_view id;  // what follows the type; a view into the key
};
// Returns nothing for a key of an unknown type.
std::optional<JournalKey> ParseKey(std::string_view key);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOURNAL_KEY_H_
