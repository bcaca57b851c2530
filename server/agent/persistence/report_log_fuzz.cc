// The fuzz target for the content of an agent's log of reports.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "server/agent/persistence/report_log.h"
#include "tests/fuzz/fuzz.h"

namespace {

std::string Entry(uint32_t kind, uint64_t number, const std::string& bytes) {
  const uint32_t head[] = {kind, static_cast<uint32_t>(bytes.size())};
  std::string entry(sizeof head + sizeof number, '\0');
  std::memcpy(entry.data(), head, sizeof head);
  std::memcpy(entry.data() + sizeof head, &number, sizeof number);
  return entry + bytes;
}

}  // namespace

std::vector<std::string> canopy::fuzz::Seeds() {
  const std::string begin = Entry(1, 7, "") + Entry(2, 1024, "");
  const std::string records = Entry(3, 1, "one") + Entry(3, 2, "two");
  return {begin,
          begin + records,
          begin + records + Entry(4, 1, ""),
          begin + records + Entry(5, 2, std::string(8, '\1')),
          begin + Entry(6, 1, "free") + Entry(6, 2, "too") + Entry(7, 1, ""),
          begin + Entry(8, 0, "command") + records,
          begin + records.substr(0, 30)};
}

// Parsing only the complete entries must give the same result as parsing the
// whole content.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using canopy::agent::ReportLog;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  canopy::scheduler::StoredReports stored;
  const size_t whole = ReportLog::Parse(content, &stored);
  if (whole > size) abort();
  canopy::scheduler::StoredReports again;
  if (ReportLog::Parse(content.substr(0, whole), &again) != whole ||
      again.records != stored.records || again.lost != stored.lost ||
      again.series != stored.series || again.reserved != stored.reserved ||
      again.releases != stored.releases || again.commands != stored.commands) {
    abort();
  }
  return 0;
}
