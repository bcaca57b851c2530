#include "server/core/modex/key_owners.h"

#include <algorithm>

#include "server/core/modex/kval.h"

namespace canopy::core {

void KeyOwners::Add(std::string_view key, Rank rank) {
  const auto it = owners_.find(key);
  if (it == owners_.end()) {
    owners_.emplace(key, rank);
  } else {
    it->second = std::min(it->second, rank);
  }
}

void KeyOwners::AddAll(std::string_view kvals, Rank rank) {
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) Add(piece.key, rank);
}

void KeyOwners::AddPut(std::string_view kvals, Rank rank) {
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) {
    if (!piece.deleted) Add(piece.key, rank);
  }
}

std::optional<Rank> KeyOwners::Find(std::string_view key) const {
  const auto it = owners_.find(key);
  if (it == owners_.end()) return std::nullopt;
  return it->second;
}

}  // namespace canopy::core
