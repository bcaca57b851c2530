// The types of records in a job's journal, and the keys of the records.
//
// A record is a key and a value; a later value of a key replaces the earlier
// one, and an empty value erases the record. A key consists of the name of the
// type and an identifier that is unique among records of this type, encoded as
// common/describe.h does. A successor ignores records of unknown types.
#ifndef CANOPY_SERVER_CORE_JOURNAL_KEY_H_
#define CANOPY_SERVER_CORE_JOURNAL_KEY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/describe.h"

namespace canopy::core {

enum class JournalRecordType : uint8_t {
  kController,   // the agent that controls the job
  kCollective,   // the result of a collective
  kCommit,       // the data that a rank has committed for a key
  kPublication,  // a publication of a rank
  kLookup,       // the answer to a lookup that consumed publications
  kKilled,       // the ranks that were requested to end
  kEvent,        // an event that a rank has raised
  kHostCall,     // the job control signals that ranks have received
  kHeld,         // the ranks that debuggers hold
  kInputRun,     // where an input run begins on this node
};

// Identifies a record of a type whose records have numbered slots. A slot is
// reused when its record is erased.
struct JournalSlot {
  uint32_t slot = 0;
};

template <typename V>
void Describe(V& v, wire::Is<JournalSlot> auto& m) {
  v.Field(1, m.slot);
}

// Returns the name of the type, which is the whole key if a job has only one
// record of the type.
std::string KeyOf(JournalRecordType type);

template <typename Id>
std::string KeyOf(JournalRecordType type, const Id& id) {
  std::string key = KeyOf(type);
  wire::Append(id, &key);
  return key;
}

struct JournalKey {
  JournalRecordType type;
  std::string_view id;  // view of the key after the name of the type
};
// Splits a key into its type and its identifier. Returns no value for a key of
// an unknown type.
std::optional<JournalKey> ParseKey(std::string_view key);

// Returns whether the key is of this type.
bool IsKeyOf(JournalRecordType type, std::string_view key);

// Reads the identifier, whose views point into the key. Returns false if the
// key is of another type or malformed.
template <typename Id>
bool ReadKey(JournalRecordType type, std::string_view key, Id* id) {
  const auto parsed = ParseKey(key);
  return parsed && parsed->type == type && wire::Decode(parsed->id, id);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOURNAL_KEY_H_
