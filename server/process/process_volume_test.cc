// Tests large amounts of output: nothing is lost, and memory does not grow.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "server/process/process_test_base.h"

namespace canopy::process {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kAllowedKib = 1u << 20;
#else
constexpr uint64_t kAllowedKib = 16u << 10;
#endif

// Returns a numeric field of /proc/PID/status.
uint64_t StatusNumber(int pid, const std::string& name) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name + ":")) {
      return std::stoull(line.substr(name.size() + 1));
    }
  }
  return 0;
}

// Returns a byte of the probe's pattern.
char Pattern(uint64_t position) {
  return static_cast<char>('a' + position % 23);
}

TEST_F(ProcessTest, AGigabyteOfOutputIsDelivered) {
  constexpr uint64_t kSize = 1u << 30;
  sink_.keep_output = false;
  size_t wrong = 0;
  uint64_t position = 0;
  sink_.on_output = [&](const core::LocalOutput& output) {
    const std::string_view data = output.data.view();
    if (!data.empty() && (data.front() != Pattern(position) ||
                          data.back() != Pattern(position + data.size() - 1))) {
      ++wrong;
    }
    position += data.size();
    adapter_->Credit({"job", data.size()});
  };
  const auto job = MakeJob({ProbePath(), "pattern", std::to_string(kSize)});
  ASSERT_TRUE(Launch(job));
  const auto shim =
      static_cast<int>(StatusNumber(environment_.pids[0], "PPid"));
  ASSERT_TRUE(RunUntilFor(200'000, [&] { return !Recorded().exits.empty(); }));
  EXPECT_EQ(Recorded().output_bytes, kSize);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(Recorded().exits[0].wait_status, 0);
  const uint64_t peak = StatusNumber(shim, "VmHWM");
  EXPECT_GT(peak, 0u);
  EXPECT_LT(peak, kAllowedKib);
}

}  // namespace
}  // namespace canopy::process
