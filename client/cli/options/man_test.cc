// Checks that the manual contains every option of the help texts.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "client/cli/options/run_options.h"
#include "client/cli/options/up_options.h"

namespace canopy::cli {
namespace {

std::string Manual() {
  std::ifstream in("docs/man/canopy.1");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  // In troff, "\-" is a plain dash.
  for (size_t at = 0; (at = text.find("\\-", at)) != std::string::npos;) {
    text.erase(at, 1);
  }
  return text;
}

void ExpectNamed(const std::string& manual, const std::string& help) {
  size_t options = 0;
  for (size_t at = help.find('-'); at != std::string::npos;
       at = help.find('-', at)) {
    const size_t end = help.find_first_of(", =\n')", at);
    const std::string name = help.substr(at, end - at);
    const bool is_option = at > 0 && help[at - 1] == ' ' && name.size() > 1;
    at = end;
    if (!is_option) continue;
    ++options;
    EXPECT_NE(manual.find(name), std::string::npos) << name;
  }
  EXPECT_GT(options, 10u);
}

TEST(ManTest, NamesTheOptionsOfRun) { ExpectNamed(Manual(), RunOptionHelp()); }

TEST(ManTest, NamesTheOptionsOfUp) {
  UpOptions options;
  ExpectNamed(Manual(), OptionHelp(UpOptionTable(&options)));
}

}  // namespace
}  // namespace canopy::cli
