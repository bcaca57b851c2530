// Tables of the faults that occurred in seeds: rows are states, columns are
// faults.
#ifndef CANOPY_TESTS_SIM_SEED_TABLE_H_
#define CANOPY_TESTS_SIM_SEED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy::sim {

// The cells of one table that occurred in one seed.
class SeedCells {
 public:
  // Row and column are numbers, or enumerators in their order.
  template <typename Row, typename Column>
  void Add(Row row, Column column) {
    cells_.insert({static_cast<size_t>(row), static_cast<size_t>(column)});
  }
  template <typename Row, typename Column>
  bool Contains(Row row, Column column) const {
    return cells_.contains(
        {static_cast<size_t>(row), static_cast<size_t>(column)});
  }
  const std::set<std::pair<size_t, size_t>>& cells() const { return cells_; }

 private:
  std::set<std::pair<size_t, size_t>> cells_;
};

class SeedTable {
 public:
  struct Shape {
    std::vector<std::string_view> rows;
    std::vector<std::string_view> columns;
    // Returns why the cell cannot occur; empty if it can. Rows without a
    // possible cell are left out.
    std::function<std::string_view(size_t row, size_t column)> why_never;
  };

  explicit SeedTable(Shape shape) : shape_(std::move(shape)) {}

  void Add(const SeedCells& seed);
  // Returns the table as text: the number of seeds in which each cell occurred,
  // and, with `reasons`, why some cells cannot occur.
  std::string Text(bool reasons) const;
  // Returns the number of possible cells that occurred in fewer than `seeds`
  // seeds.
  size_t NumBelow(uint64_t seeds) const;

 private:
  using Visit = std::function<void(size_t row, size_t column)>;

  void ForEachCell(const Visit& visit) const;
  bool CanOccur(size_t row, size_t column) const {
    return shape_.why_never(row, column).empty();
  }
  bool HasRow(size_t row) const;
  uint64_t At(size_t row, size_t column) const;
  std::string Entry(size_t row, size_t column) const;

  Shape shape_;
  std::map<std::pair<size_t, size_t>, uint64_t> seeds_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SEED_TABLE_H_
