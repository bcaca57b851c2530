// The types of records in a job's journal, and the keys under which they are
// stored.
//
// A record is a key and a value; a later value of a key replaces the earlier
// one, so a key has the type and then whatever identifies the record among
// those of its type. Agents of one release store records that agents of another
// read, in both directions: the bytes stay, and a record of an unknown type is
// ignored.
#ifndef CANOPY_SERVER_CORE_JOURNAL_KEY_H_
#define CANOPY_SERVER_CORE_JOURNAL_KEY_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/wire.h"

namespace canopy::core {

enum class JournalRecordType : uint8_t {
  kController,   // which agent controls the job
  kCollective,   // how a collective has ended
  kCommit,       // what a rank has committed for a key
  kPublication,  // what a rank has published
  kLookup,       // the answer to a lookup that ended publications
  kKilled,       // which ranks were told to end
  kEvent,        // what a rank has notified of
  kHostCall,     // which signals of job control ranks have had
  kHeld,         // which ranks debuggers hold
  kInputRun,     // where the input of a run begins here
};

// A key that ends after its type: what identifies the record is appended.
WireWriter BeginKey(JournalRecordType type);

struct JournalKey {
  JournalRecordType type;
  std::string_view id;  // what follows the type; part of the key
};
// Nothing for a key of an unknown type.
std::optional<JournalKey> ParseKey(std::string_view key);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOURNAL_KEY_H_
