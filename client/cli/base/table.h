// Text in aligned columns.
#ifndef CANOPY_CLIENT_CLI_BASE_TABLE_H_
#define CANOPY_CLIENT_CLI_BASE_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::cli {

// A table of left-aligned columns, separated by two blanks; the last column is
// not padded. Every row has as many cells as there are heads.
class Table {
 public:
  explicit Table(std::vector<std::string> heads);
  void Add(std::vector<std::string> cells);
  // Returns the table as text. Each line starts with `indent` and ends with a
  // line feed.
  std::string ToString(const std::string& indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Returns the duration in one unit: "3 s", "12 min", "5 h", "9 d".
std::string AgeText(uint64_t seconds);
// Returns the number with its noun: "1 node", "4 nodes".
std::string Count(uint64_t n, const std::string& what);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_TABLE_H_
