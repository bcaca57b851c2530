#include "common/app_command.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace canopy {
namespace {

using Words = std::vector<std::string>;

AppCommand Command(const char* cmd, Words words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return CommandOf(cmd, argv.data());
}

void ExpectCommand(const AppCommand& command, const std::string& program,
                   const Words& argv) {
  EXPECT_EQ(command.program, program);
  EXPECT_EQ(command.argv, argv);
}

TEST(AppCommandTest, ArgvThatRepeatsTheCommandIsUnchanged) {
  ExpectCommand(Command("./child", {"./child", "-v"}), "./child",
                {"./child", "-v"});
  ExpectCommand(Command("/opt/bin/child", {"child", "-v"}), "/opt/bin/child",
                {"child", "-v"});
  ExpectCommand(Command("child", {"/opt/bin/child"}), "child",
                {"/opt/bin/child"});
}

TEST(AppCommandTest, ArgvOfArgumentsOnlyGetsTheProgramsName) {
  ExpectCommand(Command("./child", {"-v", "3"}), "./child",
                {"child", "-v", "3"});
  ExpectCommand(Command("/opt/bin/child", {"children"}), "/opt/bin/child",
                {"child", "children"});
  ExpectCommand(Command("child", {""}), "child", {"child", ""});
}

TEST(AppCommandTest, ArgvThatBeginsWithTheCommandsNameIsUnchanged) {
  ExpectCommand(Command("./child", {"/etc/child/", "-v"}), "./child",
                {"/etc/child/", "-v"});
}

TEST(AppCommandTest, WithoutArgvTheNameIsTheWholeCommand) {
  ExpectCommand(Command("./child", {}), "./child", {"child"});
  ExpectCommand(CommandOf("./child", nullptr), "./child", {"child"});
}

TEST(AppCommandTest, WithoutACommandArgvNamesTheProgram) {
  ExpectCommand(Command(nullptr, {"/opt/bin/child", "-v"}), "/opt/bin/child",
                {"/opt/bin/child", "-v"});
}

TEST(AppCommandTest, ARequestWithoutAProgramHasNoCommand) {
  ExpectCommand(CommandOf(nullptr, nullptr), "", {});
  ExpectCommand(Command(nullptr, {}), "", {});
  ExpectCommand(Command("", {"-v"}), "", {"-v"});
  ExpectCommand(Command(nullptr, {"", "-v"}), "", {"", "-v"});
}

TEST(AppCommandTest, APathOfSlashesIsAcceptedAsACommand) {
  ExpectCommand(Command("//", {"/"}), "//", {"/"});
  ExpectCommand(Command("/", {"-v"}), "/", {"/", "-v"});
}

}  // namespace
}  // namespace canopy
