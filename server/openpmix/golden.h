// Bytes that were written by hand from the protocol's description, for tests
// and as seeds for fuzz targets. Lines of the files are NAME | FORM | BYTES in
// hexadecimal; blanks between digits are ignored.
#ifndef CANOPY_SERVER_OPENPMIX_GOLDEN_H_
#define CANOPY_SERVER_OPENPMIX_GOLDEN_H_

#include <fstream>
#include <string>
#include <vector>

#include "tests/codec/hex.h"

namespace canopy::openpmix {

struct Golden {
  std::string name;
  std::string form;
  std::string bytes;
};

// Returns all lines of server/openpmix/golden/`file`, in order; an empty vector
// if the file cannot be read. The working directory must be the workspace's
// root, as in Bazel.
inline std::vector<Golden> ReadGolden(const std::string& file) {
  std::vector<Golden> all;
  std::ifstream in("server/openpmix/golden/" + file);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(" | ");
    const size_t second = line.find(" | ", first + 1);
    if (line.starts_with('#') || second == std::string::npos) continue;
    all.push_back({line.substr(0, first),
                   line.substr(first + 3, second - first - 3),
                   Unhex(line.substr(second + 3))});
  }
  return all;
}

// Returns the bytes of one line, or an empty string if there is no such line.
inline std::string GoldenBytes(const std::string& file, const std::string& name,
                               const std::string& form) {
  for (const Golden& golden : ReadGolden(file)) {
    if (golden.name == name && golden.form == form) return golden.bytes;
  }
  return "";
}

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_GOLDEN_H_
