// Iterates over KVALs in codec form without decoding their values.
#ifndef CANOPY_SERVER_CORE_MODEX_KVAL_H_
#define CANOPY_SERVER_CORE_MODEX_KVAL_H_

#include <string_view>

namespace canopy::core {

// One KVAL in a sequence of KVALs.
struct KvalPiece {
  std::string_view key;
  std::string_view whole;  // key and value, as encoded
  bool deleted = false;    // its value is empty: the key was deleted
};

// Removes the first KVAL from *rest. Returns false if *rest is empty, and if it
// is malformed; malformed bytes stay in *rest.
bool TakeKval(std::string_view* rest, KvalPiece* piece);

// Returns true if the bytes are a sequence of KVALs, each with a key.
bool AreKvals(std::string_view kvals);

// Returns true if one of the KVALs deletes its key.
bool HaveDeletions(std::string_view kvals);

// Returns true if the KVALs contain one with this key.
bool HasKey(std::string_view kvals, std::string_view key);

// Returns true if the key of one KVAL satisfies a request for `wanted`, which
// may be the name of a qualified value (Satisfies in
// common/codec/stored_key.h).
bool Answers(std::string_view kvals, std::string_view wanted);

// Returns true if `kvals` contain every key of `wanted`.
bool HasAllKeys(std::string_view kvals, std::string_view wanted);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_KVAL_H_
