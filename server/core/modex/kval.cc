#include "server/core/modex/kval.h"

#include <unordered_set>

#include "common/codec/decoder.h"
#include "common/codec/stored_key.h"

namespace canopy::core {

bool TakeKval(std::string_view* rest, KvalPiece* piece) {
  if (rest->empty()) return false;
  Decoder decoder(*rest);
  KvalView view;
  if (!decoder.GetKval(&view) || view.key.empty()) return false;
  piece->key = view.key;
  piece->deleted = view.type == PMIX_UNDEF;
  piece->whole = rest->substr(0, rest->size() - decoder.rest().size());
  *rest = decoder.rest();
  return true;
}

bool AreKvals(std::string_view kvals) {
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) {
  }
  return kvals.empty();
}

bool HaveDeletions(std::string_view kvals) {
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) {
    if (piece.deleted) return true;
  }
  return false;
}

bool HasKey(std::string_view kvals, std::string_view key) {
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) {
    if (piece.key == key) return true;
  }
  return false;
}

bool Answers(std::string_view kvals, std::string_view wanted) {
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) {
    if (Satisfies(piece.key, wanted)) return true;
  }
  return false;
}

bool HasAllKeys(std::string_view kvals, std::string_view wanted) {
  if (wanted.empty()) return true;
  std::unordered_set<std::string_view> keys;
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) keys.insert(piece.key);
  while (TakeKval(&wanted, &piece)) {
    if (!keys.contains(piece.key)) return false;
  }
  return true;
}

}  // namespace canopy::core
