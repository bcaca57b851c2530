#include "server/core/kval.h"

#include "common/codec/decoder.h"

namespace canopy::core {

bool TakeKval(std::string_view* rest, KvalPiece* piece) {
  if (rest->empty()) return false;
  Decoder decoder(*rest);
  KvalView view;
  if (!decoder.GetKval(&view) || view.key.empty()) return false;
  piece->key = view.key;
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

bool HasKey(std::string_view kvals, std::string_view key) {
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) {
    if (piece.key == key) return true;
  }
  return false;
}

}  // namespace canopy::core
