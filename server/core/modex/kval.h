// Walking over codec-form KVALs without building their values.
#ifndef CANOPY_SERVER_CORE_MODEX_KVAL_H_
#define CANOPY_SERVER_CORE_MODEX_KVAL_H_

#include <string_view>

namespace canopy::core {

// One KVAL inside bytes that hold several, back to back.
struct KvalPiece {
  std::string_view key;
  std::string_view whole;  // key and value, as encoded
};

// Takes the first KVAL off *rest. False at the end, and when what is left is
// malformed (*rest is then not empty).
bool TakeKval(std::string_view* rest, KvalPiece* piece);

// True when the bytes are KVALs, back to back, each with a key.
bool AreKvals(std::string_view kvals);

// True when a KVAL of that key is among them.
bool HasKey(std::string_view kvals, std::string_view key);

// True when the key of one of them satisfies a request for `wanted`, which may be
// the name of a qualified value (Satisfies of common/codec/stored_key.h).
bool Answers(std::string_view kvals, std::string_view wanted);

// True when `kvals` have every key that `wanted` have.
bool HasAllKeys(std::string_view kvals, std::string_view wanted);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_KVAL_H_
