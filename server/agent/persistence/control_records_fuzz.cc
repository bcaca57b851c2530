// The fuzz target for the content of a job's control file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "server/agent/persistence/control_records.h"
#include "tests/fuzz/fuzz.h"

namespace {

std::string Record(const std::string& key, const std::string& value) {
  const uint32_t sizes[] = {static_cast<uint32_t>(key.size()),
                            static_cast<uint32_t>(value.size())};
  std::string record(sizeof sizes, '\0');
  std::memcpy(record.data(), sizes, sizeof sizes);
  return record + key + value;
}

}  // namespace

std::vector<std::string> canopy::fuzz::Seeds() {
  const std::string one = Record("token", "secret");
  return {one, one + Record("state", "") + Record("token", "another"),
          one + one.substr(0, 9)};
}

// Parsing only the complete records must give the same result as parsing the
// whole content.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using canopy::agent::ControlRecords;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  ControlRecords::Values values;
  const size_t whole = ControlRecords::Parse(content, &values);
  if (whole > size) abort();
  ControlRecords::Values again;
  if (ControlRecords::Parse(content.substr(0, whole), &again) != whole ||
      again != values) {
    abort();
  }
  return 0;
}
