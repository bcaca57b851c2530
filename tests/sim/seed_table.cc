#include "tests/sim/seed_table.h"

namespace canopy::sim {
namespace {

constexpr size_t kFirstColumn = 22;
constexpr size_t kColumn = 12;

std::string Left(std::string_view text) {
  std::string out(text);
  out.resize(std::max(out.size(), kFirstColumn), ' ');
  return out;
}

std::string Right(std::string_view text) {
  const size_t left = text.size() < kColumn ? kColumn - text.size() : 0;
  return std::string(left, ' ') + std::string(text);
}

}  // namespace

void SeedTable::ForEachCell(const Visit& visit) const {
  for (size_t row = 0; row < shape_.rows.size(); ++row) {
    for (size_t column = 0; column < shape_.columns.size(); ++column) {
      visit(row, column);
    }
  }
}

bool SeedTable::HasRow(size_t row) const {
  for (size_t column = 0; column < shape_.columns.size(); ++column) {
    if (CanOccur(row, column)) return true;
  }
  return false;
}

uint64_t SeedTable::At(size_t row, size_t column) const {
  const auto known = seeds_.find({row, column});
  return known == seeds_.end() ? 0 : known->second;
}

void SeedTable::Add(const SeedCells& seed) {
  for (const auto& cell : seed.cells()) ++seeds_[cell];
}

std::string SeedTable::Entry(size_t row, size_t column) const {
  const uint64_t seeds = At(row, column);
  return seeds == 0 && !CanOccur(row, column) ? "-" : std::to_string(seeds);
}

std::string SeedTable::Text(bool reasons) const {
  std::string out = Left("seeds");
  for (const std::string_view name : shape_.columns) out += Right(name);
  for (size_t row = 0; row < shape_.rows.size(); ++row) {
    if (!HasRow(row)) continue;
    out += "\n" + Left(shape_.rows[row]);
    for (size_t column = 0; column < shape_.columns.size(); ++column) {
      out += Right(Entry(row, column));
    }
  }
  ForEachCell([&](size_t row, size_t column) {
    if (!reasons || !HasRow(row) || CanOccur(row, column)) return;
    out += "\n- " + std::string(shape_.rows[row]) + ": " +
           std::string(shape_.columns[column]) + ": " +
           std::string(shape_.why_never(row, column));
  });
  return out + "\n";
}

size_t SeedTable::NumBelow(uint64_t seeds) const {
  size_t count = 0;
  ForEachCell([&](size_t row, size_t column) {
    count += CanOccur(row, column) && At(row, column) < seeds ? 1 : 0;
  });
  return count;
}

}  // namespace canopy::sim
